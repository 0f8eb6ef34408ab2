"""Predictions against the rank of the covariance, in small."""

import numpy as np
import pytest

from tests.paper.doing import do
from tests.posterior.dense_low_rank import diagonal_adf
from virtualvector import ADFClassifier
from virtualvector.paper.experiment import Options
from virtualvector.paper.rank import FULL, MARGIN_NOISE, QUICK_ROWS, STREAMS, Rank, features

QUICK = Options(quick=True)


@pytest.fixture(scope="module")
def records():
    return do(Rank(), QUICK)


@pytest.fixture(scope="module")
def summary(records):
    return Rank().summarise(records, QUICK)


def loss(records, data, order, rank):
    (found,) = (
        r["log_loss"] for r in records
        if (r["data"], r["order"], r["rank"]) == (data, order, rank)
    )  # fmt: skip
    return found


def test_the_left_end_is_a_precision_for_each_weight(records):
    rows, labels = features("ionosphere", [0, 1], QUICK_ROWS)
    biased = np.hstack([rows, np.ones((QUICK_ROWS, 1))])
    _, _, evidence = diagonal_adf(biased, 2.0 * labels - 1.0, MARGIN_NOISE)
    assert loss(records, "ionosphere", 1, 0) == pytest.approx(-evidence / QUICK_ROWS)


def test_the_right_end_is_a_full_covariance(records):
    rows, labels = features("digits", [0, 0], QUICK_ROWS)
    model = ADFClassifier(margin_noise=MARGIN_NOISE).partial_fit(rows, labels, classes=[0, 1])
    assert loss(records, "digits", 0, FULL) == pytest.approx(-model.log_evidence_ / QUICK_ROWS)


def test_the_way_begins_at_rank_zero_and_ends_at_the_full_covariance(summary):
    for data in STREAMS:
        assert list(summary["log_loss"][data]) == ["0", "5", "full"]
        closed = summary["closed"][data]
        assert closed["0"] == 0.0
        assert closed["full"] == pytest.approx(1.0)


def test_a_rank_that_predicts_worse_beyond_noise_is_named(records):
    worse = [
        r | {"log_loss": r["log_loss"] + (r["rank"] == 5 and r["data"] == "digits")}
        for r in records
    ]
    found = Rank().summarise(worse, QUICK)
    assert found["steps"]["digits"]["up"] == ["5"]
    (statement,) = (s for s in Rank().statements(found) if "Digits" in s.paper)
    assert statement.holds is False
    assert "beyond noise: 5." in statement.ours


def test_the_picture_names_its_axes_and_streams(records, summary):
    figure = Rank().draw(records, summary)
    assert len(figure.axes) == 2 * len(STREAMS)
    assert figure.axes[0].get_ylabel() == "log-loss, nats per row"
    assert figure.axes[-1].get_xlabel() == "rank"
    titles = [axes.get_title() for axes in figure.axes[: len(STREAMS)]]
    assert all(
        stream.title in title for stream, title in zip(STREAMS.values(), titles, strict=True)
    )
