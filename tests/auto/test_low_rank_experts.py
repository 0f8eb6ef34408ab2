"""Experts whose precisions are of low rank, in a committee like any other."""

import copy
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

import virtualvector
from tests.learners.test_interrupts import learned_despite_interrupts
from virtualvector import AutoVVMClassifier, Expert, VVMClassifier
from virtualvector.auto import decisions
from virtualvector.auto.committee import BLOCK
from virtualvector.auto.experts import operations
from virtualvector.auto.plan import EXCESS
from virtualvector.learners.expert import checked_experts
from virtualvector.persistence.mixin import contents_of
from virtualvector.posterior.low_rank import precision_of
from virtualvector.posterior.state import ROWS

FEW = [Expert(None, 1.0, buffer_size=3, rank=4), Expert(0.5, 0.1), Expert(None, 3.0, 0.02, rank=0)]


def stream(n_rows=300, columns=8, classes=2, seed=0):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n_rows, columns)) @ rng.normal(size=(columns, columns))
    scores = rows @ rng.normal(size=(columns, classes)) + rng.normal(size=(n_rows, classes))
    labels = np.argmax(scores, axis=1)
    labels[:classes] = np.arange(classes)
    return rows, labels


@pytest.mark.parametrize("points", [0, 5])
def test_one_alone_is_a_vvm_of_that_rank(points):
    rows, labels = stream()
    alone = Expert(None, 0.5, buffer_size=points, rank=3)
    model = AutoVVMClassifier(experts=[alone], scale=False, shuffle=False).fit(rows, labels)
    same = VVMClassifier(
        points, margin_noise=0.5, merge_pairs=0, covariance="low-rank", rank=3, shuffle=False
    )
    same.fit(rows, labels)
    np.testing.assert_array_equal(model.predict_proba(rows), same.predict_proba(rows))


def test_of_a_rank_as_large_as_the_rows_are_many_it_is_the_full_covariance():
    rows, labels = stream(120)
    thin, full = Expert(None, 0.5, rank=120), Expert(None, 0.5)
    model = AutoVVMClassifier(experts=[thin, full], budget=1e9)
    model.partial_fit(rows, labels, classes=[0, 1])
    one, other = model.experts_
    assert one["rank"] == 120
    assert other["rank"] is None
    assert one["evidence"] == pytest.approx(other["evidence"], rel=1e-8)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("declared", [True, False])
def test_single_rows_are_learned_and_predicted_to_the_bits_of_a_table(classes, declared):
    rows, labels = stream(400, classes=classes)
    known = np.arange(classes) if declared else []
    whole, single = (
        AutoVVMClassifier(experts=FEW, n_frequencies=10).partial_fit(rows[:40], labels[:40], known)
        for _ in range(2)
    )
    whole.partial_fit(rows[40:], labels[40:])
    for t in range(40, 400):
        if t % 40 == 0:
            of_table = single.predict_proba(rows[t - 3 : t])
            np.testing.assert_array_equal(single.predict_proba_one(rows[t - 1]), of_table[2])
        if t % 3 > 0:  # the row that comes, or one that does not
            single.predict_proba_one(rows[t - t % 2])
        single.learn_one(rows[t], labels[t])
    np.testing.assert_array_equal(single.predict_proba(rows), whole.predict_proba(rows))
    assert single.experts_ == whole.experts_


def test_many_interrupts_cost_no_row_and_no_bit():
    X, y = stream(BLOCK + 30)
    model = AutoVVMClassifier(experts=FEW, n_frequencies=10).partial_fit(X[:2], y[:2], [0, 1])
    whole = copy.copy(model).partial_fit(X[2:], y[2:])
    model.predict_proba_one(X[0])  # makes the copy that learns in place
    assert learned_despite_interrupts(model, X, y) > 10
    assert contents_of(model) == contents_of(whole)


def test_threads_change_no_bit():
    rows, labels = stream(300)
    one, two = (
        AutoVVMClassifier(experts=FEW, n_frequencies=10, n_jobs=n).fit(rows, labels) for n in (1, 2)
    )
    np.testing.assert_array_equal(one.predict_proba(rows), two.predict_proba(rows))


def test_categories_and_columns_that_come_later_make_room_in_precisions_of_low_rank():
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=200)
    towns = np.where(np.arange(200) < 50, "Rome", rng.choice(["Oslo", "Bonn", "Kiel", "Lima"], 200))
    labels = (numbers + (towns == "Oslo") + 0.5 * rng.normal(size=200) > 0).astype(int)
    table = pd.DataFrame({"x": numbers, "town": towns})
    late = table.assign(z=rng.normal(size=200))
    model = AutoVVMClassifier(experts=FEW[::2], new_columns="add")
    model.partial_fit(table[:100], labels[:100]).partial_fit(late[100:], labels[100:])
    assert {"x", "town = Oslo", "town = Lima", "z"} <= {w["column"] for w in model.weight_table_}
    assert model.score(late, labels) > 0.7


@pytest.mark.parametrize("points", [0, 3])
def test_weights_are_those_of_the_dense_precision_matrix(points):
    rows, labels = stream(200)
    experts = [Expert(None, 1.0, buffer_size=points, rank=3)]
    model = AutoVVMClassifier(experts=experts, scale=False).partial_fit(rows, labels)
    ((state,),) = (each.states for each in model._committee.posteriors)
    covariance = np.linalg.inv(precision_of(state))
    found = np.array([[line["mean"], line["deviation"]] for line in model.weight_table_])
    np.testing.assert_allclose(found[:, 1], np.sqrt(np.diag(covariance))[:-1], rtol=1e-9)
    (mean,) = model._committee.posteriors[0].means
    np.testing.assert_allclose(found[:, 0], mean[:-1], rtol=1e-12)
    assert model.virtual_points_.shape == (min(points, len(rows)), 8)


def test_a_committee_of_low_ranks_goes_on_from_a_file_to_the_same_bits(tmp_path):
    rows, labels = stream(400, classes=3)
    model = AutoVVMClassifier(experts=FEW, n_frequencies=10).partial_fit(rows[:250], labels[:250])
    model.save(tmp_path / "m.vvm")
    again = virtualvector.load(tmp_path / "m.vvm")
    for one in (model, again):
        one.partial_fit(rows[250:], labels[250:])
    np.testing.assert_array_equal(again.predict_proba(rows), model.predict_proba(rows))
    assert again.history_ == model.history_


def test_experts_of_wide_rows_get_a_rank_and_all_columns():
    rng = np.random.default_rng(0)
    factors = rng.normal(size=(300, 10))
    rows = factors @ rng.normal(size=(10, 1600)) / 3 + rng.normal(size=(300, 1600))
    labels = (factors[:, 0] > 0).astype(int)
    model = AutoVVMClassifier()
    said = model.predict_then_learn(rows, labels, classes=[0, 1]).probabilities
    assert model._sketch is None
    assert {expert["rank"] for expert in model.experts_} == {0, 20}
    assert "precisions of rank 20" in model.given_up_[1]
    assert -np.log(said[np.arange(300), labels])[100:].mean() < 0.4
    # As the budget says: 4 bytes for each multiplication, three times as many at the start.
    budget = model._committee.feature_space.budget
    awake = sum(model._committee.operations_of(e) for e in model._committee.at_start)
    assert awake <= EXCESS * budget
    assert model.n_bytes_ <= 4 * EXCESS * budget + 100 * 1600


@pytest.mark.parametrize("rank", [0, 5, 20])
@pytest.mark.parametrize("points", [0, 3])
def test_a_posterior_takes_no_more_memory_than_its_operations_stand_for(rank, points):
    rows, labels = stream(70, columns=1500)  # none of which are kept to be learned again
    expert = Expert(None, 1.0, buffer_size=points, rank=rank)
    model = AutoVVMClassifier(experts=[expert], budget=1e9).partial_fit(rows, labels, [0, 1])
    of_encoder = model._encoder.n_bytes
    assert model.n_bytes_ - of_encoder <= 4.0 * operations(expert, 1501)


def curved_stream(n_rows=500):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(n_rows, 2))
    return rows, (np.sum(rows**2, axis=1) > 1.4).astype(int)


@pytest.fixture
def in_haste(monkeypatch):
    """Others join a committee early, so that a short stream shows it."""
    monkeypatch.setattr(decisions, "JOINING", BLOCK)
    monkeypatch.setattr(decisions, "LATE", 2 * BLOCK)
    monkeypatch.setattr(decisions, "PER_WEIGHT", 1)


def growing(budget=3e5, **options):
    experts = [Expert(0.5, 0.1), Expert(None, 1.0)]
    return AutoVVMClassifier(experts=experts, n_frequencies=40, budget=budget, **options)


def test_where_covariances_are_too_much_one_of_low_rank_sees_more(in_haste):
    rows, labels = curved_stream()
    model = growing().partial_fit(rows, labels, [0, 1])
    (heir,) = (each for each in model.experts_ if each["rank"] is not None)
    assert (heir["detail"], heir["rank"]) == (4, 20)  # twice what a covariance is paid for
    assert heir["awake"]
    committee = model._committee
    assert committee.operations <= committee.feature_space.budget
    (state,) = committee.posteriors[
        committee.experts.index(Expert(0.5, 0.1, detail=4, rank=20))
    ].states
    assert 0 < state.counts[ROWS] < len(rows)  # it has begun late, with nothing
    small = growing(budget=2e4).partial_fit(rows, labels, [0, 1])
    assert all(each["rank"] is None for each in small.experts_)


@pytest.mark.parametrize(
    ("weight", "exponent", "variance", "stays"),
    [
        (0.2, 0.0, 1.0, True),  # trusted by the mix
        (0.0, 0.3, 0.01, True),  # needed by the pool: three standard deviations
        (0.0, 0.1, 0.01, False),
        (0.0, -0.3, 0.01, False),  # what it says is better turned round
    ],
)
def test_one_of_low_rank_falls_asleep_unless_it_has_shown_what_it_can(
    in_haste, monkeypatch, weight, exponent, variance, stays
):
    committee = growing().partial_fit(*curved_stream(), [0, 1])._committee
    heir = [expert.rank is not None for expert in committee.experts].index(True)
    weights, mean = committee.weights.copy(), committee.pool.mean.copy()
    weights[heir], mean[heir] = 0.0, exponent
    weights *= (1.0 - weight) / weights.sum()
    weights[heir] = weight
    covariance = committee.pool.covariance.copy()
    covariance[heir] = covariance[:, heir] = 0.0
    covariance[heir, heir] = variance
    pool = committee.pool._replace(mean=mean, covariance=covariance)
    known = replace(committee, weights=weights, pool=pool)
    assert decisions.end_block(known).awake[heir]  # it is young
    monkeypatch.setattr(decisions, "YOUTH", 0)
    assert decisions.end_block(known).awake[heir] == stays


def test_the_next_of_low_rank_joins_when_there_are_twice_as_many_rows(in_haste, monkeypatch):
    monkeypatch.setattr(decisions, "YOUTH", BLOCK)
    monkeypatch.setattr(decisions, "SURE", np.inf)
    monkeypatch.setattr(decisions, "FRESH_SHARE", 1e-3)
    rows, labels = curved_stream(20 * BLOCK)
    model, joined = growing(), []
    for first in range(0, len(rows), BLOCK):
        part = slice(first, first + BLOCK)
        model.partial_fit(rows[part], labels[part], [0, 1])
        n_joined = sum(each["rank"] is not None for each in model.experts_)
        joined += [first + BLOCK] * (n_joined - len(joined))
    assert len(joined) >= 2
    assert all(later >= 2 * sooner for sooner, later in pairwise(joined))


def test_one_of_low_rank_joins_once_there_are_rows_for_its_weights(in_haste, monkeypatch):
    rows, labels = curved_stream(8 * BLOCK)
    monkeypatch.setattr(decisions, "PER_WEIGHT", 2)  # of 323: 646 rows
    model = growing().partial_fit(rows[: 5 * BLOCK], labels[: 5 * BLOCK], [0, 1])
    assert all(each["rank"] is None for each in model.experts_)
    model.partial_fit(rows[5 * BLOCK :], labels[5 * BLOCK :])
    assert any(each["rank"] is not None for each in model.experts_)


def test_one_of_low_rank_joins_alike_in_rows_tables_threads_and_files(in_haste, tmp_path):
    rows, labels = curved_stream(650)  # by then it has fallen asleep again
    whole = growing(n_jobs=2).partial_fit(rows, labels, [0, 1]).set_params(n_jobs=1)
    model = growing().partial_fit(rows[:300], labels[:300], [0, 1])
    for row, label in zip(rows[300:450], labels[300:450], strict=True):
        model.predict_proba_one(row)
        model.learn_one(row, label)
    assert any(each["rank"] is not None for each in model.experts_)
    model.save(tmp_path / "m.vvm")
    model = virtualvector.load(tmp_path / "m.vvm").partial_fit(rows[450:], labels[450:])
    assert contents_of(model) == contents_of(whole)


def test_who_has_one_of_low_rank_is_pooled_with_who_has_not(in_haste):
    rows, labels = curved_stream(700)
    with_it = growing().partial_fit(rows[:500], labels[:500], [0, 1])
    without = growing().partial_fit(rows[500:], labels[500:], [0, 1])
    pooled = virtualvector.pool([with_it, without])
    (heir,) = (each for each in pooled.experts_ if each["rank"] is not None)
    (own,) = (each for each in with_it.experts_ if each["rank"] is not None)
    assert (heir["rank"], heir["detail"]) == (own["rank"], own["detail"])
    assert np.isfinite(pooled.predict_proba(rows)).all()
    assert pooled.score(rows, labels) > 0.9


@pytest.mark.parametrize(
    ("rank", "noise"), [(-1, 1.0), (2.5, 1.0), (3, 0.0), ("many", 1.0)]
)  # fmt: skip
def test_an_impossible_rank_is_refused_by_name(rank, noise):
    with pytest.raises(ValueError, match=r"experts\[0\]: .*rank"):
        checked_experts([Expert(None, noise, rank=rank)])
