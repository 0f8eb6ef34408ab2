"""Running sums against measures of the whole stream at once."""

import json
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from virtualvector.evaluation import Tally, calibration_error, measure, reliability
from virtualvector.evaluation.tally import BEFORE_ALL, between


def stream(n_rows, classes, seed=0):
    rng = np.random.default_rng(seed)
    predictions = rng.dirichlet(np.full(len(classes), 0.5), n_rows)
    labels = np.array(classes)[[rng.choice(len(classes), p=p) for p in predictions]]
    return labels, predictions


def cut(tally, labels, predictions, cuts):
    for part, of_part in zip(np.split(labels, cuts), np.split(predictions, cuts), strict=True):
        tally = tally.with_rows(part, of_part)
    return tally


@pytest.mark.parametrize("classes", [("ham", "spam"), ("a", "b", "c")])
def test_sums_give_the_measures_of_the_whole_stream(classes):
    labels, predictions = stream(2000, classes)
    tally = Tally(classes).with_rows(labels, predictions)
    predicted = np.array(classes)[predictions.argmax(axis=1)]
    assert tally.measures == pytest.approx(
        measure(labels, predicted, predictions, np.array(classes))
    )
    for mine, theirs in zip(
        tally.reliability, reliability(labels, predictions, np.array(classes)), strict=True
    ):
        assert mine == pytest.approx(theirs, nan_ok=True)


@given(st.lists(st.integers(0, 700), max_size=40))
def test_any_cut_gives_the_same_bits(cuts):
    labels, predictions = stream(700, ("ham", "spam"))
    start = Tally(("ham", "spam"))
    assert cut(start, labels, predictions, sorted(cuts)) == start.with_rows(labels, predictions)


def test_row_by_row_gives_the_same_bits():
    labels, predictions = stream(6000, ("a", "b", "c"))
    start = Tally(("a", "b", "c"))
    assert cut(start, labels, predictions, range(1, 6000)) == start.with_rows(labels, predictions)


def test_memory_is_bounded_and_stretches_add_up():
    labels, predictions = stream(20_000, ("ham", "spam"))
    tally = cut(Tally(("ham", "spam")), labels, predictions, [777, 12_345])
    wrong = labels != np.array(["ham", "spam"])[predictions.argmax(axis=1)]
    assert 64 <= len(tally.past) <= 256
    start = 0
    for both in pairwise((BEFORE_ALL, *tally.past)):
        part = between(*both)
        assert part.n_rows == tally.every
        assert part.error == pytest.approx(wrong[start : start + part.n_rows].mean())
        start += part.n_rows
    recent = tally.recent
    assert 1000 <= recent.n_rows < 1000 + 2 * tally.every
    assert recent.error == pytest.approx(wrong[-recent.n_rows :].mean())


def test_classes_come_as_they_come():
    labels = np.array(["b", "b", "a", "b", "c"])
    predictions = np.array(
        [[0, 1, 0], [0, 1, 0], [0.2, 0.8, 0], [0.3, 0.7, 0], [0.1, 0.6, 0.3]], dtype=float
    )
    at_once = Tally().with_rows(labels, predictions, np.array(["a", "b", "c"]))
    assert at_once.classes == ("a", "b", "c")
    first = Tally().with_rows(labels[:2], predictions[:2, 1:2], np.array(["b"]))
    second = first.with_rows(labels[2:4], predictions[2:4, :2], np.array(["a", "b"]))
    assert second.with_rows(labels[4:], predictions[4:], np.array(["a", "b", "c"])) == at_once
    # Rows from before the second class say nothing about how reliable its probability is, and of
    # those that bring a class it is as if all had been alike; both are wrong.
    assert second.reliability.n_rows.sum() == 2
    alike = np.array([[0.5, 0.5], [0.3, 0.7]])
    assert second.measures.calibration_error == pytest.approx(
        calibration_error(labels[2:4], alike, np.array(["a", "b"]))
    )
    assert at_once.measures.error == 3 / 5
    given = [1 / 2, 1.0, 1 / 2, 0.7, 1 / 3]
    assert at_once.measures.log_loss == pytest.approx(-np.log(given).mean())


def test_a_file_keeps_every_bit():
    labels, predictions = stream(5000, ("ham", "spam"))
    tally = Tally(("ham", "spam")).with_rows(labels, predictions)
    assert Tally.from_dict(json.loads(json.dumps(tally.as_dict()))) == tally


def test_nothing_yet_has_measures_too():
    assert Tally(("ham", "spam")).measures == (0.0, 0.0, 0.0, 0.0)


def test_weighted_rows_add_up_to_the_same_bits_however_they_are_cut():
    labels, predicted = stream(500, ("ham", "spam"))
    weights = np.random.default_rng(0).uniform(0.01, 3.0, 500)
    whole = Tally(("ham", "spam")).with_rows(labels, predicted, weights=weights)
    cut = Tally(("ham", "spam"))
    for start, stop in ((0, 1), (1, 130), (130, 500)):
        rows = slice(start, stop)
        cut = cut.with_rows(labels[rows], predicted[rows], weights=weights[rows])
    assert cut == whole
    assert cut.measures == whole.measures
    assert whole.now.n_rows == pytest.approx(weights.sum(), rel=1e-12)
