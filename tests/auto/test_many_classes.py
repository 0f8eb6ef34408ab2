"""Many classes: few compete for a row, and the posteriors of the others need not learn it."""

import copy
import math

import numpy as np
import pytest
from sklearn.datasets import load_digits

from tests.auto.test_rows import few, one_by_one
from virtualvector import AutoVVMClassifier, Expert, VVMClassifier, pool
from virtualvector.auto import committee
from virtualvector.auto.committee import BLOCK, FEW
from virtualvector.evaluation import log_loss
from virtualvector.persistence.mixin import contents_of


def clouds(n_classes, n_rows, seed=0):
    rng = np.random.default_rng(seed)
    centres, labels = 2.5 * rng.normal(size=(n_classes, 4)), rng.integers(n_classes, size=n_rows)
    return centres[labels] + rng.normal(size=(n_rows, 4)), labels


@pytest.mark.parametrize(("n_classes", "some"), [(FEW, False), (FEW + 1, True)])
def test_rows_are_left_out_by_sure_posteriors_if_there_are_many_classes(n_classes, some):
    X, y = clouds(n_classes, 300)
    model = few().partial_fit(X, y, classes=range(n_classes))
    assert (model.counters_["ignored"] > 0) == some
    for posterior in model._committee.posteriors:
        for k, state in enumerate(posterior.states):
            assert state.counts[4] < np.sum(y != k)  # every row of its own is learned


def test_with_many_classes_rows_threads_and_cuts_leave_the_same_bits():
    X, y = clouds(FEW + 2, BLOCK + 60)
    start = few().partial_fit(X[:9], y[:9], classes=range(FEW + 2))
    table = copy.copy(start).partial_fit(X[9:], y[9:])
    rows = one_by_one(copy.copy(start), X[9:], y[9:])
    threads = copy.copy(start).set_params(n_jobs=2).partial_fit(X[9:100], y[9:100])
    threads.partial_fit(X[100:], y[100:]).set_params(n_jobs=1)
    assert contents_of(rows) == contents_of(table) == contents_of(threads)


def test_many_classes_may_come_when_they_come():
    X, y = clouds(FEW + 3, 300)
    y = np.where(np.arange(300) < 150, y % FEW, y)
    declared, open_ = few(), few(n_classes=FEW + 3)
    declared.partial_fit(X, y, classes=range(FEW + 3))
    cut = copy.copy(open_).partial_fit(X[:170], y[:170], classes=[]).partial_fit(X[170:], y[170:])
    open_.partial_fit(X, y, classes=[])
    assert contents_of(cut) == contents_of(open_)
    losses = [log_loss(y, m.predict_proba(X), range(FEW + 3)) for m in (declared, open_)]
    assert losses[1] == pytest.approx(losses[0], rel=0.05)


def test_committees_of_many_classes_can_be_pooled_and_checked():
    X, y = clouds(FEW + 2, 900)
    start = few_that_remember().partial_fit(X[:200], y[:200], classes=range(FEW + 2))
    here, there = (
        copy.copy(start).partial_fit(X[a:b], y[a:b]) for a, b in ((200, 500), (500, 800))
    )
    both = pool([here, there], start)
    both._check_learned()
    assert both.counters_["ignored"] > max(m.counters_["ignored"] for m in (here, there))
    losses = [log_loss(y[800:], m.predict_proba(X[800:]), range(FEW + 2)) for m in (both, here)]
    assert losses[0] < 1.05 * losses[1]


def few_that_remember():
    return AutoVVMClassifier(experts=(Expert(None, 1.0), Expert(0.5, 0.1)), n_frequencies=6)


def test_one_expert_alone_learns_every_row():
    X, y = clouds(FEW + 2, 200)
    alone = AutoVVMClassifier(experts=[Expert(None, 0.5, buffer_size=10)], scale=False).fit(X, y)
    same = VVMClassifier(10, margin_noise=0.5, merge_pairs=0).fit(X, y)
    np.testing.assert_array_equal(alone.predict_proba(X), same.predict_proba(X))


def test_what_sure_posteriors_leave_out_costs_next_to_nothing(monkeypatch):
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))[:600]
    X, y = X[order], y[order]
    found = AutoVVMClassifier().predict_then_learn(X, y).probabilities
    monkeypatch.setattr(committee, "SURE", math.inf)
    every = AutoVVMClassifier().predict_then_learn(X, y).probabilities
    assert np.abs(found - every).max() > 0.0
    assert log_loss(y, found, range(10)) <= 1.01 * log_loss(y, every, range(10))
