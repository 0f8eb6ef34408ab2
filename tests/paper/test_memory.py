"""Predictions against buffer size, in small."""

import numpy as np
import pytest

from tests.paper.doing import do
from virtualvector import ADFClassifier, EPClassifier
from virtualvector.paper.experiment import Options
from virtualvector.paper.memory import QUICK_ROWS, SETTINGS, WAYS, Memory
from virtualvector.paper.problems import FeatureMap, load_problem, typical_distance

QUICK = Options(quick=True)


@pytest.fixture(scope="module")
def records():
    return do(Memory(), QUICK)


@pytest.fixture(scope="module")
def summary(records):
    return Memory().summarise(records, QUICK)


def stream(data, order):
    setting = SETTINGS[data]
    rows, labels = (part[:QUICK_ROWS] for part in load_problem(data).shuffled([0, order]))
    return FeatureMap(setting.n_features, typical_distance(data))(rows, [0, order]), labels


@pytest.mark.parametrize("data", list(SETTINGS))
def test_the_left_end_is_adf(records, data):
    for order in (0, 1):
        rows, labels = stream(data, order)
        model = ADFClassifier(margin_noise=SETTINGS[data].margin_noise)
        model.partial_fit(rows, labels, classes=[0, 1])
        found = {
            r["log_loss"] for r in records
            if (r["data"], r["order"], r["buffer_size"]) == (data, order, 0)
        }  # fmt: skip
        assert len(found) == 1
        assert found.pop() == pytest.approx(-model.log_evidence_ / QUICK_ROWS)


def test_the_right_end_is_ep_after_every_row(records):
    rows, labels = stream("thyroid", 0)
    model = EPClassifier(margin_noise=SETTINGS["thyroid"].margin_noise)
    predictions = [0.5]
    for t in range(1, QUICK_ROWS):
        model.partial_fit(rows[t - 1 : t], labels[t - 1 : t], classes=[0, 1])
        predictions.append(model.predict_proba(rows[t : t + 1])[0, labels[t]])
    found = [
        r["log_loss"] for r in records
        if (r["data"], r["order"], r["buffer_size"]) == ("thyroid", 0, QUICK_ROWS)
    ]  # fmt: skip
    assert found == pytest.approx([-np.mean(np.log(predictions))] * len(WAYS), abs=1e-6)


def test_the_way_from_adf_to_ep_is_gone_at_the_end(summary):
    for data in SETTINGS:
        for way in WAYS:
            closed = list(summary["closed"][data][way].values())
            assert closed[0] == 0.0
            assert closed[-1] == pytest.approx(1.0)
            losses = list(summary["log_loss"][data][way].values())
            expected = (losses[0] - losses[1]) / (losses[0] - losses[-1])
            assert closed[1] == pytest.approx(expected)


def test_bars_are_standard_errors_of_differences_from_ep(records, summary):
    of = {
        (r["order"], r["buffer_size"]): r["error"]
        for r in records if (r["data"], r["way"]) == ("ionosphere", "VVM")
    }  # fmt: skip
    differences = [of[order, 5] - of[order, QUICK_ROWS] for order in (0, 1)]
    assert summary["bars"]["error"]["ionosphere"]["VVM"]["5"] == pytest.approx(
        np.std(differences, ddof=1) / np.sqrt(2)
    )


def test_the_picture_names_its_axes_and_ways(records, summary):
    figure = Memory().draw(records, summary)
    assert len(figure.axes) == 9
    assert figure.axes[0].get_ylabel() == "error, % of rows"
    assert figure.axes[3].get_ylabel() == "log-loss, nats per row"
    assert figure.axes[6].get_xlabel() == "points kept"
    assert len(figure.axes[0].get_legend().texts) == len(WAYS)
