"""Messy tables, by the real command on real files: nothing is learned wrongly in silence."""

import numpy as np
import pandas as pd
import pytest

import virtualvector
from virtualvector import AutoVVMClassifier, Expert

FAST = ("--learner", "adf")


def table(n_rows=120, seed=0):
    rng = np.random.default_rng(seed)
    x, on = rng.normal(size=n_rows), rng.random(n_rows) < 0.5
    when = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 9000, n_rows), unit="h")
    late = x + on + 1.5 * (when.hour > 12) + rng.normal(0, 0.3, n_rows) > 1.2
    return pd.DataFrame(
        {
            "x": x.round(4),
            "on": on,
            "when": when,
            "user": [f"u{k}" for k in range(n_rows)],
            "land": "NO",
            "said": "a text that nobody would take for a category " + pd.Series(on.astype(str)),
            "late": late,
        }
    )


def predicted(vvm, *arguments):
    done = vvm("predict", *arguments, "--model", "m.vvm", "--proba")
    assert done.code == 0, done.err
    return done


def test_the_same_rows_from_any_file_give_the_same_answers(vvm):
    rows = table()
    rows.to_csv("a.csv", index=False)
    rows.to_csv("a.tsv", index=False, sep="\t")
    rows.to_json("a.jsonl", orient="records", lines=True, date_format="iso")
    rows.to_parquet("a.parquet")
    assert vvm("learn", "a.csv", *FAST, "--model", "m.vvm").code == 0
    expected = predicted(vvm, "a.csv").out
    for file in ("a.tsv", "a.jsonl", "a.parquet"):
        assert predicted(vvm, file).out == expected
    assert vvm("learn", "a.parquet", *FAST, "--model", "other.vvm").code == 0
    assert vvm("predict", "a.jsonl", "--model", "other.vvm", "--proba").out == expected


def test_values_of_categories_never_seen_are_counted_by_column(vvm):
    rows = table()
    rows.to_csv("a.csv", index=False)
    assert vvm("learn", "a.csv", *FAST, "--ignore", "user", "--model", "m.vvm").code == 0
    rows.loc[:4, "land"] = "SE"
    rows.loc[:1, "said"] = None
    rows.to_csv("b.csv", index=False)
    told = "5 values are of categories never seen in learning: 'land' (5)."
    assert told in predicted(vvm, "b.csv").err
    assert told in vvm("evaluate", "b.csv", "--model", "m.vvm").err
    assert "never seen" not in predicted(vvm, "a.csv").err


def test_what_columns_are_taken_for_is_said_before_learning(vvm):
    table().to_csv("a.csv")
    done = vvm("learn", "a.csv", *FAST)
    assert done.err.splitlines()[:8] == [
        "left out: '', which pandas has written as an index",
        "numbers: 'x' (most of the first rows have one)",
        "categories: 'on', 'user', 'land', 'said' (most of the first rows have a text or a truth "
        "value)",
        "dates and times: 'when' (most of the first rows have one)",
        "'land' is always 'NO' in the first 100 rows",
        "'user' is different in each of the first 100 rows: if it is an id, --id user hands it on, "
        "--ignore user leaves it out",
        "'said' holds texts, of which each is taken as a whole, for a category (--text said learns "
        "its words, --ignore said leaves it out)",
        "a.csv: 6 columns, 4 of them categorical. Label: 'late', the last column.",
    ]


def test_a_wide_table_is_described_in_a_few_lines(vvm):
    rows = pd.DataFrame({f"c{k}": ["a"] * 30 for k in range(300)}).assign(label=["x", "y"] * 15)
    rows.to_csv("a.csv", index=False)
    err = vvm("learn", "a.csv", *FAST).err
    assert "290 more columns that are always the same" in err
    assert len(err.splitlines()) < 30


def test_marks_of_missing_values_are_known_and_remembered(vvm):
    rows = table().astype({"x": object})
    rows.loc[:9, "x"] = ["NULL", "None", "n/a", "NaN", "#N/A", "-", "nan", "NA", "", "unknown"]
    rows.to_csv("a.csv", index=False)
    done = vvm("learn", "a.csv", *FAST, "--model", "m.vvm")
    assert done.code == 2
    assert "line 11, column 'x': found 'unknown'; expected a number" in done.err
    assert "--missing unknown" in done.err
    done = vvm("learn", "a.csv", *FAST, "--missing", "Unknown", "--model", "n.vvm")
    assert "missing values        10" in done.out
    model = virtualvector.load("n.vvm")
    assert model.missing_values == ["Unknown"]
    rows = rows.drop(columns="late")
    rows.to_csv("b.csv", index=False)
    done = vvm("predict", "b.csv", "--model", "n.vvm", "--proba")
    assert done.code == 0
    by_command = [float(line.split(",")[2]) for line in done.out.splitlines()[1:]]
    assert model.predict_proba(rows)[:, 1].tolist() == by_command


@pytest.mark.parametrize("zone", [None, "Europe/Oslo"])
def test_dates_help_where_the_hour_matters(vvm, zone):
    rows = table(400)
    rows["when"] = rows["when"].dt.tz_localize("UTC").dt.tz_convert(zone) if zone else rows["when"]
    rows.to_csv("a.csv", index=False)
    with_dates = vvm("learn", "a.csv", *FAST, "--ignore", "user", "--json", "with.json")
    without = vvm("learn", "a.csv", *FAST, "--ignore", "user,when", "--json", "without.json")
    assert with_dates.code == without.code == 0
    errors = [pd.read_json(f, typ="series")["log_loss"] for f in ("with.json", "without.json")]
    assert errors[0] < 0.75 * errors[1]


@pytest.mark.parametrize(
    ("cells", "told"),
    [
        ("03/04/2021", "a date of which day and month are in doubt"),
        ("$12.50", "a number with signs"),
        ("12.3%", "a number with signs"),
    ],
)
def test_what_is_in_doubt_is_refused_with_the_options_that_help(vvm, cells, told):
    table().assign(x=cells).to_csv("a.csv", index=False)
    done = vvm("learn", "a.csv", *FAST)
    assert done.code == 2
    assert f"column 'x': found '{cells}', {told}" in done.err
    assert "--categorical x" in done.err
    assert vvm("learn", "a.csv", *FAST, "--ignore", "x").code == 0


LABELS = {"integers": [0, 1], "truth values": [False, True], "texts": ["no", "yes"]}


@pytest.mark.parametrize("kind", LABELS)
def test_labels_are_one_thing_in_python_and_files(vvm, kind):
    rows = table().drop(columns=["user", "said"])
    labels = np.array(LABELS[kind])[rows.pop("late").astype(int)]
    one = [Expert(None, 1.0)]
    model = AutoVVMClassifier(experts=one).partial_fit(rows, labels, classes=LABELS[kind])
    model.save("m.vvm")
    rows.assign(label=labels).to_csv("a.csv", index=False)
    rows.assign(label=labels).to_parquet("a.parquet")
    for file in ("a.csv", "a.parquet"):
        done = vvm("evaluate", file, "--model", "m.vvm", "--label", "label")
        assert done.code == 0, done.err
        assert vvm("learn", file, "--model", "m.vvm", "--append").code == 0
    again = virtualvector.load("m.vvm")
    assert again.n_seen_ == 3 * len(rows)
    assert again.classes_.tolist() == LABELS[kind]
    assert again.classes_.dtype == labels.dtype
    assert vvm("learn", "a.csv", *FAST, "--model", "n.vvm").code == 0
    from_file = virtualvector.load("n.vvm").partial_fit(rows, labels)
    assert from_file.n_seen_ == 2 * len(rows)
    assert set(from_file.predict(rows)) <= {str(label).lower() for label in LABELS[kind]}


def test_labels_that_a_model_does_not_know_stop_an_append(vvm):
    rows = table(60)[["x", "on", "late"]]
    rows.to_csv("a.csv", index=False)
    assert vvm("learn", "a.csv", *FAST, "--model", "m.vvm").code == 0
    rows.astype({"late": object}).assign(late=["True", "maybe"] * 30).to_csv("b.csv", index=False)
    done = vvm("learn", "b.csv", "--model", "m.vvm", "--append")
    assert done.code == 2
    assert "line 3, column 'late': found the class 'maybe'; expected one of 'false', 'true'" in (
        done.err
    )
    assert "--new-classes" in done.err
    assert vvm("learn", "a.csv", *FAST, "--model", "n.vvm").code == 0
    assert vvm("learn", "b.csv", "--model", "n.vvm", "--append", "--new-classes").code == 0
    assert virtualvector.load("n.vvm").classes_.tolist() == ["false", "maybe", "true"]


def test_ids_are_handed_on_and_not_learned(vvm):
    rows = table()
    rows.set_index("user").to_parquet("a.parquet")
    rows.to_csv("a.csv", index=False)
    done = vvm("learn", "a.csv", *FAST, "--id", "user", "--ignore", "said,land", "--model", "m.vvm")
    assert done.code == 0
    assert list(virtualvector.load("m.vvm").feature_names_in_) == ["x", "on", "when"]
    for file in ("a.csv", "a.parquet"):
        done = predicted(vvm, file)
        lines = [line.split(",")[0] for line in done.out.splitlines()]
        assert lines == ["user", *rows["user"]]
        assert "left out" not in done.err
    done = predicted(vvm, "a.csv", "--id", "land,user")
    assert done.out.splitlines()[1].startswith("NO,u0,")
    assert vvm("predict", "a.csv", "--model", "m.vvm", "--id", "none").code == 2


def test_an_index_of_pandas_is_not_learned(vvm):
    rows = table()[["x", "on", "late"]]
    rows[rows.index != 50].to_parquet("a.parquet")  # an index that is a column of its own
    pd.read_csv(rows.to_csv("index.csv") or "index.csv").to_csv("b.csv", index=False)
    for file, name in (("a.parquet", "__index_level_0__"), ("b.csv", "Unnamed: 0")):
        done = vvm("learn", file, *FAST, "--model", f"{file}.vvm")
        assert f"left out: '{name}', which pandas has written as an index" in done.err
        assert list(virtualvector.load(f"{file}.vvm").feature_names_in_) == ["x", "on"]


def test_other_dialects_are_seen_or_said(vvm):
    rows = table()[["x", "on", "late"]].assign(name="Zoë")
    rows = rows[["x", "on", "name", "late"]]
    rows.to_csv("a.csv", index=False)
    assert vvm("learn", "a.csv", *FAST, "--model", "m.vvm").code == 0
    expected = predicted(vvm, "a.csv").out
    rows.to_csv("eu.csv", index=False, sep=";", decimal=",")
    done = predicted(vvm, "eu.csv")
    assert done.out == expected
    assert "columns are delimited by ';' (--delimiter)" in done.err
    assert "numbers are written as 1,5 (--decimal)" in done.err
    rows.to_csv("wide.csv", index=False, encoding="utf-16")
    assert predicted(vvm, "wide.csv").out == expected
    rows.to_csv("latin.csv", index=False, encoding="latin-1")
    done = vvm("predict", "latin.csv", "--model", "m.vvm")
    assert done.code == 2
    assert "--encoding" in done.err
    assert predicted(vvm, "latin.csv", "--encoding", "latin-1").out == expected
    rows.to_csv("odd.csv", index=False, sep="~", quotechar="'", quoting=1)
    done = vvm("predict", "odd.csv", "--model", "m.vvm")
    assert done.code == 2
    assert predicted(vvm, "odd.csv", "--delimiter", "~", "--quote", "'").out == expected


def test_rows_without_a_header_have_numbered_columns(vvm):
    rows = table()[["x", "on", "late"]].astype(float)
    rows.to_csv("a.csv", index=False, header=False)
    done = vvm("learn", "a.csv", *FAST, "--model", "m.vvm")
    assert done.code == 2
    assert "--no-header" in done.err
    assert vvm("learn", "a.csv", *FAST, "--model", "m.vvm", "--no-header").code == 0
    assert list(virtualvector.load("m.vvm").feature_names_in_) == ["x1", "x2"]
    assert len(predicted(vvm, "a.csv", "--no-header").out.splitlines()) == len(rows) + 1


@pytest.mark.parametrize(
    "options",
    [("--delimiter", "ab"), ("--decimal", ";"), ("--encoding", "none"), ("--quote", "''")],
)
def test_impossible_dialects_are_refused(vvm, options):
    table().to_csv("a.csv", index=False)
    done = vvm("learn", "a.csv", *options)
    assert done.code == 2
    assert done.err.startswith(f"vvm: {options[0]}: found ")
