"""Committees on a real Dask cluster."""

from copy import copy
from functools import cache

import dask
import dask.array as da
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import virtualvector
from virtualvector import AutoVVMClassifier, Expert
from virtualvector.auto.shards import ended, round_start
from virtualvector.dask import DaskADFClassifier, DaskAutoVVMClassifier
from virtualvector.datasets import load_spambase
from virtualvector.learners.rounds import ALONE, rounds

pytestmark = pytest.mark.processes

FEW = [Expert(None, 1.0), Expert(None, 1.0, label_noise=0.02, buffer_size=3), Expert(0.5, 0.1)]
SMALL = {"experts": FEW, "n_frequencies": 10}


def table(seed=0, n=700, n_classes=2):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, 4))
    scores = rows[:, :n_classes] + 0.7 * rng.normal(size=(n, n_classes))
    colours = rng.choice(["red", "green", "blue"], n)
    late = np.where(np.arange(n) > 400, rng.choice(["new", "newer"], n), colours)
    frame = pd.DataFrame(rows, columns=list("wxyz")).assign(colour=late)
    return frame, np.array(["a", "b", "c"])[np.argmax(scores, axis=1)]


def pieces(frame, labels, size):
    parts = range(0, len(labels), size)
    return (
        [dask.delayed(frame[k : k + size]) for k in parts],
        [dask.delayed(labels[k : k + size]) for k in parts],
    )


def by_the_plan(frame, labels, shards, classes):
    """Return what a committee learns in rounds, one shard after the other."""
    model = AutoVVMClassifier(**SMALL)
    for spans in rounds(0, len(labels), shards):
        start = round_start(model, len(spans), spans[0].start < ALONE or shards == 1)
        parts = [
            copy(start).partial_fit(frame[a:b], labels[a:b], None if a else classes)
            for a, b in spans
        ]
        model = ended(model, parts)
    return model


def saved(model, path):
    model.save(path)
    return path.read_bytes()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_cluster_does_what_the_plan_says_to_the_last_byte(client, n_classes, tmp_path):
    frame, labels = table(n_classes=n_classes)
    expected = saved(by_the_plan(frame, labels, 3, np.unique(labels)), tmp_path / "expected")
    for size in (100, 260):
        model = DaskAutoVVMClassifier(shards=3, **SMALL).fit(*pieces(frame, labels, size))
        assert saved(model, tmp_path / "found") == expected
    local = virtualvector.load(tmp_path / "found")
    assert type(local) is AutoVVMClassifier
    assert local.n_seen_ == 700
    assert np.array_equal(model.predict_proba(frame), local.predict_proba(frame))
    assert len(local._encoder.categories[4]) == 5


def test_one_shard_learns_as_one_machine(client, tmp_path):
    frame, labels = table()
    model = DaskAutoVVMClassifier(shards=1, **SMALL).partial_fit(*pieces(frame, labels, 150))
    local = AutoVVMClassifier(**SMALL).partial_fit(frame, labels)
    assert saved(model, tmp_path / "one") == saved(local, tmp_path / "other")


def test_rows_are_predicted_before_they_are_learned_and_classes_may_come(client):
    frame, labels = table(n_classes=3)
    labels = np.where((np.arange(700) < 500) & (labels == "c"), "a", labels)
    tables = [dask.delayed(pa.Table.from_pandas)(frame[k : k + 350]) for k in (0, 350)]
    model = DaskAutoVVMClassifier(shards=4, **SMALL)
    y = [dask.delayed(labels[:350]), dask.delayed(labels[350:])]
    said = model.predict_then_learn(tables, y, classes=[])
    probabilities = said.probabilities.compute()
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert probabilities.shape == (700, 3)
    assert not probabilities[:500, 2].any()
    np.testing.assert_allclose(probabilities[1:].sum(axis=1), 1.0)
    turned = labels.copy()
    turned[450] = "b" if labels[450] == "a" else "a"
    y = [dask.delayed(turned[:350]), dask.delayed(turned[350:])]
    again = DaskAutoVVMClassifier(shards=4, **SMALL).predict_then_learn(tables, y, classes=[])
    same_rows = np.all(again.probabilities.compute() == probabilities, axis=1)
    assert same_rows[:451].all()
    assert not same_rows[451:].all()
    assert (said.labels.compute() == labels).mean() > 0.6


ORDERS = (3, 0, 1)  # of rows: one alone says as little as 3 % either way


@cache
def of_one_machine(order):
    """Return a table, how many rows of it are learned, and what one machine learns of them."""
    X, y = load_spambase(return_X_y=True, random_state=order)
    y, n = y.astype(int), 3 * len(y) // 4
    return X, y, n, AutoVVMClassifier().partial_fit(X[:n], y[:n], classes=[0, 1])


@pytest.mark.parametrize("shards", [2, 8])
def test_rounds_lose_less_than_a_fiftieth_of_the_log_loss_of_one_machine(shards):
    ratios = []
    for order in ORDERS:
        X, y, n, one = of_one_machine(order)
        model = AutoVVMClassifier()
        for spans in rounds(0, n, shards):
            start = round_start(model, len(spans), spans[0].start < ALONE)
            parts = [
                copy(start).partial_fit(X[a:b], y[a:b], None if a else [0, 1]) for a, b in spans
            ]
            model = ended(model, parts)
            model._check_learned()
        assert model.n_seen_ == one.n_seen_ == n
        assert not any(expert["half_life"] for expert in model.experts_)
        losses = [
            -np.log(each.predict_proba(X[n:])[np.arange(len(y) - n), y[n:]]).mean()
            for each in (model, one)
        ]
        ratios.append(losses[0] / losses[1])
    assert np.mean(ratios) < 1.02


@pytest.mark.parametrize("kind", [DaskAutoVVMClassifier, DaskADFClassifier])
def test_labels_that_come_in_blocks_are_warned_of(client, kind):
    rows = np.random.default_rng(0).normal(size=(300, 2))
    labels = np.repeat([0, 1], 150)
    X, y = da.from_array(rows, chunks=(100, -1)), da.from_array(labels, chunks=100)
    parameters = SMALL if kind is DaskAutoVVMClassifier else {"margin_noise": 1.0}
    with pytest.warns(UserWarning, match="found labels in blocks; expected rows in a random order"):
        kind(**parameters).fit(X, y)


def test_experts_that_forget_are_refused_where_there_are_shards(client):
    frame, labels = table()
    forgetful = DaskAutoVVMClassifier(experts=[Expert(None, 1.0, half_life=99.0)], n_frequencies=9)
    with pytest.raises(ValueError, match="found experts with a half-life; expected none"):
        forgetful.fit(*pieces(frame, labels, 350))
