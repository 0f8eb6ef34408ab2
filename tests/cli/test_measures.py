"""What a person needs to judge a model, by the real command on real files."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn import metrics

from virtualvector import load

FAST = ("--learner", "adf", "-q")


def rare(n_rows=1500, seed=0):
    """A table whose label is 'yes' in about one row of twenty."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 3))
    yes = X[:, 0] + 0.5 * X[:, 1] + rng.normal(0, 0.5, n_rows) > 2.0
    return pd.DataFrame(X, columns=list("abc")).assign(late=np.where(yes, "yes", "no"))


def printed(text, name):
    """Return the numbers of a line."""
    line = next(line for line in text.splitlines() if re.match(rf"{re.escape(name)}\s", line))
    return [float(number) for number in re.findall(r"\d+\.\d+", line)]


@pytest.fixture
def evaluated(vvm, tmp_path):
    """Learn, evaluate on other rows, and return what was printed, the JSON and scikit-learn's."""
    rare().to_csv(tmp_path / "rows.csv", index=False)
    test = rare(3000, seed=1)
    test.to_csv(tmp_path / "test.csv", index=False)
    assert vvm("learn", "rows.csv", "--label", "late", "--model", "m.vvm", *FAST).code == 0
    done = vvm("evaluate", "test.csv", "--model", "m.vvm", "--json", "e.json")
    assert done.code == 0
    chance = load("m.vvm").predict_proba(pd.read_csv("test.csv")[list("abc")])[:, 1]
    return done.out, json.loads(Path("e.json").read_text()), test["late"].to_numpy(), chance


def test_errors_stand_beside_those_of_guessing(evaluated):
    out, facts, labels, _ = evaluated
    share = (labels == "yes").mean()
    assert "always saying 'no'" in out
    assert printed(out, "error")[1] == pytest.approx(share, abs=1e-4)
    assert facts["base_rate"]["class"] == "no"
    assert facts["base_rate"]["error"] == pytest.approx(share)
    entropy = metrics.log_loss(labels, np.full(len(labels), share), labels=["no", "yes"])
    assert printed(out, "log-loss")[1] == pytest.approx(entropy, abs=1e-4)
    assert facts["log_loss"] < facts["base_rate"]["log_loss"] == pytest.approx(entropy)


def test_rare_classes_have_recall_precision_and_rankings(evaluated):
    out, facts, labels, chance = evaluated
    yes, predicted = labels == "yes", chance > 0.5
    found = next(each for each in facts["by_class"] if each["class"] == "yes")
    assert found["recall"] == pytest.approx(metrics.recall_score(yes, predicted))
    assert found["precision"] == pytest.approx(metrics.precision_score(yes, predicted))
    assert found["roc_auc"] == pytest.approx(metrics.roc_auc_score(yes, chance), abs=3e-3)
    exact = metrics.average_precision_score(yes, chance)
    assert found["average_precision"] == pytest.approx(exact, abs=1e-2)
    assert printed(out, "average precision")[0] == pytest.approx(exact, abs=1e-2)
    np.testing.assert_array_equal(
        facts["confusion"], metrics.confusion_matrix(labels, np.where(predicted, "yes", "no"))
    )


def test_a_table_says_where_to_cut_if_a_miss_costs_more_than_a_false_alarm(evaluated):
    out, facts, labels, chance = evaluated
    assert "When to say 'yes'" in out
    line = next(each for each in facts["cutoffs"] if each["cost_of_miss"] == 20)
    yes, predicted = labels == "yes", chance > 1 / 21
    assert line["recall"] == pytest.approx(metrics.recall_score(yes, predicted))
    cost = (predicted & ~yes).mean() + 20 * (~predicted & yes).mean()
    assert line["cost"] == pytest.approx(cost)
    assert line["cost"] < line["cost_at_half"]
    assert line["cost"] < line["cost_without_model"]
    assert f"{1000 * cost:,.1f}" in out


def test_learning_says_the_same_kind_of_thing_along_the_stream(vvm, tmp_path):
    rare().to_csv(tmp_path / "rows.csv", index=False)
    done = vvm("learn", "rows.csv", "--label", "late", "--json", "l.json", "--report", "l.html")
    facts = json.loads(Path("l.json").read_text())
    assert "always saying 'no'" in done.out
    assert np.sum(facts["confusion"]) == facts["rows"] - 1  # of the first nothing was predicted
    assert printed(done.out, "yes")[1] == pytest.approx(facts["by_class"][1]["recall"], abs=1e-3)
    assert len(facts["cutoffs"]) == 10
    page = Path("l.html").read_text()
    assert "Where is it wrong?" in page
    assert "Where to cut" in page


@pytest.mark.parametrize("n_classes", [25, 45])
def test_many_classes_have_a_confusion_matrix(vvm, tmp_path, n_classes):
    rng = np.random.default_rng(0)
    kinds = rng.integers(n_classes, size=1200)
    names = np.array([f"kind {k:02}" for k in range(n_classes)])
    table = pd.DataFrame({"x": np.cos(kinds) + 0.3 * rng.normal(size=1200), "y": np.sin(kinds)})
    table.assign(kind=names[kinds]).to_csv(tmp_path / "rows.csv", index=False)
    assert vvm("learn", "rows.csv", "--label", "kind", "--model", "m.vvm", *FAST).code == 0
    done = vvm("evaluate", "rows.csv", "--model", "m.vvm", "--json", "e.json")
    facts = json.loads(Path("e.json").read_text())
    predicted = load("m.vvm").predict(table)
    expected = metrics.confusion_matrix(names[kinds], predicted, labels=names)
    np.testing.assert_array_equal(facts["confusion"], expected)
    if n_classes == 25:
        (line,) = [x for x in done.out.splitlines() if re.match(r"8 kind 07 +[·\d]", x)][1:]
        found = line.replace("·", "0").split()[3:]
        assert [int(n) for n in found] == expected[7].tolist()
    else:
        assert "The most frequent errors" in done.out
        errors = expected - np.diag(np.diag(expected))
        assert facts["most_confused"][0]["rows"] == errors.max()
