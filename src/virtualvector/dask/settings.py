"""Settings of Dask with which workers do little else than learn, and are waited for."""

from __future__ import annotations

from typing import Any


def lean_settings() -> dict[str, Any]:
    """Return settings with which a cluster of Dask's leaves the processor to who learns.

    By default each process looks at itself a hundred times a second, at what its threads do, and
    fifty times, at how late it is: two workers, client and scheduler take 14 % of a core together
    while they do nothing, and less than 2 % so. And by default memory is given back at once, so
    that each piece of rows has to be mapped anew: the thresholds are those that the allocator comes
    to by itself if nothing is set. A worker that died has five minutes to come back, and not 15
    seconds, after which a local cluster gives it up for good: on a busy machine that is not enough
    to start Python, and a cluster that has given up all of its workers has nobody to go on.
    Whatever is not named stays as it is, and so do thresholds that are in the environment: where a
    process has started a cluster before, Dask has left them there.

    Returns
    -------
    dict
        For `dask.config.set`, before the cluster is started; `vvm learn --workers` does so.

    Examples
    --------
    >>> import dask
    >>> from distributed import Client
    >>> from virtualvector.dask import lean_settings
    >>> with dask.config.set(lean_settings()):
    ...     with Client(processes=False, n_workers=1, dashboard_address=":0") as client:
    ...         client.submit(sum, [1, 2]).result()
    3
    """
    return {
        "distributed.worker.profile.enabled": False,
        "distributed.admin.tick.interval": "500ms",
        "distributed.admin.system-monitor.interval": "2s",
        "distributed.worker.memory.monitor-interval": "500ms",
        "distributed.deploy.lost-worker-timeout": "5 minutes",
        "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": 2**26,
        "distributed.nanny.pre-spawn-environ.MALLOC_MMAP_THRESHOLD_": 2**25,
    }
