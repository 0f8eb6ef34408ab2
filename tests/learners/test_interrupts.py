"""An interrupted call has learned all of its rows or none of them, to the last bit."""

import copy
import os
import random
import signal
import sys
import time
from contextlib import contextmanager, suppress
from functools import partial
from linecache import getline
from pathlib import Path

import numpy as np
import pytest

import virtualvector
from tests.learners.learner_examples import problem
from virtualvector import (
    ADFClassifier,
    AutoVVMClassifier,
    EPClassifier,
    VVMClassifier,
    WindowEPClassifier,
)
from virtualvector.learners.hedge import Hedged
from virtualvector.persistence.mixin import contents_of
from virtualvector.posterior.drift import rows_per_drift

# Every line is tried where VVM_THOROUGH is set, which takes long; else one of so many.
STRIDE = 1 if os.environ.get("VVM_THOROUGH") else 11
SOURCES = str(Path(virtualvector.__file__).parent)

FORGETFUL = 60.0  # rows; with five weights, something is forgotten after every second one
LEARNERS = {
    "ADF": partial(ADFClassifier, margin_noise=0.3),
    "ADF that forgets": partial(ADFClassifier, margin_noise=0.3, half_life=FORGETFUL),
    "VVM": partial(VVMClassifier, 6, margin_noise=0.3),
    "VVM without noise": partial(VVMClassifier, 6),
    "VVM with label noise": partial(VVMClassifier, 6, label_noise=0.05),
    "VVM that forgets": partial(VVMClassifier, 6, margin_noise=0.3, half_life=FORGETFUL),
    "window-EP": partial(WindowEPClassifier, 6, margin_noise=0.3),
    "EP": partial(EPClassifier, margin_noise=0.3),
}
every_learner = pytest.mark.parametrize("learner", LEARNERS.values(), ids=LEARNERS)


@contextmanager
def interrupted(at):
    """Raise KeyboardInterrupt before lines of the package, if ``at`` says so of their number.

    Not at those of ``with`` and ``try``, where Python takes no signals: at the first it comes by
    again to end the block, at the second there is nothing to be done.
    """
    lines = iter(range(sys.maxsize))

    def trace(frame, event, _):
        file, number = frame.f_code.co_filename, frame.f_lineno
        if not file.startswith(SOURCES):
            return None
        open_to_signals = not getline(file, number).lstrip().startswith(("with ", "try:"))
        if event == "line" and open_to_signals and at(next(lines)):
            raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(before)


def test_something_is_forgotten_after_every_second_row():
    assert rows_per_drift(5, FORGETFUL) == 2


def bits(model):
    """Every bit that a learner has learned."""
    return _bits(model._posterior)


def _bits(known):
    states = (*known.states, *(() if known.unseen is None else (known.unseen,)))
    hedge = (known.lead, *_bits(known.beside)) if isinstance(known, Hedged) else ()
    arrays = (array.tobytes() for state in states for array in state)
    return known.classes.tobytes(), *arrays, *hedge


def assert_all_or_nothing(model, call, read=bits, every=1):
    """Interrupt a call at one line after the other, until it gets through."""
    before = read(model())
    after = read(call(model()))
    assert after != before
    line, learned = 0, set()
    while True:
        other = model()
        try:
            with interrupted(at=line.__eq__):
                call(other)
        except KeyboardInterrupt:
            found = read(other)
            assert found in (before, after), line
            learned.add(found == after)
            if found == before:
                call(other)
            assert read(other) == after, line
        else:
            break
        line += every
    assert line > 5
    assert False in learned  # before anything has begun


@every_learner
@pytest.mark.parametrize("n_classes", [2, 3])
# After the 32nd something is forgotten, before the 65th something is rebuilt, or made larger.
@pytest.mark.parametrize("n_rows", [31, 64])
def test_a_single_row_is_learned_or_it_is_not_whenever_an_interrupt_comes(
    learner, n_classes, n_rows
):
    X, y = problem(rows=n_rows + 1, n_classes=n_classes, flipped=0.2)
    known = learner().partial_fit(X[: n_rows - 1], y[: n_rows - 1])

    def model():
        return copy.copy(known).learn_one(X[n_rows - 1], y[n_rows - 1])

    grows = isinstance(known, EPClassifier) and n_rows == 64  # which takes hundreds of lines
    assert_all_or_nothing(
        model, lambda m: m.learn_one(X[n_rows], y[n_rows]), every=13 if grows else STRIDE
    )


METHODS = {
    "fit": lambda model, X, y: model.fit(X, y),
    "partial_fit": lambda model, X, y: model.partial_fit(X, y),
    "predict_then_learn": lambda model, X, y: (model.predict_then_learn(X, y), model)[1],
}
every_method = pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)


@every_learner
@every_method
def test_a_table_is_learned_or_it_is_not_whenever_an_interrupt_comes(learner, method):
    X, y = problem(rows=46, n_classes=3, flipped=0.2)
    known = learner().partial_fit(X[:40], y[:40])
    every = 47 if isinstance(known, EPClassifier) else 11  # it goes through many more lines
    assert_all_or_nothing(
        lambda: copy.copy(known), lambda m: method(m, X[40:], y[40:]), every=every * STRIDE
    )


@every_method
def test_a_committee_learns_a_table_or_it_does_not_whenever_an_interrupt_comes(method):
    X, y = problem(rows=136, n_classes=3)
    known = AutoVVMClassifier(budget=3e4).partial_fit(X[:120], y[:120])
    assert_all_or_nothing(
        lambda: copy.copy(known),
        lambda m: method(m, X[120:], y[120:]),
        read=contents_of,
        every=499 * STRIDE,
    )


def test_a_committee_closes_its_classes_or_it_does_not_whenever_an_interrupt_comes():
    X, y = problem(rows=60, n_classes=3)
    known = AutoVVMClassifier(budget=3e4).partial_fit(X, y)
    assert_all_or_nothing(
        lambda: copy.copy(known), lambda m: m.close_classes(), read=contents_of, every=STRIDE
    )


def learned_despite_interrupts(model, rows, labels):
    """Learn one by one what a model has not seen yet; return how often that was cut short."""
    chance, n_interrupts = random.Random(0), 0
    for t in range(model.n_seen_, len(rows)):
        while model.n_seen_ == t:
            try:
                with interrupted(at=lambda line: chance.random() < 0.01):
                    model.learn_one(rows[t], labels[t])
            except KeyboardInterrupt:
                n_interrupts += 1
    return n_interrupts


@every_learner
@pytest.mark.parametrize("n_classes", [2, 3])
def test_many_interrupts_cost_no_row_and_no_bit(learner, n_classes):
    """Also those that come while the last row is learned to the end."""
    X, y = problem(rows=90, n_classes=n_classes, flipped=0.2)
    whole = learner().partial_fit(X[:10], y[:10], classes=np.unique(y))
    model = copy.copy(whole).learn_one(X[10], y[10])
    whole.learn_one(X[10], y[10])
    for t in range(11, 90):
        whole.learn_one(X[t], y[t])
    assert learned_despite_interrupts(model, X, y) > 10
    assert bits(model) == bits(whole)


@pytest.mark.parametrize("n_classes", [2, 3])
@every_learner
def test_signals_cost_no_row_and_no_bit(learner, n_classes):
    """As above, where they really come from, between any two steps of Python."""
    X, y = problem(rows=120, columns=8, n_classes=n_classes, flipped=0.2)
    whole = learner().partial_fit(X[:10], y[:10], classes=np.unique(y))
    model = copy.copy(whole).learn_one(X[10], y[10])
    whole.learn_one(X[10], y[10])
    chance = random.Random(0)

    def interrupt(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        for t in range(11, 120):
            whole.learn_one(X[t], y[t])
            while model.n_seen_ == t:
                with suppress(KeyboardInterrupt):
                    signal.setitimer(signal.ITIMER_REAL, 1e-6 * 2 ** chance.uniform(0, 12))
                    model.learn_one(X[t], y[t])
                    time.sleep(1.0)  # the signal comes here at the latest
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    assert bits(model) == bits(whole)


def test_a_row_that_is_refused_leaves_every_bit_even_when_there_is_no_room_for_it():
    X, y = problem(rows=65)
    model = EPClassifier(margin_noise=0.3).partial_fit(X[:63], y[:63], classes=[0, 1])
    model.learn_one(X[63], y[63])  # as many points as there is room for
    before = bits(model)
    assert len(model._posterior.states[0].points) == 64
    with pytest.raises(ValueError, match="found nan or infinity"):
        model.learn_one([np.nan] * 4, 1)
    assert bits(model) == before
    whole = EPClassifier(margin_noise=0.3).partial_fit(X, y, classes=[0, 1])
    assert bits(model.learn_one(X[64], y[64])) == bits(whole)
