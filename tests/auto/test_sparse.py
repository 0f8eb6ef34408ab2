"""Sparse tables in a committee: experts of low rank learn them, and no row is written out."""

import pickle
import tracemalloc
from copy import copy

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import estimator_checks
from typer.testing import CliRunner

import virtualvector
from virtualvector import ADFClassifier, AutoVVMClassifier, Expert, WideVVMClassifier
from virtualvector.cli.main import app
from virtualvector.learners.expert import described
from virtualvector.persistence import read_header
from virtualvector.wide.learning import affordable_rank

NOISES = (1.0, 1.0, 0.25, 4.0)  # of the learner of low rank, and of independent weights beside it


def stream(n_rows=300, columns=80, classes=2, seed=0):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n_rows, columns)) * (rng.random((n_rows, columns)) < 0.1)
    scores = rows @ rng.normal(size=(columns, classes)) + rng.normal(size=(n_rows, classes))
    labels = np.argmax(scores, axis=1)
    labels[:classes] = np.arange(classes)
    return sparse.csr_array(rows), labels


@pytest.mark.parametrize("classes", [2, 3])
def test_evidence_is_that_of_single_learners_of_such_ranks(classes):
    rows, labels = stream(classes=classes)
    declared = np.arange(classes)
    model = AutoVVMClassifier(scale=False).partial_fit(rows, labels, classes=declared)
    assert [expert["rank"] for expert in model.experts_] == [20, 0, 0, 0, 0]
    for expert, noise in zip(model.experts_[:4], NOISES, strict=True):
        covariance = "low-rank" if expert["rank"] else "independent"
        alone = ADFClassifier(margin_noise=noise, covariance=covariance, rank=expert["rank"])
        said = alone.predict_then_learn(rows, labels, classes=declared).probabilities
        evidence = np.log(said[np.arange(len(labels)), labels]).sum()
        assert expert["evidence"] == pytest.approx(evidence, rel=1e-10)
        assert expert["margin_noise"] == noise
        assert f"rank {expert['rank']}" in described(expert)
    assert sum(expert["weight"] for expert in model.experts_) == pytest.approx(1.0)
    assert model.n_awake_ == 5
    assert model.given_up_ == []


def test_it_is_who_learns_texts_and_sparse_rows_elsewhere():
    rows, labels = stream(classes=3)
    model, same = AutoVVMClassifier(), WideVVMClassifier()
    predicted = model.predict_then_learn(rows, labels, classes=[])
    expected = same.predict_then_learn(rows, labels, classes=[])
    np.testing.assert_array_equal(predicted.probabilities, expected.probabilities)
    np.testing.assert_array_equal(
        model.fit(rows, labels).predict(rows), same.fit(rows, labels).predict(rows)
    )
    assert model.weight_table_ == same.weight_table_
    assert model.takes_new_classes_ == same.takes_new_classes_
    assert model.n_seen_ == 300
    assert [points.shape for points in model.virtual_points_] == [(0, 80)] * 3


def test_how_a_stream_is_cut_changes_no_bit():
    rows, labels = stream()
    whole, pieces = AutoVVMClassifier(), AutoVVMClassifier()
    at_once = whole.predict_then_learn(rows, labels, classes=[0, 1]).probabilities
    parts = []
    for start, stop in [(0, 1), (1, 2), (2, 50), (50, 300)]:
        some = slice(start, stop)
        said = pieces.predict_then_learn(rows[some], labels[some], classes=[0, 1])
        parts.append(said.probabilities)
    np.testing.assert_array_equal(at_once, np.concatenate(parts))
    np.testing.assert_array_equal(whole.predict_proba(rows), pieces.predict_proba(rows))


def test_later_arrays_are_taken_as_sparse_rows_and_tables_with_names_are_refused():
    rows, labels = stream()
    one, other = (AutoVVMClassifier().partial_fit(rows[:200], labels[:200]) for _ in range(2))
    one.partial_fit(rows[200:], labels[200:])
    other.partial_fit(rows[200:].toarray(), labels[200:])
    np.testing.assert_array_equal(one.predict_proba(rows), other.predict_proba(rows.toarray()))
    with pytest.raises(ValueError, match="features"):
        one.predict(rows[:, :70])


def test_a_sparse_table_is_refused_where_tables_were_dense_so_far():
    rows, labels = stream()
    model = AutoVVMClassifier().partial_fit(rows[:100].toarray(), labels[:100])
    before = model.predict_proba(rows.toarray())
    for call in (lambda: model.partial_fit(rows, labels), lambda: model.predict(rows)):
        with pytest.raises(TypeError, match=r"Sparse data was passed.*begun with a sparse one"):
            call()
    np.testing.assert_array_equal(model.predict_proba(rows.toarray()), before)


def test_fit_begins_anew_with_either_kind():
    rows, labels = stream(120)
    frame = pd.DataFrame(rows.toarray(), columns=[f"c{k}" for k in range(80)])
    dense, thin = AutoVVMClassifier().fit(frame, labels), AutoVVMClassifier().fit(rows, labels)
    model = AutoVVMClassifier()
    for table, expected in [(frame, dense), (rows, thin), (frame, dense)]:
        model.fit(table, labels)
        np.testing.assert_array_equal(model.predict_proba(table), expected.predict_proba(table))
        assert hasattr(model, "feature_names_in_") == hasattr(expected, "feature_names_in_")


@pytest.mark.parametrize("budget", [None, 1e4])
def test_a_model_goes_on_from_a_file_a_pickle_and_a_copy_to_the_same_bits(tmp_path, budget):
    rows, labels = stream(classes=3)
    model = AutoVVMClassifier(budget=budget).partial_fit(rows[:150], labels[:150])
    model.save(tmp_path / "thin.vvm")
    others = [
        virtualvector.load(tmp_path / "thin.vvm"), pickle.loads(pickle.dumps(model)), copy(model),
    ]  # fmt: skip
    before = model.predict_proba(rows)
    for other in others:
        np.testing.assert_array_equal(other.predict_proba(rows), before)
        assert other.experts_ == model.experts_
        assert other.given_up_ == model.given_up_
    for one in (model, *others):
        one.partial_fit(rows[150:], labels[150:])
    for other in others:
        np.testing.assert_array_equal(other.predict_proba(rows), model.predict_proba(rows))
    assert read_header(tmp_path / "thin.vvm")["learner"] == "AutoVVMClassifier"
    assert not hasattr(clone(model), "classes_")


def test_a_file_of_other_parameters_is_refused(tmp_path):
    rows, labels = stream(60)
    model = AutoVVMClassifier().fit(rows, labels).set_params(experts=[Expert(None, 1.0)])
    with pytest.raises(ValueError, match="experts: found some, and a sparse table"):
        model.save(tmp_path / "thin.vvm")
    model = AutoVVMClassifier().fit(rows, labels).set_params(scale=False)
    with pytest.raises(ValueError, match="scale"):
        model.save(tmp_path / "thin.vvm")


@pytest.mark.parametrize("name", ["experts", "categorical_features"])
def test_what_sparse_tables_cannot_have_is_refused_by_name(name):
    rows, labels = stream(20)
    given = {"experts": [Expert(None, 1.0)], "categorical_features": [3]}[name]
    with pytest.raises(ValueError, match=f"{name}: found some, and a sparse table"):
        AutoVVMClassifier(**{name: given}).fit(rows, labels)


def test_a_smaller_budget_is_a_lower_rank_and_less_memory():
    rows, labels = stream(columns=2000)
    usual = AutoVVMClassifier().fit(rows, labels)
    small = AutoVVMClassifier(budget=2e4).fit(rows, labels)
    # Three of independent weights beside it take 2 numbers each for a weight, and rates of two
    # classes 2.
    rank = affordable_rank(2001, 2, memory=12 * 20_000 - 8 * 2001 * 8)
    assert 0 < rank < 20
    assert small.experts_[0]["rank"] == rank
    assert f"rank {rank} instead of 20" in small.given_up_[0]
    assert small.n_bytes_ < usual.n_bytes_ / 2
    least = AutoVVMClassifier(budget=8e3).fit(rows, labels)
    assert described(least.experts_[0]) == "linear, s² 1, rank 0, independent weights"
    assert least.n_bytes_ < small.n_bytes_


def test_one_row_may_be_a_dict_of_places_or_a_sparse_row():
    rows, labels = stream(60)
    whole, single = (AutoVVMClassifier().partial_fit(rows[:40], labels[:40]) for _ in range(2))
    whole.partial_fit(rows[40:], labels[40:])
    for t in range(40, 60):
        row = rows[[t]]
        places = dict(zip(row.indices.tolist(), row.data.tolist(), strict=True))
        single.learn_one(places if t % 2 else row, labels[t])
    np.testing.assert_array_equal(single.predict_proba(rows), whole.predict_proba(rows))
    np.testing.assert_array_equal(
        single.predict_proba_one({3: 1.0}),
        whole.predict_proba(sparse.csr_array(([1.0], [3], [0, 1]), shape=(1, 80)))[0],
    )
    assert single.predict_one(rows[[7]]) == whole.predict(rows[[7]])[0]
    with pytest.raises(ValueError, match="found the key 80"):
        single.learn_one({80: 1.0}, 0)


def test_three_hundred_thousand_columns_take_no_row_written_out():
    rng = np.random.default_rng(0)
    n, d, size = 60, 300_000, 20
    places = np.sort(rng.integers(0, d, (n, size)), axis=1)
    rows = sparse.csr_array(
        (np.ones(n * size), places.ravel(), np.arange(n + 1) * size), shape=(n, d)
    )
    labels = np.arange(n) % 2
    model = AutoVVMClassifier(budget=1e6).partial_fit(rows[:2], labels[:2], classes=[0, 1])
    model.predict_proba(rows[:2])
    tracemalloc.start()
    try:
        model.predict_proba(rows)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 8 * n * d / 4  # of sixty rows written out


def test_a_call_that_fails_leaves_the_model_as_it_was():
    rows, labels = stream()
    model = AutoVVMClassifier().partial_fit(rows[:100], labels[:100], classes=[0, 1])
    before = model.predict_proba(rows)
    with pytest.raises(ValueError, match="classes"):
        model.partial_fit(rows[:3], [0, 1, 7])
    np.testing.assert_array_equal(model.predict_proba(rows), before)
    assert model.n_seen_ == 100


def test_models_of_sparse_tables_are_pooled_as_those_who_learn_them(tmp_path):
    rows, labels = stream(120)
    parts = [slice(0, 50), slice(50, 120)]
    both, same = (
        virtualvector.pool([make().partial_fit(rows[p], labels[p], [0, 1]) for p in parts])
        for make in (AutoVVMClassifier, WideVVMClassifier)
    )
    assert type(both) is AutoVVMClassifier
    assert both.n_seen_ == 120
    np.testing.assert_array_equal(both.predict_proba(rows), same.predict_proba(rows))
    both.save(tmp_path / "m.vvm")
    again = virtualvector.load(tmp_path / "m.vvm")
    np.testing.assert_array_equal(again.predict_proba(rows), same.predict_proba(rows))
    dense = AutoVVMClassifier().partial_fit(rows.toarray(), labels, [0, 1])
    with pytest.raises(ValueError, match="model 0 has learned sparse tables and model 1 dense"):
        virtualvector.pool([both, dense])


def test_no_more_classes_may_come_once_they_are_closed():
    rows, labels = stream()
    model = AutoVVMClassifier().partial_fit(rows, labels)
    assert model.takes_new_classes_
    assert not model.close_classes().takes_new_classes_


@pytest.mark.parametrize(
    "check",
    ["check_estimator_sparse_array", "check_estimator_sparse_matrix", "check_estimator_sparse_tag"],
)
@pytest.mark.parametrize("experts", [None, [Expert(None, 1.0)]])
def test_scikit_learn_contract_of_sparse_tables(check, experts):
    if experts is None or check.endswith("tag"):
        getattr(estimator_checks, check)("AutoVVMClassifier", AutoVVMClassifier(experts=experts))


def test_inspect_says_what_was_learned_of_sparse_rows(tmp_path):
    rows, labels = stream()
    AutoVVMClassifier().fit(rows, labels).save(tmp_path / "thin.vvm")
    told = CliRunner().invoke(app, ["inspect", str(tmp_path / "thin.vvm")])
    assert told.exit_code == 0, told.output
    assert "linear, s² 1, rank 20" in told.stdout
    assert "The most certain of 80 weights for 1" in told.stdout
