"""Learners on a real Dask cluster."""

import gc
import importlib
import math
import pickle
import sys
import threading
import time
from copy import copy
from itertools import cycle

import dask
import dask.array as da
import numpy as np
import pandas as pd
import pytest
from distributed import Client
from scipy import sparse
from sklearn.base import clone

import virtualvector
from tests.dask.conftest import a_cluster, in_parts, same, table
from virtualvector import ADFClassifier, VVMClassifier
from virtualvector.auto.shards import begun, ended
from virtualvector.dask import (
    DaskADFClassifier,
    DaskAutoVVMClassifier,
    DaskVVMClassifier,
    cluster,
    lean_settings,
)
from virtualvector.dask import rounds as dask_rounds
from virtualvector.dask.cluster import WrongWorker, environment
from virtualvector.dask.pieces import pieces_of
from virtualvector.dask.recipes import Recipes
from virtualvector.learners.rounds import rounds

pytestmark = pytest.mark.processes


@pytest.mark.parametrize(
    ("kind", "local", "more"),
    [
        (DaskVVMClassifier, VVMClassifier, {"buffer_size": 8}),
        (DaskVVMClassifier, VVMClassifier, {"buffer_size": 8, "label_noise": 0.05}),
        (DaskADFClassifier, ADFClassifier, {}),
    ],
)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_cluster_does_what_the_plan_says_to_the_last_bit(client, kind, local, more, n_classes):
    rows, labels = table(n_classes=n_classes)
    model = kind(shards=3, margin_noise=0.5, **more).fit(*in_parts(rows, labels))
    expected = local(margin_noise=0.5, **more)
    classes = np.unique(labels)
    for spans in rounds(0, len(rows), 3):
        start = expected if len(spans) == 1 else begun(expected)
        shards = [
            copy(start).partial_fit(rows[a:b], labels[a:b], None if a else classes)
            for a, b in spans
        ]
        expected = ended(expected, shards)
    assert same(model.to_local(), expected)
    assert model.n_seen_ == len(rows)


def test_neither_parts_nor_workers_change_a_bit(client):
    rows, labels = table()
    model = DaskVVMClassifier(margin_noise=0.5).fit(*in_parts(rows, labels))
    for size in (33, 700):
        again = DaskVVMClassifier(margin_noise=0.5).fit(*in_parts(rows, labels, size))
        assert same(model, again)
    with a_cluster(1, processes=False) as workers, Client(workers) as other:
        again = DaskVVMClassifier(margin_noise=0.5, client=other).fit(*in_parts(rows, labels))
    assert same(model, again)


def test_arrays_frames_and_delayed_pieces_are_the_same_rows(client):
    rows, labels = table()
    weights = np.where(rows[:, 4] > 0, 2.0, 1.0)
    chunks = da.from_array(weights, chunks=200)
    model = DaskADFClassifier(margin_noise=0.5).fit(*in_parts(rows, labels), chunks)
    pieces = [slice(0, 100), slice(100, 100), slice(100, 700)]
    delayed = [[dask.delayed(each[piece]) for piece in pieces] for each in (rows, labels, weights)]
    assert same(DaskADFClassifier(margin_noise=0.5).fit(*delayed), model)
    frame = pd.DataFrame(rows, columns=list("vwxyz")).assign(label=labels, weight=weights)
    import dask.dataframe as dd

    frames = dd.from_pandas(frame, npartitions=3)
    named = DaskADFClassifier(margin_noise=0.5)
    named.fit(frames[list("vwxyz")], frames["label"], frames["weight"])
    assert same(named, model)
    assert named.feature_names_in_.tolist() == list("vwxyz")
    predictions = named.predict_proba(frames[list("vwxyz")]).compute()
    assert np.array_equal(predictions, model.predict_proba(rows))


def test_predictions_are_lazy_and_those_of_the_ordinary_model(client, tmp_path):
    rows, labels = table(n_classes=3)
    X, y = in_parts(rows, labels)
    model = DaskVVMClassifier(margin_noise=0.5, buffer_size=5).fit(X, y)
    model.save(tmp_path / "m.vvm")
    local = virtualvector.load(tmp_path / "m.vvm")
    assert type(local) is VVMClassifier
    for name in ("predict", "predict_proba", "predict_log_proba", "decision_function"):
        lazy = getattr(model, name)(X)
        assert dask.is_dask_collection(lazy)
        expected = getattr(local, name)(rows)
        assert lazy.shape == expected.shape
        assert lazy.dtype == expected.dtype
        if name == "predict":
            assert np.array_equal(lazy.compute(), expected)
        else:  # how many rows are predicted at once may change the last bit
            np.testing.assert_allclose(lazy.compute(), expected, rtol=1e-12)
    assert model.score(X, y) == local.score(rows, labels)


def test_every_row_is_predicted_before_it_is_learned(client):
    """No prediction depends on the label of its own row, nor on those of later rounds."""
    rows, labels = table()
    predictions = DaskVVMClassifier(margin_noise=0.5).predict_then_learn(*in_parts(rows, labels))
    (span,) = [b for spans in rounds(0, 700, 8) for b in spans if b.start <= 500 < b.stop]
    turned = labels.copy()
    turned[500] = "b" if labels[500] == "a" else "a"
    model = DaskVVMClassifier(margin_noise=0.5)
    again = model.predict_then_learn(*in_parts(rows, turned))
    same_rows = np.all(predictions.probabilities.compute() == again.probabilities.compute(), axis=1)
    assert same_rows[:501].all()
    assert not same_rows[501 : span.stop].any()
    assert np.array_equal(model.classes_, np.unique(labels))
    assert (predictions.labels.compute() == labels).mean() > 0.7
    learned = DaskVVMClassifier(margin_noise=0.5).partial_fit(
        *in_parts(rows, turned), classes=["a", "b"]
    )
    assert same(learned, model)


def test_classes_that_come_late_to_some_shards_are_known_to_all(client):
    rows, labels = table(n_classes=3)
    labels = np.where((np.arange(700) < 600) & (labels == "c"), "a", labels)
    model = DaskADFClassifier(margin_noise=0.5, shards=4).partial_fit(*in_parts(rows, labels))
    assert model.classes_.tolist() == ["a", "b", "c"]
    declared = DaskADFClassifier(margin_noise=0.5, shards=4).fit(*in_parts(rows, labels))
    assert np.array_equal(model.coef_, declared.coef_)


def test_a_call_that_fails_leaves_the_model_as_it_was_and_names_the_row(client):
    rows, labels = table()
    model = DaskADFClassifier(margin_noise=0.5).fit(*in_parts(rows, labels))
    before = pickle.dumps(model)
    rows[450, 2] = np.nan
    with pytest.raises(
        ValueError, match=r"piece 2 of the rows, from its row .*NaN at row \d+, col"
    ):
        model.partial_fit(*in_parts(rows, labels))
    assert pickle.dumps(model) == before


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        (lambda X, y: (X.compute(), y), TypeError, "X is of type ndarray; expected a Dask array"),
        (lambda X, y: (X, y[:600]), ValueError, "X has 700 rows and y 600"),
        (lambda X, y: (X, [dask.delayed([1])]), ValueError, "X has 4 pieces and y 1"),
        (lambda X, y: (X[:0], y[:0]), ValueError, "found no rows"),
    ],
)
def test_what_cannot_be_learned_is_refused(client, arguments, error, words):
    with pytest.raises(error, match=words):
        DaskADFClassifier().fit(*arguments(*in_parts(*table())))


def test_without_dask_it_is_said_what_to_install(monkeypatch):
    for name in [name for name in sys.modules if name.startswith("virtualvector.dask")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ModuleNotFoundError, match=r"needs distributed, .* 'virtualvector\[dask\]'"):
        importlib.import_module("virtualvector.dask")


def test_workers_of_other_versions_are_refused_at_the_start(client, monkeypatch):
    true = environment()

    def patched():
        here = threading.current_thread() is threading.main_thread()
        return true if here else true | {"numba": "0.1"}

    monkeypatch.setattr(cluster, "environment", patched)
    with pytest.raises(WrongWorker, match=r"worker inproc://.* has numba 0.1; expected"):
        DaskADFClassifier().fit(*in_parts(*table()))


def test_a_worker_that_comes_late_with_other_versions_is_refused(client):
    plan = dask_rounds.Rounds(client, pieces_of(*in_parts(*table())), 2)
    plan._expected = environment() | {"numpy": "1.0"}
    with pytest.raises(WrongWorker, match=f"has numpy {np.__version__}; expected 1.0"):
        plan.learn(ADFClassifier(), False, None)


KINDS = cycle(["x86_64 old", "x86_64 new"])
TRUE = environment()


def _of_another_kind_each():
    here = threading.current_thread() is threading.main_thread()
    return TRUE if here else TRUE | {"processor": next(KINDS)}


def test_workers_with_other_processors_are_noticed(client, monkeypatch):
    monkeypatch.setattr(cluster, "environment", _of_another_kind_each)
    with pytest.warns(UserWarning, match="processors of the kinds x86_64 new, x86_64 old"):
        DaskADFClassifier().fit(*in_parts(*table()))


def test_nothing_stays_on_the_cluster(client):
    tasks = client.cluster.scheduler.tasks
    before = set(tasks)  # what calls that failed have left
    model = DaskVVMClassifier(margin_noise=0.5).fit(*in_parts(*table(seed=8)))
    assert model.n_seen_ == 700
    end = time.monotonic() + 60
    while set(tasks) - before and time.monotonic() < end:
        gc.collect()
        time.sleep(0.01)
    assert not set(tasks) - before


def test_parameters_are_checked_and_a_client_is_asked_for(client):
    X, y = in_parts(*table())
    with pytest.raises(ValueError, match="'shards' parameter"):
        DaskADFClassifier(shards=0).fit(X, y)
    with pytest.raises(ValueError, match="class_weight='balanced' is not supported on Dask"):
        DaskADFClassifier(class_weight="balanced").fit(X, y)


def test_a_clone_learns_on_the_same_cluster_and_a_pickle_has_none(client):
    model = DaskVVMClassifier(buffer_size=3, shards=5, client=client)
    cloned, pickled = clone(model), pickle.loads(pickle.dumps(model))
    assert cloned.client is client
    assert pickled.client is None
    assert cloned.get_params() == model.get_params()
    assert pickled.get_params() == model.get_params() | {"client": None}


@pytest.mark.parametrize(("seconds", "few"), [(math.inf, 3), (math.inf, 1), (0.0, 3)])
def test_neither_who_puts_shards_together_nor_how_often_the_client_has_them_changes_a_bit(
    client, monkeypatch, seconds, few
):
    rows, labels = table()
    expected = DaskADFClassifier(margin_noise=0.5, shards=3).fit(*in_parts(rows, labels))
    submitted, sent = dask_rounds.submitted, []

    def counted(client, function, *arguments, at=None):
        sent.append(function.__name__)
        return submitted(client, function, *arguments, at=at)

    monkeypatch.setattr(dask_rounds, "submitted", counted)
    monkeypatch.setattr(dask_rounds, "LINKED", seconds)
    monkeypatch.setattr(dask_rounds, "FEW", few)
    model = DaskADFClassifier(margin_noise=0.5, shards=3).fit(*in_parts(rows, labels))
    assert same(model, expected)
    n_rounds = len(list(rounds(0, len(rows), 3)))
    assert sent.count("known") == sent.count("pooled") == (n_rounds if seconds == 0.0 else 1)
    # The first is learned by one shard.
    assert sent.count("put_together") == (n_rounds - 1 if few == 1 else 0)


def test_lean_settings_are_settings_that_there_are():
    own = "distributed.nanny.pre-spawn-environ.MALLOC_MMAP_THRESHOLD_"  # of the allocator
    there = {name: dask.config.get(name) for name in lean_settings() if name != own}
    there.pop("distributed.deploy.lost-worker-timeout")  # which `a_cluster` has set as well
    assert all(there[name] != lean_settings()[name] for name in there)
    times = [value for value in lean_settings().values() if isinstance(value, str)]
    assert all(dask.utils.parse_timedelta(value) > 0.0 for value in times)


def test_a_recipe_has_the_tasks_of_its_own_piece_however_many_there_are():
    def largest(n_pieces):
        rows = da.random.default_rng(0).normal(size=(10 * n_pieces, 3), chunks=(10, 3))
        pieces = pieces_of(rows, rows[:, 0] > 0).pieces
        recipes = Recipes(pieces)
        return max(len(pickle.loads(recipes.of(piece)._graph)[0]) for piece in pieces)

    assert largest(2) == largest(50)


@pytest.mark.parametrize("kind", [DaskADFClassifier, DaskVVMClassifier])
def test_sparse_pieces_are_learned_as_dense_ones(client, kind):
    rows, labels = table(n=400)
    rows[np.abs(rows) < 0.7] = 0.0
    parts = [slice(start, start + 100) for start in range(0, 400, 100)]
    pieces = [dask.delayed(sparse.csr_array(rows[part])) for part in parts]
    own = [dask.delayed(labels[part]) for part in parts]
    model = kind(margin_noise=1.0, shards=2).fit(pieces, own)
    assert same(model, kind(margin_noise=1.0, shards=2).fit(*in_parts(rows, labels, 100)))


def test_committees_say_that_they_do_not_take_sparse_pieces(client):
    rows, labels = table(n=100)
    pieces = [dask.delayed(sparse.csr_array(rows))]
    with pytest.raises(TypeError, match="sparse table, which committees on a cluster do not"):
        DaskAutoVVMClassifier(shards=2).fit(pieces, [dask.delayed(labels)])
