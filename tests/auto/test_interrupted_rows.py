"""Rows and tables that are interrupted, fail half way, or are learned by several threads."""

import copy
import signal
from itertools import pairwise

import numpy as np
import pytest

from tests.auto.test_rows import as_dicts, few, mixed_table, one_by_one
from tests.learners.learner_examples import problem
from tests.learners.test_interrupts import (
    STRIDE,
    assert_all_or_nothing,
    learned_despite_interrupts,
)
from tests.learners.test_threads import beside, in_threads
from virtualvector import AutoVVMClassifier
from virtualvector.auto import working
from virtualvector.auto.committee import BLOCK
from virtualvector.auto.first_rows import REPLAYED_AT
from virtualvector.auto.workplace import Workplace
from virtualvector.persistence.mixin import contents_of


@pytest.mark.parametrize("n_rows", [60, BLOCK - 1, REPLAYED_AT[-1] - 1])
def test_a_row_is_learned_or_it_is_not_whenever_an_interrupt_comes(n_rows):
    X, y = problem(rows=n_rows + 1, flipped=0.2)
    known = few().partial_fit(X[: n_rows - 1], y[: n_rows - 1], classes=[0, 1])

    def model():
        return copy.copy(known).learn_one(X[n_rows - 1], y[n_rows - 1])

    assert_all_or_nothing(
        model,
        lambda m: m.learn_one(X[n_rows], y[n_rows]),
        read=contents_of,
        every=STRIDE if n_rows == 60 else 23 * STRIDE,
    )


def test_a_row_with_categories_is_learned_or_it_is_not_whenever_an_interrupt_comes():
    table, labels = mixed_table(60)
    rows = as_dicts(table)
    known = few().partial_fit(table[:58], labels[:58], classes=["no", "yes"])
    assert_all_or_nothing(
        lambda: copy.copy(known).learn_one(rows[58], labels[58]),
        lambda m: m.learn_one(rows[59], labels[59]),
        read=contents_of,
        every=7 * STRIDE,
    )


def test_many_interrupts_cost_no_row_and_no_bit():
    X, y = problem(rows=2 * BLOCK, flipped=0.2)
    model = few().partial_fit(X[:2], y[:2], classes=[0, 1])
    whole = copy.copy(model).partial_fit(X[2:], y[2:])
    model.predict_proba_one(X[0])  # makes the copy that learns in place
    assert learned_despite_interrupts(model, X, y) > 10
    assert contents_of(model) == contents_of(whole)


def test_no_row_is_lost_when_threads_learn_rows_and_tables():
    """All rows are the same, so that their order makes no difference."""
    row = np.array([0.5, -1.0, 0.25, 2.0])
    table, labels = np.tile(row, (10, 1)), [0] * 10
    start = few().partial_fit(np.vstack([table[:1], -table[:1]]), [0, 1], classes=[0, 1])
    model = copy.copy(start)
    ways = [
        lambda: model.partial_fit(table, labels),
        lambda: [model.learn_one(row, 0) for _ in range(10)],
        lambda: [model.partial_fit(table[:1], labels[:1]) for _ in range(10)],
        lambda: [model.predict_proba_one(row) for _ in range(10)],
    ]
    in_threads(*(lambda way=way: [way() for _ in range(6)] for way in ways * 2))
    assert model.n_seen_ == 362
    whole = start.partial_fit(np.tile(row, (360, 1)), [0] * 360)
    assert contents_of(model) == contents_of(whole)


def test_who_reads_sees_the_committee_after_some_row():
    X, y = problem(rows=140)
    start = few().partial_fit(X[:60], y[:60], classes=[0, 1])
    model, seen = copy.copy(start), []
    with beside(lambda: seen.append(contents_of(model))):
        one_by_one(model, X[60:], y[60:], asked=False)
    after = {contents_of(start): 60}
    for t in range(60, 140):
        after[contents_of(start.learn_one(X[t], y[t]))] = t + 1
    found = [after[contents] for contents in seen]
    assert all(first <= second for first, second in pairwise(found))
    assert contents_of(model) == contents_of(start)


@pytest.mark.parametrize(
    "use",
    [lambda m, x: m.learn_one(x, 0), lambda m, x: m.predict_proba_one(x), lambda m, x: m.n_seen_],
)
def test_a_handler_of_a_signal_is_told_when_a_row_is_being_learned(use):
    X, y = problem(rows=30)
    model = few().partial_fit(X, y, classes=[0, 1]).learn_one(X[0], y[0])
    route, told = model._route, []

    def handler(*_):
        with pytest.raises(RuntimeError, match="from within another call"):
            use(model, X[0])
        told.append(model)

    before = signal.signal(signal.SIGUSR1, handler)
    try:
        with route._lock:
            signal.raise_signal(signal.SIGUSR1)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert told
    assert model.learn_one(X[1], y[1]).n_seen_ == 32


@pytest.mark.parametrize("n_done", [0, 1, 2, 3])
def test_a_decision_that_is_interrupted_is_done_to_the_end(n_done, monkeypatch):
    """After any of the steps of which it consists; all are done again."""
    X, y = problem(rows=3 * BLOCK, flipped=0.2)
    start = few().partial_fit(X[: 2 * BLOCK - 1], y[: 2 * BLOCK - 1], classes=[0, 1])
    whole = one_by_one(copy.copy(start), X[2 * BLOCK - 1 :], y[2 * BLOCK - 1 :], asked=False)
    model, trust, told = copy.copy(start), Workplace.trust, []

    def interrupted_trust(place, due):
        monkeypatch.setattr(Workplace, "trust", trust)
        steps = [
            lambda: place.opinions.weights.__setitem__(slice(None), due.weights[due.awake]),
            lambda: place.opinions.tally.__setitem__(slice(None), 0.0),
            lambda: setattr(place, "committee", due),
        ]
        for step in steps[:n_done]:
            step()
        told.append(place)
        raise KeyboardInterrupt

    monkeypatch.setattr(Workplace, "trust", interrupted_trust)
    with pytest.raises(KeyboardInterrupt):
        model.learn_one(X[2 * BLOCK - 1], y[2 * BLOCK - 1])
    assert told
    one_by_one(model, X[2 * BLOCK :], y[2 * BLOCK :], asked=False)
    assert contents_of(model) == contents_of(whole)


def test_a_table_that_fails_half_way_leaves_what_was_known_to_readers_and_to_the_next(monkeypatch):
    X, y = problem(rows=5 * BLOCK, flipped=0.2)
    before = few().partial_fit(X[:BLOCK], y[:BLOCK], classes=[0, 1])
    one_by_one(before, X[BLOCK : BLOCK + 9], y[BLOCK : BLOCK + 9], asked=False)
    model, known = copy.copy(before), contents_of(before)
    row, expected = X[:1], before.predict_proba(X[:2])
    after = copy.copy(before).partial_fit(X[BLOCK + 9 :], y[BLOCK + 9 :])
    end_rows, seen = working.end_rows, []

    def failing(*rows):
        end_rows(*rows)
        seen.append((contents_of(model), model.n_seen_, model.predict_proba(row).tolist()))
        if len(seen) == 3:
            raise MemoryError

    monkeypatch.setattr(working, "end_rows", failing)
    with pytest.raises(MemoryError):
        model.partial_fit(X[BLOCK + 9 :], y[BLOCK + 9 :])
    assert seen == [(known, BLOCK + 9, expected[:1].tolist())] * 3
    assert contents_of(model) == known
    assert np.array_equal(model.predict_proba_one(X[1]), expected[1])
    monkeypatch.setattr(working, "end_rows", end_rows)
    for rows in (slice(BLOCK + 9, BLOCK + 10), slice(BLOCK + 10, None)):
        model.partial_fit(X[rows], y[rows])
    assert contents_of(model) == contents_of(after)


def test_tables_that_follow_each_other_are_learned_in_the_same_memory():
    X, y = problem(rows=60)
    model = few().partial_fit(X[:20], y[:20], classes=[0, 1])
    mean = model._route._working.known.posteriors[0].states[0].mean
    model.partial_fit(X[20:40], y[20:40]).learn_one(X[40], y[40]).partial_fit(X[41:], y[41:])
    assert mean is model._route._working.known.posteriors[0].states[0].mean
    assert mean is not model._committee.posteriors[0].states[0].mean
    assert np.array_equal(mean, model._committee.posteriors[0].states[0].mean)


@pytest.mark.parametrize("cut", [300, 511])
def test_threads_look_at_the_next_rows_and_leave_the_same_bits(cut):
    """Whatever happens between two blocks: new classes and categories, rows with parts, sleep."""
    table, labels = mixed_table(900)
    labels = np.where(np.arange(900) % 97 == 96, "maybe", labels)
    table.loc[400:, "country"] = [f"land {k % 30}" for k in range(500)]
    weights = np.where(np.arange(900) % 5 == 0, 0.5, 1.0)
    learned = []
    for n_jobs in (1, 2):
        model = AutoVVMClassifier(budget=2e5, n_jobs=n_jobs)
        said = [
            model.predict_then_learn(
                table[rows], labels[rows], classes=[], sample_weight=weights[rows]
            ).probabilities.tolist()
            for rows in (slice(0, cut), slice(cut, None))
        ]
        learned.append((said, contents_of(model.set_params(n_jobs=1))))
    assert learned[0] == learned[1]
