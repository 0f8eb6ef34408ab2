"""Where rows are read and worked at: in this process, in others, or on other machines."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, NamedTuple

import typer

from virtualvector.streams.bad_input import BadInput

CLUSTER = "Many machines"

WorkersOption = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="N",
        help="Share the rows among so many processes of this machine (needs dask); learning goes "
        "in rounds then.",
        rich_help_panel=CLUSTER,
    ),
]
SchedulerOption = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="The same on the Dask cluster of this scheduler, whose workers read the files.",
        rich_help_panel=CLUSTER,
    ),
]


class OnCluster(NamedTuple):
    """Where the work is done, as a verb was told."""

    workers: WorkersOption = None
    scheduler: SchedulerOption = None

    @property
    def is_asked_for(self) -> bool:
        """Whether it is done on a cluster."""
        return self.workers is not None or self.scheduler is not None

    def check(self, source: list[str]) -> None:
        """Raise for options that do not go together, and for rows that no worker can read."""
        if self.workers is not None and self.scheduler is not None:
            raise typer.BadParameter(
                "--workers starts a cluster and --scheduler uses one; expected one of them."
            )
        if self.is_asked_for and "-" in source:
            raise typer.BadParameter("standard input cannot be read by workers; expected files.")


@contextmanager
def needing_dask() -> Iterator[None]:
    """Say what to install if an import fails."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise BadInput(
            f"--workers and --scheduler need {error.name}, which is not installed: "
            "pip install 'virtualvector[dask]'"
        ) from error
