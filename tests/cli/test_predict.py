"""`vvm predict`: a line for each row, at once."""

import csv
import io
import subprocess

import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

import virtualvector
from tests import forking
from tests.cli.conftest import COMMAND, lines_of
from virtualvector.streams import batches

FAST = ("--learner", "adf", "-q")


@pytest.fixture
def model(vvm, rows):
    """Learn a model."""
    rows()
    assert vvm("learn", "rows.csv", "--model", "m.vvm", *FAST).code == 0
    return "m.vvm"


@pytest.mark.parametrize("at_once", [batches.BATCH, 3, 1])
def test_skipped_rows_keep_their_place(vvm, model, tmp_path, monkeypatch, at_once):
    monkeypatch.setattr(batches, "BATCH", at_once)
    head, *lines = lines_of(20, seed=1)
    bad = {
        0: "1,2",
        1: "a,1,1,red,good",
        7: "1,-inf,1,red,good",
        8: "1,2",
        18: "1,2",
        19: "1,inf,2,,",
    }
    for row, line in bad.items():
        lines[row] = line
    (tmp_path / "new.csv").write_text("\n".join([head, *lines]) + "\n")
    done = vvm("predict", "new.csv", "--model", model, "--proba", "--on-error", "skip")
    assert done.code == 0
    good = [row for row in range(20) if row not in bad]
    table = pd.read_csv(io.StringIO("\n".join([head, *(lines[row] for row in good)])))
    expected = virtualvector.load(tmp_path / model).predict_proba(table.drop(columns="outcome"))
    _, *lines = csv.reader(done.out.splitlines())
    assert len(lines) == 20
    assert [row for row, cells in enumerate(lines) if cells == ["", "", ""]] == sorted(bad)
    # BLAS rounds the products of one row otherwise than those of many.
    assert [[float(p) for p in lines[row][1:]] for row in good] == pytest.approx(
        expected, rel=1e-12
    )
    assert "vvm: no prediction: new.csv, line 2: found 2 fields" in done.err
    assert done.err.endswith("vvm: 6 of 20 rows have an empty prediction.\n")


@pytest.mark.parametrize("at_once", [batches.BATCH, 3, 1])
def test_rows_without_a_prediction_have_their_ids_as_far_as_they_can_be_read(
    vvm, model, tmp_path, monkeypatch, at_once
):
    monkeypatch.setattr(batches, "BATCH", at_once)
    head, *lines = lines_of(12, seed=1)
    bad = {0: "1,2", 1: "a,1,1,red,good", 5: "1,inf,1,red,good", 6: "a,1,1,red,good", 11: "1,2"}
    lines = [f"n{row},{bad.get(row, line)}" for row, line in enumerate(lines)]
    (tmp_path / "new.csv").write_text("\n".join([f"key,{head}", *lines]) + "\n")
    done = vvm("predict", "new.csv", "--model", model, "--id", "key", "--on-error", "skip")
    assert done.code == 0, done.err
    names, *lines = csv.reader(done.out.splitlines())
    assert names == ["key", "predicted"]
    unread = (0, 11)  # of too few fields, which are not known to be which
    assert [key for key, _ in lines] == ["" if r in unread else f"n{r}" for r in range(12)]
    assert [row for row, (_, predicted) in enumerate(lines) if not predicted] == sorted(bad)


def test_an_empty_prediction_is_a_line_even_alone(vvm, model, tmp_path):
    head, *lines = lines_of(3)
    (tmp_path / "new.csv").write_text("\n".join([head, "1,2", lines[1], "1,2"]) + "\n")
    done = vvm("predict", "new.csv", "--model", model, "--on-error", "skip")
    assert len(pd.read_csv(io.StringIO(done.out))) == 3


def test_rows_of_typed_files_keep_their_place(vvm, model, tmp_path):
    table = pd.read_csv(tmp_path / "rows.csv").drop(columns="outcome")
    table.loc[[0, 300, 599], "x1"] = float("inf")
    parquet.write_table(pa.Table.from_pandas(table), tmp_path / "new.parquet")
    done = vvm("predict", "new.parquet", "--model", model, "--on-error", "skip")
    lines = done.out.splitlines()
    assert len(lines) == 601
    assert [row for row, line in enumerate(lines[1:]) if line == '""'] == [0, 300, 599]


@pytest.mark.parametrize("format", ["csv", "jsonl"])
def test_each_row_of_a_slow_pipe_is_answered_before_the_next_one_comes(model, tmp_path, format):
    table = pd.read_csv(tmp_path / "rows.csv").drop(columns="outcome").dropna().head(4)
    lines = {
        "csv": table.to_csv(index=False).splitlines(),
        "jsonl": table.to_json(orient="records", lines=True).splitlines(),
    }[format]
    known = virtualvector.load(tmp_path / model)
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    options = ("predict", "-", "--model", model, "--on-error", "skip")
    with forking.start(COMMAND, *options, cwd=tmp_path, **pipes) as run:

        def ask(line):
            print(line, file=run.stdin, flush=True)
            return run.stdout.readline().strip()  # which waits for ever if nothing is said

        assert ask(lines.pop(0)) == "predicted"
        if format == "jsonl":
            assert run.stdout.readline().strip() == known.predict(table.head(1))[0]
            table = table.iloc[1:]
        assert [ask(line) for line in lines] == known.predict(table).tolist()
        assert ask("oh,no") == '""'
        rest, told = run.communicate()
    assert (run.returncode, rest) == (0, "")
    assert told.endswith("vvm: 1 of 5 rows has an empty prediction.\n")
