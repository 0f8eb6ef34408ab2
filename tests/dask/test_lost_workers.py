"""Workers that are killed, and clusters that are lost: the same bits, or a model as it was."""

import os
import signal
import threading
import time

import dask
import dask.array as da
import numpy as np
import pytest
from distributed import Client

from tests.dask.conftest import a_cluster, in_parts, same, table
from virtualvector.dask import DaskADFClassifier, DaskVVMClassifier, lean_settings
from virtualvector.dask.cluster import ClusterLost

pytestmark = pytest.mark.processes

LOST = []  # a cluster that a piece of rows takes down with it


def _last_words(piece):
    threading.Thread(target=LOST[0].close).start()
    time.sleep(1.0)
    return piece


def test_a_cluster_that_is_lost_leaves_the_model_as_it_was(client):
    rows, labels = table()
    X, y = [[dask.delayed(each[:300]), each[300:]] for each in (rows, labels)]
    X[1] = dask.delayed(_last_words, pure=False)(X[1])
    y[1] = dask.delayed(y[1])
    with a_cluster(1, processes=False) as workers, Client(workers) as other:
        LOST[:] = [workers]
        model = DaskADFClassifier(margin_noise=0.5, client=other)
        with pytest.raises(ClusterLost, match=r"the cluster was lost, at the rows of this call"):
            model.partial_fit(X, y, classes=["a", "b"])
    assert not hasattr(model, "classes_")


def test_a_cluster_without_workers_is_waited_for_and_warned_of(monkeypatch):
    monkeypatch.setattr("virtualvector.dask.cluster.SECONDS", 0.2)
    rows, labels = table()
    with a_cluster(0, processes=False) as workers, Client(workers) as other:
        model = DaskADFClassifier(margin_noise=0.5, client=other)
        threading.Timer(1.0, workers.scale, [1]).start()
        with pytest.warns(UserWarning, match="no worker in the cluster.*waiting until one comes"):
            model.partial_fit(*in_parts(rows, labels), classes=["a", "b"])
    assert model.n_seen_ == len(rows)


def _loaded(piece, mark):
    """Return a piece of the rows; the first worker that loads it dies of it."""
    if mark is not None:
        try:
            open(mark, "x").close()  # two may load it at the same time
        except FileExistsError:
            return piece
        os.kill(os.getpid(), signal.SIGKILL)
    return piece


def test_workers_that_are_killed_do_not_change_a_bit(client, tmp_path):
    rows, labels = table()
    expected = DaskVVMClassifier(margin_noise=0.5, client=client).fit(*in_parts(rows, labels))
    pieces = np.array_split(np.arange(700), 4)
    marks = [None, str(tmp_path / "first"), str(tmp_path / "second"), None]
    load = dask.delayed(_loaded, pure=False)
    X = [load(rows[piece], mark) for piece, mark in zip(pieces, marks, strict=True)]
    y = [dask.delayed(labels[piece]) for piece in pieces]
    with a_cluster(2, processes=True) as workers, Client(workers) as other:
        model = DaskVVMClassifier(margin_noise=0.5, client=other)
        model.partial_fit(X, y, classes=["a", "b"])
    assert os.path.exists(marks[1])
    assert os.path.exists(marks[2])
    assert same(model, expected)


def test_workers_that_are_killed_in_rounds_that_go_on_from_each_other_do_not_change_a_bit(
    client, tmp_path, monkeypatch
):
    monkeypatch.delenv("MALLOC_TRIM_THRESHOLD_", raising=False)  # Dask leaves that behind
    rows, labels = table()
    expected = DaskVVMClassifier(margin_noise=0.5, client=client).fit(*in_parts(rows, labels))
    marks = [None, None, str(tmp_path / "first"), str(tmp_path / "second")]
    load = dask.delayed(_loaded, pure=False)
    # Of arrays it is known how many rows they have: nobody loads them but who learns them.
    X = [
        da.from_delayed(load(rows[k * 175 : (k + 1) * 175], mark), (175, 5), dtype=float)
        for k, mark in enumerate(marks)
    ]
    with (
        dask.config.set(lean_settings()),
        a_cluster(2, processes=True) as workers,
        Client(workers) as other,
    ):
        assert set(other.run(_lean).values()) == {(False, str(2**26), "1")}
        model = DaskVVMClassifier(margin_noise=0.5, client=other)
        y = da.from_array(labels, chunks=175)
        model.partial_fit(da.concatenate(X), y, classes=["a", "b"])
    assert all(os.path.exists(mark) for mark in marks[2:])
    assert same(model, expected)


def _lean():
    profiled = dask.config.get("distributed.worker.profile.enabled")
    return profiled, os.environ["MALLOC_TRIM_THRESHOLD_"], os.environ["OMP_NUM_THREADS"]
