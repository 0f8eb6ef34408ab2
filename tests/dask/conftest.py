"""A cluster of threads, and tables for it."""

import pickle
from contextlib import contextmanager

import dask
import dask.array as da
import numpy as np
import pytest
from distributed import Client, LocalCluster

from virtualvector.dask import lean_settings
from virtualvector.learners import rounds as rounds_module
from virtualvector.learners.hedge import Hedged


def table(seed=0, n=700, n_classes=2):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, 5))
    scores = rows[:, :n_classes] + 0.7 * rng.normal(size=(n, n_classes))
    return rows, np.array(["a", "b", "c"])[np.argmax(scores, axis=1)]


def in_parts(rows, labels, size=200):
    return da.from_array(rows, chunks=(size, -1)), da.from_array(labels, chunks=size)


@contextmanager
def a_cluster(n_workers, **options):
    patience = "distributed.deploy.lost-worker-timeout"  # of which 15 seconds may be too few
    with (
        dask.config.set({patience: lean_settings()[patience]}),
        LocalCluster(
            n_workers=n_workers, threads_per_worker=1, dashboard_address=":0", **options
        ) as cluster,
    ):
        yield cluster


@pytest.fixture(scope="module")
def client():
    with a_cluster(2, processes=False) as workers, Client(workers) as client:
        yield client


@pytest.fixture(autouse=True)
def short_spans(monkeypatch):
    """Let small tables be learned by several shards; it is the client who plans."""
    monkeypatch.setattr(rounds_module, "FEWEST", 5)


def same(one, other):
    """Whether two models know the same, to the last bit."""
    return _content(one._posterior) == _content(other._posterior)


def _content(known):
    hedge = (known.lead, _content(known.beside)) if isinstance(known, Hedged) else ()
    return pickle.dumps((known.states, hedge))
