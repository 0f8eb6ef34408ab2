"""A cluster: who is there, with which versions, and how a task gets there."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from importlib.metadata import version
from itertools import cycle
from typing import Any

import dask
from distributed import Client, KilledWorker, default_client, get_worker, wait
from distributed.comm import CommClosedError

from virtualvector.jit.processor import processor

_SAME = ("virtualvector", "numpy", "numba")  # what all have to have in the same version
SECONDS = 30.0  # between two looks at whether there is anyone to wait for
FETCHING = 10.0  # seconds in which a result comes, if it comes at all; then twice as many


class WrongWorker(RuntimeError):
    """A worker has other versions than the client."""


class ClusterLost(RuntimeError):
    """The scheduler is gone, or workers die of a task again and again."""


@functools.cache
def environment() -> dict[str, str]:
    """Return what results may depend on: versions, and the kind of processor."""
    return {name: version(name) for name in _SAME} | {"processor": processor()}


def check_environment(found: Any, expected: dict[str, str], who: str) -> None:
    """Raise if a worker has other versions than the client.

    Examples
    --------
    >>> from virtualvector.dask.cluster import check_environment, environment
    >>> check_environment(environment() | {"numpy": "1.0"}, {"numpy": "2.4"}, "worker a")
    Traceback (most recent call last):
    virtualvector.dask.cluster.WrongWorker: worker a has numpy 1.0; expected 2.4, as the client has
    """
    if not isinstance(found, dict):
        raise WrongWorker(f"{who} cannot say its versions ({found!r}); expected {expected}")
    for name in expected:
        if name in _SAME and found[name] != expected[name]:
            raise WrongWorker(
                f"{who} has {name} {found[name]}; expected {expected[name]}, as the client has"
            )


def client_for(client: Client | None) -> Client:
    """Return the client to use, once all workers that there are have the same versions as it."""
    if client is None:
        try:
            client = default_client()
        except ValueError as error:
            raise ValueError(
                "found no Dask client; expected one, for instance distributed.Client(), before or "
                "as the parameter `client`"
            ) from error
    if client.asynchronous:
        raise TypeError("found an asynchronous client; expected one that waits for results")
    expected = environment()
    found = client.run(environment, on_error="return")
    for worker, its_own in found.items():
        check_environment(its_own, expected, f"worker {worker}")
    kinds = {its_own["processor"] for its_own in found.values()}
    if len(kinds) > 1:
        warnings.warn(
            f"found workers with processors of the kinds {', '.join(sorted(kinds))}: which of them "
            "learns what may show in the last digits. With NUMBA_CPU_NAME=generic on all of them "
            "it does not.",
            UserWarning,
            stacklevel=4,
        )
    return client


def known(model: Any, expected: dict[str, str]) -> Any:
    """Return a model as it came to the cluster: lost with a worker, it is there again."""
    check_here(expected)
    return model


def submitted(client: Client, function: Any, *arguments: Any, at: str | None = None) -> Any:
    """Return the future of a task, which is done as often as it is submitted.

    Dask gives a task to who has what it depends on: all that learn from one model would wait for
    each other there, until some are stolen. So it may be said at which worker to do it, if it is
    there.
    """
    where = {} if at is None else {"workers": [at], "allow_other_workers": True}
    # A model may be large, and it has to be in the graph: lost with a worker it is there again.
    with dask.config.set({"distributed.admin.large-graph-warning-threshold": 2**60}):
        return client.submit(function, *arguments, pure=False, **where)


def in_turn(client: Client) -> Iterator[str | None]:
    """Yield the workers over and over, each as often as it has threads; None if there are none."""
    try:
        threads: dict[str, int] = client.nthreads()
    except (OSError, RuntimeError, TimeoutError):  # which is noticed by who waits for results
        threads = {}
    most = max(threads.values(), default=0)
    places = [each for k in range(most) for each, n in sorted(threads.items()) if n > k]
    return cycle(places or [None])


def wait_for(client: Client, futures: list[Any]) -> None:
    """Wait until tasks are done; warn if there is nobody to do them, as workers may still come."""
    told = _Warning(client)
    while True:
        try:
            wait(futures, timeout=SECONDS)
            return
        except TimeoutError:
            told.if_alone()


def result_of(client: Client, future: Any) -> Any:
    """Wait for a result, in the same way."""
    wait_for(client, [future])
    return fetched(future, _Warning(client).if_alone)


def fetched(future: Any, look: Callable[[], None]) -> Any:
    """Return the result of a task that was done; look around while it does not come.

    Who had it may be gone by now, with all others that could do the task again.
    """
    seconds = FETCHING
    while True:
        try:
            return future.result(timeout=seconds)
        except TimeoutError:
            if future.status == "error":  # it is the task's own
                raise
            look()
            seconds *= 2  # it begins anew, and may be large


class _Warning:
    """A warning that there is no worker, given once."""

    def __init__(self, client: Client) -> None:
        self._client, self._is_given = client, False

    def if_alone(self) -> None:
        if not self._is_given and not self._client.nthreads():
            self._is_given = True
            warnings.warn(
                "found no worker in the cluster that could go on; waiting until one comes.",
                UserWarning,
                stacklevel=7,
            )


@contextmanager
def noticing_loss(when: str) -> Iterator[None]:
    """Let the loss of a cluster be told as such."""
    try:
        yield
    except (CancelledError, CommClosedError, KilledWorker) as error:
        raise ClusterLost(
            f"the cluster was lost, at the rows of this call {when}; the model is what it was "
            f"before the call ({type(error).__name__}: {' '.join(str(error).split())})"
        ) from error


def check_here(expected: dict[str, str]) -> None:
    """Raise if this worker, which may have come late, has other versions than the client."""
    found = environment()
    if found != expected:
        check_environment(found, expected, f"worker {get_worker().address}")
