"""A Dask cluster, as the command line uses one: begun or found, waited for, and lost in a line."""

from __future__ import annotations

import logging
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.resource_tracker import ensure_running
from time import monotonic
from typing import Any

import dask
from distributed import Client, KilledWorker, LocalCluster
from distributed.utils import LoopRunner

from virtualvector.cli.cluster_options import OnCluster
from virtualvector.dask.cluster import ClusterLost, WrongWorker, client_for, fetched, noticing_loss
from virtualvector.dask.settings import lean_settings
from virtualvector.streams.bad_input import BadInput

SECONDS = 1.0  # between two looks at whether anyone is there
TIMEOUT = "10s"  # to find a scheduler
PATIENCE = 120.0  # seconds without any worker; who died may take a while to be back
DASKS = ("distributed", "tornado")  # loggers


@contextmanager
def connected(cluster: OnCluster) -> Iterator[Client]:
    """Connect to a cluster, or start one; raise `BadInput` if that cannot be."""
    silence_logs()
    if cluster.scheduler is None:
        with (
            dask.config.set(lean_settings()),
            _loop_that_starts_the_deaf() as loop,
            LocalCluster(
                loop=loop,
                n_workers=cluster.workers,
                threads_per_worker=1,
                dashboard_address=":0",
                silence_logs=logging.CRITICAL,  # of the workers
            ) as workers,
            Client(workers) as client,
        ):
            yield _checked(client)
        return
    try:
        client = Client(cluster.scheduler, timeout=TIMEOUT)
    except (OSError, ValueError) as error:
        raise BadInput(
            f"--scheduler {cluster.scheduler}: found nobody there ({_shortly(error)}); expected "
            "the address of a Dask scheduler, such as tcp://10.0.0.1:8786."
        ) from error
    with client:
        yield _checked(client)


@contextmanager
def _loop_that_starts_the_deaf() -> Iterator[Any]:
    """Run an event loop whose processes do not hear an interrupt, whenever they are started.

    Ctrl-C is for all processes of a terminal, but it is for this one to say what is kept, and to
    end the others. What is blocked for who starts a thread, or a process, is blocked for that.
    """
    ensure_running()  # which lets its thread hear it again, until Python 3.12
    runner = LoopRunner()
    if sys.platform == "win32":  # where nothing can be blocked
        runner.start()
    else:
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            runner.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
    try:
        yield runner.loop
    finally:
        runner.stop()


def silence_logs() -> None:
    """Let what becomes of a cluster be told in a line of ours alone, also while it is closed.

    Dask's loggers have handlers of their own; what a cluster silences by itself it lets speak again
    before all of its connections are gone.
    """
    for name, logger in logging.root.manager.loggerDict.items():
        if isinstance(logger, logging.Logger) and name.partition(".")[0] in DASKS:
            for handler in logger.handlers:
                handler.setLevel(logging.CRITICAL)


def _checked(client: Client) -> Client:
    if not client.nthreads():
        raise BadInput("found a scheduler without workers; expected one at least.")
    try:
        return client_for(client)
    except WrongWorker as error:
        raise BadInput(f"{error}.") from error


def result_of(client: Client, future: Any) -> Any:
    """Wait for a result, while there is someone to work at it."""
    is_done, since = threading.Event(), monotonic()
    future.add_done_callback(lambda _: is_done.set())

    def look() -> None:
        nonlocal since
        if _has_workers(client):
            since = monotonic()
        if monotonic() - since > PATIENCE:
            raise ClusterLost("all workers are gone")

    with noticing_loss("that were under way"):
        while not is_done.wait(SECONDS):
            look()
        return fetched(future, look)


def _has_workers(client: Client) -> bool:
    try:
        return bool(client.nthreads())
    except (OSError, RuntimeError, TimeoutError) as error:
        raise ClusterLost("the scheduler is gone") from error


@contextmanager
def telling_losses(advice: str) -> Iterator[None]:
    """Let whatever becomes of a cluster be told in one line, which ends with an advice."""
    try:
        yield
    except WrongWorker as error:
        raise BadInput(f"{_shortly(error)}.") from error
    except ClusterLost as error:
        cause = error.__cause__
        why = "the cluster was lost" if cause is not None else str(error)
        if isinstance(cause, KilledWorker):
            why = "the cluster was lost: workers died of the same rows, one after the other"
        raise BadInput(f"{why}; {advice}") from error


def _shortly(error: BaseException) -> str:
    return " ".join(str(error).split()).rstrip(".")
