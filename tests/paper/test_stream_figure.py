"""Figures 2 to 4, in small."""

import json

import numpy as np
import pytest
from scipy.stats import ttest_1samp
from sklearn.base import clone

from tests.paper.doing import do
from virtualvector import SOGPClassifier, VVMClassifier
from virtualvector.paper.experiment import Options
from virtualvector.paper.figures2to4 import Figure2, Figure3, Figure4
from virtualvector.paper.problems import FeatureMap, Problem, load_problem
from virtualvector.paper.stream_figure import (
    ORDER,
    PAPER,
    QUICK_ROWS,
    best_features,
    best_parameters,
    curves,
)

QUICK = Options(quick=True, runs=3)


@pytest.fixture(scope="module")
def records():
    return do(Figure3(), QUICK)


@pytest.fixture(scope="module")
def summary(records):
    return Figure3().summarise(records, QUICK)


def test_streams_are_the_papers():
    assert Figure2.stream[:3] == ("spambase", 30, 143)
    assert Figure3.stream[:3] == ("thyroid", 10, 12)
    assert Figure4.stream[:3] == ("ionosphere", 30, 279)


def test_the_summary_has_its_fixed_shape(summary):
    assert set(PAPER) <= set(summary["final_error"])
    named = {"Perceptron", "Kalman", "second-order perceptron", "CW", "AROW", "logistic"}
    assert named | {"budget perceptron"} <= set(summary["final_error"])


def shares(model, rows, labels):
    """The share of errors after each row, by scikit-learn's methods, one row at a time."""
    wrong = []
    for t, (row, label) in enumerate(zip(rows[:, None], labels[:, None], strict=True)):
        wrong.append((model.predict(row)[0] if t else 0) != label[0])
        model.partial_fit(row, label, classes=[0, 1])
    return 100 * np.cumsum(wrong) / np.arange(1, len(wrong) + 1)


@pytest.mark.parametrize(
    ("learner", "model"), [("VVM", VVMClassifier(10)), ("SOGP", SOGPClassifier(budget=12))]
)
def test_curves_are_predictions_before_learning(records, learner, model):
    for order in range(2):
        mine = [
            r for r in records
            if (r["stage"], r["learner"], r.get("order")) == ("run", learner, order)
        ]  # fmt: skip
        model = clone(model).set_params(**json.loads(mine[0]["parameters"]))
        seed = [0, ORDER, order]
        rows, labels = (part[:QUICK_ROWS] for part in load_problem("thyroid").shuffled(seed))
        if learner == "VVM":
            rows = best_features(records)(rows, seed)
        expected = shares(model, rows, labels)
        assert [r["error"] for r in mine] == pytest.approx([expected[r["rows"] - 1] for r in mine])
        assert mine[-1]["rows"] == QUICK_ROWS


def test_all_learners_run_along_all_orders(records):
    for _, errors in curves(records).values():
        assert len(errors) == 3


def test_validation_and_tuning_use_other_orders_than_the_runs(monkeypatch):
    orders = {}
    shuffled = Problem.shuffled

    def remembered(problem, seed):
        orders.setdefault(stage, set()).add(tuple(shuffled(problem, seed).rows[:, 0]))
        return shuffled(problem, seed)

    monkeypatch.setattr(Problem, "shuffled", remembered)
    records = [
        {"stage": "validate", "features": 100, "bandwidth": 1.0, "error": 1.0, "log_loss": 1.0},
        {"stage": "tune", "learner": "PA", "parameters": "{}", "error": 1.0},
    ]
    for task in Figure3().plan(Options(), records):
        stage = task.arguments["stage"]
        if task.arguments.get("learner", "PA") == "PA":
            Figure3().work(task.arguments | {"rows": 20})
    assert {stage: len(found) for stage, found in orders.items()} == {
        "validate": 1, "tune": 2, "run": 10,
    }  # fmt: skip
    assert len(set.union(*orders.values())) == 13


def test_the_best_while_tuning_is_taken():
    def tried(learner, parameters, error):
        return {
            "stage": "tune", "learner": learner, "parameters": json.dumps(parameters),
            "error": error,
        }  # fmt: skip

    records = [
        tried("VVM", {"a": 1}, 5.0), tried("VVM", {"a": 2}, 4.0),
        tried("VVM", {"a": 1}, 2.0), tried("VVM", {"a": 2}, 4.0),
        tried("PA", {}, 9.0),
    ]  # fmt: skip
    assert best_parameters(records) == {"VVM": {"a": 1}, "PA": {}}


def test_features_are_those_with_the_least_validation_error():
    def tried(number, bandwidth, error, log_loss):
        return {
            "stage": "validate", "features": number, "bandwidth": bandwidth, "error": error,
            "log_loss": log_loss,
        }  # fmt: skip

    records = [tried(0, 0.0, 3.0, 0.1), tried(100, 1.0, 9.0, 0.1), tried(100, 1.0, 2.0, 0.3)]
    assert best_features(records) == FeatureMap(100, 1.0)


def test_pairs_are_compared_order_by_order(records, summary):
    ends = {learner: errors[:, -1] for learner, (_, errors) in curves(records).items()}
    pair = summary["vvm_less_baseline"]["PA"]
    assert pair["difference"] == pytest.approx(np.mean(ends["VVM"] - ends["PA"]))
    assert pair["p"] == pytest.approx(ttest_1samp(ends["VVM"] - ends["PA"], 0.0).pvalue)


def test_verdicts_follow_the_numbers(summary):
    best = dict.fromkeys(summary["final_error"], 1.0) | {"VVM": 0.5}
    verdicts = [s.holds for s in Figure3().statements(summary | {"final_error": best})]
    assert verdicts.count(True) == 4
    assert verdicts.count(None) == 1  # the paper has no window-EP here
    worst = best | {"VVM": 2.0}
    verdicts = [s.holds for s in Figure3().statements(summary | {"final_error": worst})]
    assert verdicts.count(False) == 4


def test_the_picture_names_its_axes_and_learners(records, summary):
    left, right = Figure3().draw(records, summary).axes
    assert left.get_xlabel().startswith("rows seen")
    assert left.get_ylabel().startswith("wrong so far, %")
    assert len(left.get_legend().texts) == len(PAPER)
    assert len(right.get_legend().texts) == len(summary["final_error"])
