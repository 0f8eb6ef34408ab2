"""What comes of each batch of a source, here or on a cluster: the same, in the same order."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, TypeVar

from virtualvector.cli.cluster_options import OnCluster, needing_dask

if TYPE_CHECKING:
    from virtualvector.cli.model_file import Trained
    from virtualvector.streams import Batch, Reader

Result = TypeVar("Result")


def of_each_batch(
    known: Trained, reader: Reader, work: Callable[[Trained, Batch], Result], cluster: OnCluster
) -> Generator[Result]:
    """Yield what a function gives for each batch."""
    if not cluster.is_asked_for:
        for batch in reader:
            yield work(known, batch)
        return
    with needing_dask():
        from virtualvector.cli.cluster import connected, telling_losses
        from virtualvector.cli.portions import spread
    with connected(cluster) as client, telling_losses("the same once more begins anew."):
        yield from spread(client, known, reader, work)
