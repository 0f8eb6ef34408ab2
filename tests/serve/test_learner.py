"""When the thread that learns begins, and with how many labels."""

import time
from types import SimpleNamespace

import numpy as np
import pytest

from virtualvector.cli.serve import Keeping, service_of
from virtualvector.serve import learner
from virtualvector.serve.learner import EVERY, Learner
from virtualvector.serve.learning import AT_ONCE
from virtualvector.serve.texts import parsed, parsed_together
from virtualvector.streams.bad_input import BadInput


class Snapshot(SimpleNamespace):
    """A model that has learned so many labels, and writes down of how many at a time."""

    def after(self, rows, form):
        self.batches.append((time.monotonic(), len(rows)))
        return Snapshot(sequence=self.sequence + len(rows), batches=self.batches)

    def ready(self, example):
        return self


class Labels:
    """A store of labels, of which a few more come whenever it is asked."""

    def __init__(self, n_there, n_each_time=0):
        self.n_there, self._n_each_time = n_there, n_each_time

    def labelled(self, after, most):
        found = [None] * min(most, self.n_there - after)
        self.n_there += self._n_each_time
        return found

    def counts(self):
        return {}

    def conflicts(self, most):
        return []


def learner_of(store):
    form = SimpleNamespace(example=None)
    return Learner(Snapshot(sequence=0, batches=[]), form, store, save=lambda learned: b"")


@pytest.mark.parametrize(
    ("n_there", "expected"),
    [(0, []), (5, [5]), (AT_ONCE, [AT_ONCE, 7]), (2 * AT_ONCE + 1, [AT_ONCE, AT_ONCE, 15])],
)
def test_all_that_is_there_is_learned_and_what_comes_meanwhile_gathers(n_there, expected):
    one = learner_of(Labels(n_there, n_each_time=7))
    one.learn()
    assert [n for _, n in one.snapshot.batches] == expected


class Clock:
    """Time that passes when somebody waits, and an event that is set after a few times."""

    def __init__(self, n_waits):
        self.now, self.left, self.began = 0.0, n_waits, []

    def monotonic(self):
        return self.now

    def wait(self, seconds):
        self.now += max(seconds, 0.0)
        self.left -= 1
        self.began.append(self.now)
        return self.left == 0

    def is_set(self):
        return self.left == 0


@pytest.mark.parametrize(("takes", "apart"), [(0.1, EVERY), (1.0, 1.0)])
def test_it_begins_anew_at_even_times_however_long_learning_takes(monkeypatch, takes, apart):
    clock = Clock(n_waits=6)
    monkeypatch.setattr(learner, "time", clock)
    monkeypatch.setattr(learner, "_step_back", lambda: None)
    one = learner_of(Labels(1, n_each_time=1))
    learn = one.learn

    def learn_for_a_while():
        learn()
        clock.now += takes

    monkeypatch.setattr(one, "learn", learn_for_a_while)
    monkeypatch.setattr(one, "_stop", clock)
    one._run()
    assert np.diff(clock.began) == pytest.approx(apart)
    assert [n for _, n in one.snapshot.batches] == [1] * 5


@pytest.mark.parametrize("only_numbers", [False, True])
def test_texts_that_are_read_together_are_what_each_is(only_numbers):
    texts = ["[1, 2.5, null]", '["a, b", "]"]', "[]", '{"x": [1e-320, 123456789012345678901]}']
    expected = [parsed(text, only_numbers) for text in texts]
    assert repr(parsed_together(texts, only_numbers)) == repr(expected)
    assert parsed_together([], only_numbers) == []


def test_a_store_that_cannot_be_opened_is_named_and_its_password_is_not(model, tmp_path):
    with pytest.raises(BadInput, match=r"--store 'sqlite:.*/nowhere/s': cannot be opened: unable"):
        service_of(model, f"sqlite:///{tmp_path}/nowhere/s", Keeping())
    with pytest.raises(BadInput, match=r"--store '127.0.0.1:1/x': cannot be opened") as refused:
        service_of(model, "postgresql://me:secret@127.0.0.1:1/x?password=secret", Keeping())
    assert "secret" not in str(refused.value)
