"""Texts and sparse rows, by the real command."""

import csv
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather

from virtualvector import WideVVMClassifier, load

GOOD, BAD = ["splendid", "sturdy", "fits well"], ["broken", "returned it", "too small"]
QUICK = ("--covariance", "diagonal", "-q")
FILLERS = ["the", "delivery was on a", "monday,", "my cousin", "says", "blue", "box", "and tape"]


def products(n_rows=300, seed=0):
    rng = np.random.default_rng(seed)
    rows = []
    for k in range(n_rows):
        is_good = rng.random() < 0.5
        words = [*rng.choice(FILLERS, 6), rng.choice(GOOD if is_good else BAD)]
        rng.shuffle(words)
        cell = " ".join(words) if k % 23 else ""
        rows.append(
            [
                f"{rng.lognormal(3, 1):.2f}",
                rng.choice(["shoe", "hat"]),
                cell,
                "yes" if is_good else "no",
            ]
        )
    return rows


def write(path, rows, names=("price", "kind", "review", "kept")):
    with Path(path).open("w", newline="") as file:
        csv.writer(file).writerows([names, *rows])


def sparse_lines(n_rows=300, width=30_000, seed=0):
    rng = np.random.default_rng(seed)
    places = rng.choice(width, 60, replace=False) + 1
    weights = rng.normal(size=60)
    for _ in range(n_rows):
        some = np.sort(rng.choice(60, 8, replace=False))
        own = np.sort(places[some])
        label = "+1" if weights[np.isin(places, own)].sum() > 0 else "-1"
        yield " ".join([label, *(f"{place}:1" for place in own)])


def test_a_column_of_texts_is_found_learned_and_told(vvm):
    write("a.csv", products())
    written = ("--model", "m.vvm", "--json", "l.json", "--report", "r.html")
    done = vvm("learn", "a.csv", "--rank", 2, *written)
    assert done.code == 0
    assert "texts: 'review' (most of the first rows have several words" in done.err
    assert "Learner: linear, with a low-rank covariance" in done.err
    facts = json.loads(Path("l.json").read_text())
    assert facts["error"] < 0.1  # half of them by guessing
    assert isinstance(load("m.vvm"), WideVVMClassifier)
    shown = vvm("inspect", "m.vvm").out
    assert "texts" in shown
    assert "review: splendid" in shown
    assert "review: broken" in Path("r.html").read_text()


def test_texts_may_stand_beside_dates_and_times(vvm):
    days = [f"2024-01-{1 + k % 28:02}" for k in range(300)]
    rows = [[day, *row] for day, row in zip(days, products(), strict=True)]
    write("a.csv", rows, ("day", "price", "kind", "review", "kept"))
    done = vvm("learn", "a.csv", "--rank", 2, "--model", "m.vvm")
    assert done.code == 0, done.err
    assert "dates and times: 'day'" in done.err
    assert "texts: 'review'" in done.err
    done = vvm("predict", "a.csv", "--model", "m.vvm", "--proba")
    assert done.code == 0, done.err


def test_texts_may_be_taken_as_a_whole(vvm):
    write("a.csv", products(60))
    done = vvm("learn", "a.csv", "--categorical", "review", "--learner", "adf", "--model", "m.vvm")
    assert done.code == 0
    assert "Learner:" not in done.err
    assert not isinstance(load("m.vvm"), WideVVMClassifier)


def test_predictions_and_measures_are_those_of_the_model_in_python(vvm):
    rows = products()
    write("a.csv", rows[:200])
    write("b.csv", rows[200:])
    assert vvm("learn", "a.csv", "--text", "review", *QUICK, "--model", "m.vvm").code == 0
    done = vvm("predict", "b.csv", "--model", "m.vvm", "--proba")
    said = np.array([[float(p) for p in line.split(",")[1:]] for line in done.out.splitlines()[1:]])
    price, kind, review, _ = zip(*rows[200:], strict=True)
    table = {"price": [float(p) for p in price], "kind": kind, "review": review}
    np.testing.assert_array_equal(said, load("m.vvm").predict_proba(table))
    assert vvm("evaluate", "b.csv", "--model", "m.vvm", "--json", "e.json").code == 0
    kept = np.array([row[3] == "yes" for row in rows[200:]])
    error = np.mean((said[:, 1] > 0.5) != kept)
    assert json.loads(Path("e.json").read_text())["error"] == pytest.approx(error)


def test_a_service_of_sparse_rows_is_refused_in_one_line_and_leaves_nothing_behind(vvm):
    pytest.importorskip("sqlalchemy")
    Path("a.svm").write_text("+1 1:1 7:1\n-1 2:1\n" * 20)
    learn = ("learn", "a.svm", "--covariance", "diagonal", "--model", "m.vvm")
    assert vvm(*learn).code == 0
    before = sorted(path.name for path in Path().iterdir())
    done = vvm("serve", "--model", "m.vvm", "--port", "0")
    assert done.code == 2
    assert done.err.splitlines() == [
        "vvm: m.vvm: found a model of sparse rows, which is not served: a row of JSON would have "
        "to name its places. Expected one of a table, which may have texts."
    ]
    assert sorted(path.name for path in Path().iterdir()) == before


def test_a_run_over_texts_that_was_cut_short_goes_on_to_the_same_bytes(vvm):
    rows = products()
    write("a.csv", rows)
    assert vvm("learn", "a.csv", "--model", "whole.vvm", *QUICK).code == 0
    write("a.csv", rows[:130])
    assert vvm("learn", "a.csv", "--model", "parts.vvm", *QUICK).code == 0
    write("a.csv", rows)
    assert vvm("learn", "a.csv", "--model", "parts.vvm", "-q", "--resume").code == 0
    assert Path("parts.vvm").read_bytes() == Path("whole.vvm").read_bytes()
    done = vvm("learn", "a.csv", "--model", "parts.vvm", "-q", "--resume", "--rank", "3")
    assert done.code == 2
    assert "--rank 3: the model has been learned with other options" in done.err


def test_parquet_and_json_lines_say_the_same_as_csv(vvm):
    import pandas as pd

    rows = products(150)
    write("a.csv", rows)
    table = pd.read_csv("a.csv")
    table.to_parquet("a.parquet")
    table.to_json("a.jsonl", orient="records", lines=True)
    found = set()
    for name in ("a.csv", "a.parquet", "a.jsonl"):
        assert vvm("learn", name, "--label", "kept", "--model", "m.vvm", *QUICK).code == 0
        found.add(Path("m.vvm").read_bytes())
        Path("m.vvm").unlink()
    assert len(found) == 1


def test_a_very_wide_svmlight_file_is_learned_predicted_and_measured(vvm):
    lines = list(sparse_lines())
    Path("a.svm").write_text("\n".join(lines) + "\n")
    done = vvm("learn", "a.svm", "--model", "m.vvm", "--json", "l.json")
    assert done.code == 0
    assert "sparse rows: 'features'" in done.err
    assert json.loads(Path("l.json").read_text())["error"] < 0.3
    assert vvm("evaluate", "a.svm", "--model", "m.vvm", "--json", "e.json").code == 0
    assert json.loads(Path("e.json").read_text())["error"] < 0.1
    assert len(vvm("predict", "a.svm", "--model", "m.vvm").out.splitlines()) == 301
    assert "f" in vvm("inspect", "m.vvm").out


def lists_of(lines, index="int32", value="float64"):
    """The same as lists of an index and a value, in a table of Arrow's."""
    kind = pa.list_(pa.struct([("index", getattr(pa, index)()), ("value", getattr(pa, value)())]))
    labels, rows = [], []
    for line in lines:
        label, *pairs = line.split()
        labels.append(label.lstrip("+"))
        rows.append([(int(k), float(x)) for k, x in (pair.split(":") for pair in pairs)])
    return pa.table({"features": pa.array(rows, kind), "label": labels})


@pytest.mark.parametrize("index", ["int32", "uint64"])
def test_lists_in_parquet_and_arrow_give_the_bytes_of_svmlight(vvm, index):
    lines = list(sparse_lines(120, 300))
    Path("a.svm").write_text("\n".join(lines) + "\n")
    cells = [line.split() for line in lines]
    table = lists_of([" ".join([row[0], *row[:0:-1]]) for row in cells], index)  # backwards
    pq.write_table(table, "a.parquet", row_group_size=50)
    feather.write_feather(table, "a.arrow")
    pq.write_table(table[:70], "b.parquet")
    pq.write_table(table[70:], "c.parquet")
    found = set()
    for names in (["a.svm"], ["a.parquet"], ["a.arrow"], ["b.parquet", "c.parquet"]):
        options = ("--covariance", "low-rank", "--rank", "4", "-q", "--label", "label")
        done = vvm("learn", *names, *options, "--model", "m.vvm")
        assert done.code == 0, done.err
        found.add(Path("m.vvm").read_bytes())
        Path("m.vvm").unlink()
    assert len(found) == 1


def test_a_model_of_lists_predicts_files_of_other_places(vvm):
    lines = list(sparse_lines(120, 300))
    pq.write_table(lists_of(lines), "a.parquet")
    few = [line for line in lines[:9] if line.split()[1:]]
    pq.write_table(lists_of(few), "few.parquet")
    Path("few.svm").write_text("\n".join(few) + "\n")
    assert vvm("learn", "a.parquet", "--model", "m.vvm", "-q", "--rank", "3").code == 0
    said = vvm("predict", "few.parquet", "--model", "m.vvm", "--proba")
    assert said.code == 0
    assert said.out == vvm("predict", "few.svm", "--model", "m.vvm", "--proba").out


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ([(3, 1.0), (3, 2.0)], "found the index 3 twice; expected each once."),
        ([(-1, 1.0)], "found the index -1; expected indices from 0 to"),
        ([(3, float("nan"))], "found nan at the index 3; expected a finite number."),
        ([(None, 1.0)], "found an entry without an index or a value"),
        ([None], "found an entry without an index or a value"),
    ],
)
def test_lists_that_are_no_sparse_rows_are_named_by_their_row(vvm, entries, message):
    table = lists_of(sparse_lines(30, 300), "int64")
    rows = table["features"].to_pylist()
    rows[7] = [each and dict(zip(("index", "value"), each, strict=True)) for each in entries]
    table = table.set_column(0, "features", pa.array(rows, table.schema.field("features").type))
    pq.write_table(table, "a.parquet")
    done = vvm("learn", "a.parquet", "--rank", "2", "-q")
    assert done.code == 2
    assert f"a.parquet, row 8, column 'features': {message}" in done.err
    left = vvm("learn", "a.parquet", "--rank", "2", "--on-error", "skip", "--json", "l.json")
    assert left.code == 0
    assert json.loads(Path("l.json").read_text())["rows"] == 29


def test_an_index_that_is_far_too_large_and_lists_of_something_else_are_refused(vvm):
    table = lists_of(["1 3:1", "0 4000000000:1"], "int64")
    pq.write_table(table, "a.parquet")
    done = vvm("learn", "a.parquet")
    assert done.code == 2
    assert "column 'features': found the index 4000000000; expected indices below" in done.err
    pq.write_table(pa.table({"x": [[1.0], [2.0]], "label": ["a", "b"]}), "b.parquet")
    done = vvm("learn", "b.parquet")
    assert done.code == 2
    assert "column 'x': found the type list" in done.err
    assert "Traceback" not in done.err


def test_messy_svmlight_gives_the_bytes_of_the_clean_form(vvm):
    lines = list(sparse_lines(80, 300))
    messy = []
    for k, line in enumerate(lines):
        label, *pairs = line.split()
        messy += [" ".join([label, *pairs[::-1], "7777:0", f"# row {k}"]), ""]
    Path("clean.svm").write_text("\n".join([*lines, "+1 7777:1", ""]))
    Path("messy.svm").write_text("\r\n".join([*messy, "+1 7777:1"]))
    options = ("--covariance", "low-rank", "--rank", "4", "-q")
    assert vvm("learn", "clean.svm", *options, "--model", "clean.vvm").code == 0
    assert vvm("learn", "messy.svm", *options, "--model", "messy.vvm").code == 0
    assert Path("clean.vvm").read_bytes() == Path("messy.vvm").read_bytes()


def test_shuffled_sparse_rows_and_texts_are_learned(vvm):
    Path("a.svm").write_text("\n".join(sparse_lines(60, 300)) + "\n")
    write("a.csv", products(60))
    assert vvm("learn", "a.svm", "--covariance", "diagonal", "--shuffle", "-q").code == 0
    assert vvm("learn", "a.csv", "--shuffle", *QUICK).code == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--rank", "3", "--covariance", "diagonal"), "--rank is not for --covariance diagonal"),
        (("--rank", "3", "--learner", "adf", "--features", "rbf"), "not for --features rbf"),
        (("--text", "review", "--learner", "adf", "--features", "rbf"), "are learned linearly"),
        (("--learner", "vvm", "--margin-noise", "0"), "--margin-noise 0: with a covariance of low"),
        (("--text", "revue"), "found no column 'revue' (--text)"),
        (("--text", "kept", "--label", "kept"), "it is also the column of --label"),
        (("--text", "kind", "--categorical", "kind"), "it is also the column of --categorical"),
    ],
)  # fmt: skip
def test_options_that_do_not_go_together_are_told_in_one_line(vvm, options, message):
    write("a.csv", products(30))
    done = vvm("learn", "a.csv", *options)
    assert done.code == 2
    assert message in done.err
    assert "Traceback" not in done.err


def test_more_points_than_weights_are_told_in_one_line(vvm):
    Path("a.svm").write_text("\n".join(["1 6:1", "0 5:1", ""]))
    done = vvm("learn", "a.svm", "--learner", "vvm", "--covariance", "low-rank")
    assert done.code == 2
    assert "--buffer-size 30: with a covariance of low rank there are fewer points" in done.err
