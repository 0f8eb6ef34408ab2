"""Measures of a service, against sums that are written down one by one."""

import json
from math import log
from random import Random

import pytest

from virtualvector.evaluation import Tally
from virtualvector.serve.monitor import LATEST, SURPRISING, Monitor, predictions_of
from virtualvector.serve.store import Labelled

CLASSES = ["ham", "phish", "spam"]
DELAYS = [0.0, 1.0, 1.5, 60.0, 60.5, 3600.0, 86_400.0, 1e6, -2.0]
N_LABELS = 300


@pytest.fixture(scope="module")
def labelled():
    random = Random(5)
    rows = []
    for k in range(1, N_LABELS + 1):
        parts = [random.random() ** 4 for _ in CLASSES]
        said = {name: part / sum(parts) for name, part in zip(CLASSES, parts, strict=True)}
        learned = max(0, k - 1 - random.choice([0, 1, 9, 10, 99, 100]))
        rows.append(
            Labelled(
                k,
                f"row {k}",
                "[0.5]",
                json.dumps(said),
                learned,
                1000.0 + k,
                random.choice(CLASSES),
                1000.0 + k + random.choice(DELAYS),
            )
        )
    return rows


def monitored(rows, n_at_once):
    monitor = Monitor(Tally(tuple(CLASSES)))
    for start in range(0, len(rows), n_at_once):
        some = rows[start : start + n_at_once]
        monitor = monitor.with_labels(some, *predictions_of(some, CLASSES))
    return monitor


def age_of(row):
    n_between = row.sequence - 1 - row.learned
    if n_between == 0:
        return "none"
    return next(
        name
        for name, most in (("up to 9", 9), ("10 to 99", 99), ("100 to 999", 999))
        if n_between <= most
    )


def delay_of(row):
    seconds = row.labelled_at - row.asked_at
    bounds = {"up to a second": 1, "up to a minute": 60, "up to an hour": 3600}
    bounds |= {"up to a day": 86_400, "longer": 1e99}
    return next(name for name, most in bounds.items() if seconds <= most)


@pytest.mark.parametrize(("field", "part_of"), [("by_age", age_of), ("by_delay", delay_of)])
def test_parts_are_sums_over_the_labels_that_belong_to_them(labelled, field, part_of):
    expected = {}
    for row in labelled:
        said = json.loads(row.predicted)
        n_rows, wrong, log_loss, brier = expected.get(part_of(row), (0, 0, 0.0, 0.0))
        squares = sum((p - (name == row.label)) ** 2 for name, p in said.items())
        expected[part_of(row)] = (
            n_rows + 1,
            wrong + (max(said, key=said.get) != row.label),
            log_loss - log(said[row.label]),
            brier + squares / 2,
        )
    found = getattr(monitored(labelled, N_LABELS), field)
    assert list(found) == list(expected)  # in the order in which they came: files have it
    for name, totals in expected.items():
        assert found[name][:2] == totals[:2]
        assert found[name][2:] == pytest.approx(totals[2:], rel=1e-12)


def test_the_latest_surprises_are_remembered(labelled):
    own = [(row, json.loads(row.predicted)[row.label]) for row in labelled]
    expected = [(row.id, row.label, p, row.labelled_at) for row, p in own if p < SURPRISING]
    assert len(expected) > LATEST
    assert list(monitored(labelled, 7).surprises) == expected[-LATEST:]


@pytest.mark.parametrize("n_at_once", [1, 7, 256])
def test_however_labels_are_cut_into_calls_files_have_the_same_bytes(labelled, n_at_once):
    whole, parts = (monitored(labelled, n).as_dict() for n in (N_LABELS, n_at_once))
    assert json.dumps(parts) == json.dumps(whole)
