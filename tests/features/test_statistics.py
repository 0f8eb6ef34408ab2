"""Statistics of categories against counting by hand, one row after the other."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest

from virtualvector.features.categories import CELLS, SLOTS
from virtualvector.features.encoder import Encoder
from virtualvector.kernels.target_statistics import SHRINKAGE, target_statistics


def by_hand(categories, labels, n_with_input):
    """The statistics of each row for each class but the first to come, from dictionaries."""
    seen, of_class, of_category, both = [], Counter(), Counter(), Counter()
    rows = []
    for t, (category, label) in enumerate(zip(categories, labels, strict=True)):
        order = list(dict.fromkeys(categories[: t + 1]))
        needs = order.index(category) >= n_with_input
        row = {}
        for k in seen[1:]:
            if needs and of_category[category]:
                rate = (of_class[k] + 0.5) / (t + 1)
                there = both[category, k] + SHRINKAGE * rate
                rest = of_category[category] - both[category, k] + SHRINKAGE * (1 - rate)
                row[k] = math.log(there / rest) - math.log(rate / (1 - rate))
        rows.append(row)
        of_class[label] += 1
        if label not in seen:
            seen.append(label)
        if needs:
            of_category[category] += 1
            both[category, label] += 1
    return rows, seen


def stream(n_rows, n_categories, n_classes, seed=0):
    rng = np.random.default_rng(seed)
    categories = [f"c{k}" for k in rng.integers(n_categories, size=n_rows)]
    return categories, rng.integers(n_classes, size=n_rows)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_each_row_has_what_was_observed_before_it(n_classes):
    categories, labels = stream(400, 30, n_classes)
    encoder = Encoder([True], most_statistics=n_classes - 1)
    inputs = encoder.learn([categories], labels)
    expected, order = by_hand(categories, labels.tolist(), SLOTS)
    places = encoder.statistics.places[0]
    assert encoder.statistics.classes.tolist() == order
    for t, row in enumerate(expected):
        want = [row.get(k, 0.0) for k in order[1:]]
        np.testing.assert_allclose(inputs[t, list(places)], want, rtol=1e-9, atol=1e-12)


def test_the_label_of_a_row_does_not_count_for_it():
    categories, labels = stream(300, 30, 2)
    other = labels.copy()
    other[-1] = 1 - other[-1]
    one, two = (Encoder([True], most_statistics=1) for _ in range(2))
    np.testing.assert_array_equal(one.learn([categories], labels), two.learn([categories], other))
    assert (one.statistics.totals != two.statistics.totals).any()


@pytest.mark.parametrize("cuts", [(1, 2, 3, 40, 41, 299), (150,), range(1, 300)])
def test_cuts_change_no_bit(cuts):
    categories, labels = stream(300, 20, 3, seed=1)
    second = [f"d{k % 11}" for k in range(300)]
    whole, pieces = (Encoder([True, True], most_statistics=2) for _ in range(2))
    inputs = whole.learn([categories, second], labels)
    edges = [0, *cuts, 300]
    for start, stop in itertools.pairwise(edges):
        rows = slice(start, stop)
        part = pieces.learn([categories[rows], second[rows]], labels[rows])
        np.testing.assert_array_equal(part, inputs[rows, : part.shape[1]])
        assert not inputs[rows, part.shape[1] :].any()
    assert pieces.statistics.places == whole.statistics.places
    np.testing.assert_array_equal(
        pieces.scale([categories, second]), whole.scale([categories, second])
    )


def test_rows_that_are_only_predicted_are_those_that_come_next():
    categories, labels = stream(300, 25, 2)
    encoder = Encoder([True], most_statistics=1)
    encoder.learn([categories[:-1]], labels[:-1])
    predicted = encoder.scale([categories[-1:]])
    np.testing.assert_array_equal(predicted, encoder.learn([categories[-1:]], labels[-1:]))


def test_categories_with_an_input_have_no_statistics():
    categories, labels = stream(200, SLOTS, 2)
    encoder = Encoder([True], most_statistics=1)
    assert encoder.learn([categories], labels).shape[1] == SLOTS
    assert encoder.statistics.n_inputs == 0
    assert encoder.statistics.totals.tolist() == [200.0, np.sum(labels != labels[0])]


def test_of_many_classes_the_first_ones_have_inputs():
    categories, labels = stream(2000, 30, 30)
    encoder = Encoder([True], most_statistics=8)
    inputs = encoder.learn([categories], labels)
    assert inputs.shape[1] == encoder.n_inputs == encoder.most_inputs == SLOTS + 8
    assert encoder.statistics.counts[0].shape == (CELLS, 9)
    assert len(encoder.labels(["town"])) == encoder.n_inputs


def test_a_statistic_is_near_the_log_odds_it_estimates():
    rng = np.random.default_rng(0)
    cells = rng.integers(2, size=40_000)
    came = (rng.random(40_000) < np.where(cells == 1, 0.8, 0.3)).astype(np.int64)
    written = np.empty((40_000, 1))
    target_statistics(cells, came, np.zeros((2, 2)), np.zeros(2), True, written)
    base = math.log(0.55 / 0.45)
    assert written[cells == 1][-1, 0] == pytest.approx(math.log(4.0) - base, abs=0.06)
    assert written[cells == 0][-1, 0] == pytest.approx(math.log(3 / 7) - base, abs=0.06)


def test_entries_of_one_row_are_those_of_a_table_and_count_as_it_does():
    categories, labels = stream(400, 30, 3)
    one, other = (Encoder([True, True], most_statistics=2) for _ in range(2))
    empty = np.where(np.arange(400) % 7 == 0, "", "a")
    for encoder in (one, other):
        encoder.learn([categories[:300], empty[:300]], labels[:300])
    n_entries = 0
    for t in range(300, 400):
        row = [categories[t], empty[t]]
        predicted, n_missing = one.entries_of(row), one.missing.copy()
        expected = other.learn([[text] for text in row], labels[t : t + 1])[0]
        learned = one.entries_of(row, labels[t])
        assert predicted == learned
        assert learned == {**dict.fromkeys(learned, 0.0), **_not_zero(expected)}
        assert one.missing[1] - n_missing[1] == (empty[t] == "")
        n_entries += len(learned)
    assert n_entries > 200
    np.testing.assert_array_equal(one.seen, other.seen)
    np.testing.assert_array_equal(one.statistics.totals, other.statistics.totals)
    for k, counts in one.statistics.counts.items():
        np.testing.assert_array_equal(counts, other.statistics.counts[k])


def _not_zero(inputs):
    return {place: entry for place, entry in enumerate(inputs.tolist()) if entry != 0.0}


def test_a_row_that_needs_more_inputs_or_another_class_has_no_entries_and_is_not_learned():
    encoder = Encoder([True], most_statistics=2)
    encoder.learn([[f"c{k}" for k in range(SLOTS)]], np.arange(SLOTS) % 2)
    before = encoder.statistics
    assert encoder.entries_of(["another"], 0) is None
    assert encoder.entries_of(["c1"], 2) is None
    assert encoder.statistics is before
    assert encoder.entries_of(["c1"], 1) == {1: 0.5}
    assert encoder.statistics.totals.tolist() == [SLOTS + 1.0, SLOTS / 2 + 1.0]
