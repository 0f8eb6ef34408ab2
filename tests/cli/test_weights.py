"""`vvm learn --weight`: a column that says how much each row counts."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import virtualvector
from tests.cli.conftest import lines_of
from virtualvector.cli.checkpoint import ModelFile

FAST = ("--learner", "adf")


def table(n_rows=300, seed=0):
    """Rows with a whole weight, as they are written by hand."""
    header, *lines = lines_of(n_rows, seed)
    rng = np.random.default_rng(seed + 100)
    rows = pd.DataFrame([line.split(",") for line in lines], columns=header.split(","))
    rows.insert(1, "w", rng.integers(0, 4, n_rows))
    return rows


def learn(vvm, file, *options, code=0):
    done = vvm("learn", file, *FAST, "-q", *options)
    assert done.code == code, done.err
    return done


def says(model):
    rows = table(40, seed=9).drop(columns=["w", "outcome"])
    rows[["x0", "x1", "x2"]] = rows[["x0", "x1", "x2"]].apply(pd.to_numeric)
    return virtualvector.load(model).predict_proba(rows)


@pytest.mark.parametrize("learner", [FAST, ("--learner", "vvm"), ()])
def test_whole_weights_are_rows_that_come_so_often(vvm, learner):
    rows = table()
    rows.to_csv("weighted.csv", index=False)
    rows.loc[rows.index.repeat(rows["w"])].drop(columns="w").to_csv("repeated.csv", index=False)
    # Classes stay open: when no more are taken is a matter of rows, which are fewer here.
    same = (*learner, "--classes", "good,bad", "-q")
    assert vvm("learn", "weighted.csv", "--weight", "w", "--model", "a.vvm", *same).code == 0
    assert vvm("learn", "repeated.csv", "--model", "b.vvm", *same).code == 0
    np.testing.assert_array_equal(says("a.vvm"), says("b.vvm"))
    assert virtualvector.load("a.vvm").n_seen_ == rows["w"].sum()


def test_parts_of_rows_are_learned_as_in_python(vvm):
    rows = table()
    rows["w"] = np.random.default_rng(0).uniform(0, 2.5, len(rows)).round(3)
    rows.loc[5, "w"] = 0.1 * 3 * 10  # which is a bit more than three
    rows.to_csv("a.csv", index=False)
    done = vvm("learn", "a.csv", "--weight", "w", "--model", "m.vvm", "--json", "m.json")
    assert "weights: 'w' (as asked)" in done.err
    assert "'w'" not in done.err.replace("weights: 'w' (as asked)", "")
    model = virtualvector.load("m.vvm")
    again = pd.read_csv("a.csv")
    own = virtualvector.AutoVVMClassifier(**model.get_params())
    own.predict_then_learn(
        again.drop(columns=["w", "outcome"]), again["outcome"], [], sample_weight=again["w"]
    )
    np.testing.assert_array_equal(
        model.predict_proba(again.drop(columns=["w", "outcome"])),
        own.predict_proba(again.drop(columns=["w", "outcome"])),
    )
    facts = json.loads(Path("m.json").read_text())
    assert facts["weight"] == "w"
    assert facts["rows"] == (again["w"] > 0).sum()  # each counts once, however much it weighs
    assert "w" not in facts["columns"]


def test_weights_are_the_same_from_any_format(vvm):
    rows = table()
    rows[["x0", "x1", "x2"]] = rows[["x0", "x1", "x2"]].apply(pd.to_numeric)
    rows["w"] = np.random.default_rng(1).uniform(0, 2, len(rows)).round(2)
    rows.to_csv("a.csv", index=False)
    rows.to_json("a.jsonl", orient="records", lines=True)
    rows.to_parquet("a.parquet")
    rows.to_feather("a.arrow")
    learn(vvm, "a.csv", "--weight", "w", "--model", "m.vvm")
    expected = says("m.vvm")
    for file in ("a.jsonl", "a.parquet", "a.arrow"):
        learn(vvm, file, "--weight", "w", "--model", "m.vvm")
        np.testing.assert_array_equal(says("m.vvm"), expected)


BAD = {"-1": "found -1;", "": "found no weight", "nan": "found no weight", "inf": "found inf;",
       "heavy": "found 'heavy'; expected a number from 0 on", "2e9": "found 2e+09;"}  # fmt: skip


@pytest.mark.parametrize("cell", BAD)
def test_bad_weights_are_bad_rows_by_file_line_and_column(vvm, cell):
    rows = table().astype({"w": object})
    rows.loc[17, "w"] = cell
    rows.to_csv("a.csv", index=False)
    done = learn(vvm, "a.csv", "--weight", "w", "--model", "m.vvm", code=2)
    assert f"a.csv, line 19, column 'w': {BAD[cell]}" in done.err
    done = learn(vvm, "a.csv", "--weight", "w", "--on-error", "skip", "--model", "skipped.vvm")
    assert f"left out: a.csv, line 19, column 'w': {BAD[cell]}" in done.err
    rows.drop(index=17).to_csv("b.csv", index=False)
    learn(vvm, "b.csv", "--weight", "w", "--model", "without.vvm")
    np.testing.assert_array_equal(says("skipped.vvm"), says("without.vvm"))


def test_weights_that_are_texts_are_refused_in_typed_tables(vvm):
    table().astype({"w": str}).to_parquet("a.parquet")
    done = learn(vvm, "a.parquet", "--weight", "w", code=2)
    assert "a.parquet, column 'w': found the type" in done.err
    assert "expected numbers, which weights are" in done.err


def test_a_column_is_one_thing_only(vvm):
    table().to_csv("a.csv", index=False)
    for option in ("--label", "--ignore", "--id", "--categorical"):
        done = learn(vvm, "a.csv", "--weight", "w", option, "w", code=2)
        assert "--weight w: it is also the column of --" in done.err
        assert option in done.err
    done = learn(vvm, "a.csv", "--weight", "v", code=2)
    assert "found no column 'v' (--weight;" in done.err
    # The last column is not taken for the label if it has the weights.
    rows = table()[["x0", "x1", "outcome", "w"]]
    rows.to_csv("b.csv", index=False)
    learn(vvm, "b.csv", "--weight", "w", "--json", "b.json")
    assert json.loads(Path("b.json").read_text())["label"] == "outcome"


def test_models_know_the_column_of_weights(vvm):
    rows = table()
    rows.to_csv("a.csv", index=False)
    learn(vvm, "a.csv", "--weight", "w", "--model", "m.vvm")
    for verb in (("predict",), ("evaluate",)):
        done = vvm(*verb, "a.csv", "--model", "m.vvm")
        assert done.code == 0
        assert "left out" not in done.err
    rows.drop(columns="w").to_csv("b.csv", index=False)
    assert vvm("predict", "b.csv", "--model", "m.vvm").code == 0

    def append(file, *options):
        learn(vvm, "a.csv", "--weight", "w", "--model", "n.vvm")
        done = vvm("learn", file, "--model", "n.vvm", "--append", "-q", *options)
        return done, virtualvector.load("n.vvm").n_seen_

    done, n_seen = append("a.csv")
    assert done.code == 0
    assert n_seen == 2 * rows["w"].sum()
    done, _ = append("b.csv")
    assert done.code == 2
    assert "found no column 'w' (--weight; --weight '' does without)" in done.err
    done, n_seen = append("b.csv", "--weight", "")
    assert done.code == 0
    assert n_seen == rows["w"].sum() + len(rows)
    done, _ = append("a.csv", "--weight", "x0")
    assert done.code == 2
    assert "--weight x0: the model has learned it as an input" in done.err


@pytest.mark.parametrize("shuffle", [(), ("--shuffle", "--seed", 3)])
def test_a_weighted_run_that_was_cut_short_goes_on_to_the_same_bytes(vvm, monkeypatch, shuffle):
    rows = table(2500)
    rows["w"] = np.random.default_rng(0).uniform(-0.5, 2.5, len(rows)).clip(0).round(2)
    rows.to_csv("rows.csv", index=False)
    run = ("rows.csv", "--weight", "w", *shuffle)
    learn(vvm, *run, "--model", "whole.vvm")

    n_saved = 0
    save = ModelFile.save

    def failing(self, checkpoint):
        nonlocal n_saved
        n_saved += 1
        if n_saved > 3:
            raise OSError("no more")
        save(self, checkpoint)

    with monkeypatch.context() as patch:
        patch.setattr(ModelFile, "save", failing)
        cut = vvm("learn", *run, *FAST, "-q", "--checkpoint-every", 300, "--model", "m.vvm")
        assert cut.code == 1
    assert 0 < virtualvector.load("m.vvm").n_seen_ < virtualvector.load("whole.vvm").n_seen_
    done = vvm("learn", "rows.csv", "--model", "m.vvm", "--resume", "-q")
    assert done.code == 0, done.err
    assert Path("m.vvm").read_bytes() == Path("whole.vvm").read_bytes()


def test_other_weights_are_another_source(vvm):
    rows = table()
    rows.to_csv("a.csv", index=False)
    learn(vvm, "a.csv", "--weight", "w", "--model", "m.vvm")
    done = vvm("learn", "a.csv", "--model", "m.vvm", "--resume", "--weight", "x0")
    assert done.code == 2
    assert "--weight x0: the run began with --weight w" in done.err
    rows["w"] += 1
    rows.to_csv("a.csv", index=False)
    done = vvm("learn", "a.csv", "--model", "m.vvm", "--resume")
    assert done.code == 2
    assert "not the source" in done.err


def test_rows_of_weight_zero_decide_nothing(vvm):
    rows = table(1200)
    rows.loc[1100, ["outcome", "w"]] = ["strange", 0]  # of a class that may not come any more
    rows.to_csv("a.csv", index=False)
    learn(vvm, "a.csv", "--weight", "w", "--model", "m.vvm")
    assert virtualvector.load("m.vvm").classes_.tolist() == ["bad", "good"]
    rows["w"] = 0
    rows.to_csv("a.csv", index=False)
    assert "nothing was learned" in learn(vvm, "a.csv", "--weight", "w", code=3).err


def test_a_class_may_come_within_the_first_thousand_rows_whatever_they_weigh(vvm):
    rows = table(1500)
    rows["w"] = 7
    rows.loc[990, "outcome"] = "late"
    rows.to_csv("a.csv", index=False)
    learn(vvm, "a.csv", "--weight", "w", "--model", "m.vvm")
    assert virtualvector.load("m.vvm").classes_.tolist() == ["bad", "good", "late"]
    rows.loc[1200, "outcome"] = "later"
    rows.to_csv("b.csv", index=False)
    assert "found the class 'later'" in learn(vvm, "b.csv", "--weight", "w", code=2).err


def alike(one, other):
    """Whether two nodes of JSON are the same up to rounding."""
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(alike(one[k], other[k]) for k in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(alike, one, other))
    return one == other if isinstance(one, str | None) else np.allclose(one, other, 1e-9, 1e-12)


@pytest.mark.parametrize("scale", [1, 0.25])
def test_weighted_figures_are_those_of_rows_that_come_so_often(vvm, scale):
    rows = table(400)
    rows.to_csv("learned.csv", index=False)
    learn(vvm, "learned.csv", "--model", "m.vvm", "--ignore", "w")
    rows = table(300, seed=4)
    repeated = rows.loc[rows.index.repeat(rows["w"])].drop(columns="w")
    repeated.to_csv("repeated.csv", index=False)
    rows["w"] = rows["w"] * scale
    rows.to_csv("weighted.csv", index=False)
    as_file = ("--model", "m.vvm", "--json")
    assert vvm("evaluate", "repeated.csv", *as_file, "b.json").code == 0
    done = vvm("evaluate", "weighted.csv", "--weight", "w", *as_file, "a.json")
    assert done.code == 0, done.err
    assert "counted so, by 'w'" in done.out
    found, expected = (json.loads(Path(f"{name}.json").read_text()) for name in "ab")
    assert found["rows"] == (rows["w"] > 0).sum()
    assert found["weight"] == "w"
    assert found["total_weight"] == pytest.approx(scale * expected["rows"], rel=1e-12)
    for facts in (found, expected):
        del facts["label_runs" if facts is expected else "weight"]
        rows = [facts.pop("confusion"), [each.pop("rows") for each in facts["by_class"]]]
        rows.append([each.pop("rows") for each in facts.pop("most_confused")])
        facts["shares"] = [
            np.array(each) / facts.get("total_weight", len(repeated)) for each in rows
        ]
    for name in expected.keys() - {"rows"}:
        assert alike(found[name], expected[name]), name


def test_weighted_figures_are_those_of_scikit_learn(vvm):
    from sklearn.metrics import brier_score_loss, log_loss, recall_score, zero_one_loss

    table(400).to_csv("learned.csv", index=False)
    learn(vvm, "learned.csv", "--weight", "w", "--model", "m.vvm")
    rows = table(300, seed=4)
    rows["w"] = np.random.default_rng(2).uniform(0, 1e-3, len(rows))
    rows.to_csv("a.csv", index=False)
    evaluated = vvm("evaluate", "a.csv", "--weight", "w", "--model", "m.vvm", "--json", "a.json")
    assert evaluated.code == 0, evaluated.err
    found = json.loads(Path("a.json").read_text())
    assert vvm("predict", "a.csv", "--model", "m.vvm", "--proba", "--output", "p.csv").code == 0
    predicted, truth, weights = pd.read_csv("p.csv"), rows["outcome"], rows["w"]
    good = predicted["p(good)"]
    assert found["error"] == pytest.approx(
        zero_one_loss(truth, predicted["predicted"], sample_weight=weights)
    )
    assert found["log_loss"] == pytest.approx(
        log_loss(truth, predicted[["p(bad)", "p(good)"]], sample_weight=weights)
    )
    assert found["brier"] == pytest.approx(
        brier_score_loss(truth == "good", good, sample_weight=weights)
    )
    recalls = recall_score(truth, predicted["predicted"], average=None, sample_weight=weights)
    assert [each["recall"] for each in found["by_class"]] == pytest.approx(recalls.tolist())


def test_a_weight_to_evaluate_by_is_no_input_and_no_zero(vvm):
    rows = table(200)
    rows.to_csv("a.csv", index=False)
    learn(vvm, "a.csv", "--weight", "w", "--model", "m.vvm")
    done = vvm("evaluate", "a.csv", "--weight", "x0", "--model", "m.vvm")
    assert done.code == 2
    assert "--weight x0: the model has learned it as an input" in done.err
    rows.assign(w=0).to_csv("a.csv", index=False)
    done = vvm("evaluate", "a.csv", "--weight", "w", "--model", "m.vvm")
    assert done.code == 3
    assert "has a weight of 0; nothing was measured" in done.err
