"""When a committee wakes threads: where that saves more than it takes, by what is counted."""

from itertools import product
from threading import get_ident

import numpy as np
import pytest

from tests.auto.test_rows import few
from tests.learners.learner_examples import problem
from virtualvector.auto import workplace
from virtualvector.auto.workplace import _at_work
from virtualvector.concurrency import ALONE, Team
from virtualvector.persistence.mixin import contents_of
from virtualvector.posterior import Engine


@pytest.mark.parametrize(("waking", "n_at_work"), [(-1.0, 2), (1e12, 1)])
def test_nobody_is_woken_where_that_takes_longer_than_it_saves(waking, n_at_work, monkeypatch):
    X, y = problem(rows=300)
    threads, learn = set(), Engine.learn

    def learn_here(engine, *rows):
        threads.add(get_ident())
        learn(engine, *rows)

    monkeypatch.setattr(workplace, "WAKING", waking)
    monkeypatch.setattr(Engine, "learn", learn_here)
    few(n_jobs=2).partial_fit(X, y, classes=[0, 1])
    assert len(threads) <= n_at_work
    assert get_ident() in threads


def test_threads_may_come_and_go_along_the_stream():
    X, y = problem(rows=900, flipped=0.2)
    whole = few().partial_fit(X, y, classes=[0, 1])
    model = few()
    for start, stop, n_jobs in ((0, 200, 1), (200, 201, 2), (201, 560, 2), (560, 900, 1)):
        model.set_params(n_jobs=n_jobs)
        model.partial_fit(X[start:stop], y[start:stop], classes=[0, 1])
    assert contents_of(model) == contents_of(whole)


def test_what_threads_save_is_held_against_all_ways_to_share_tasks(monkeypatch):
    """Who takes the longest task that is left is never off by more than a third (Graham 1969)."""
    random, team = np.random.default_rng(0), Team(2)
    for n_tasks in (1, 2, 5, 8):
        costs = np.sort(random.exponential(size=n_tasks))[::-1].tolist()
        shares = [np.bincount(who, costs, 2).max() for who in product((0, 1), repeat=n_tasks)]
        monkeypatch.setattr(workplace, "WAKING", sum(costs) - min(shares) + 1e-9)
        assert _at_work(team, costs) is ALONE
        monkeypatch.setattr(workplace, "WAKING", sum(costs) - 4.0 / 3.0 * min(shares) - 1e-9)
        assert _at_work(team, costs) is team
    assert _at_work(Team(1), [9e9, 9e9]) is ALONE
