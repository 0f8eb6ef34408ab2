import csv
import json
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from virtualvector.cli.main import app
from virtualvector.evaluation import all_learners, predict_then_learn
from virtualvector.features import RunningStandardScaler
from virtualvector.streams import read

VVM = Path(sys.executable).with_name("vvm")
FILES = ["errors.png", "errors.svg", "table.csv", "table.json"]


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    path = tmp_path_factory.mktemp("compare") / "rows.csv"
    random = np.random.default_rng(0)
    numbers = random.normal(size=(60, 3))
    labels = np.where(numbers[:, 0] + 0.5 * random.normal(size=60) > 0, "yes", "no")
    with path.open("w") as file:
        print("a", "outcome", "b", "c", sep=",", file=file)
        for (a, b, c), label in zip(numbers, labels, strict=True):
            print(a, label, b, c, sep=",", file=file)
    return path


def run(*arguments):
    return CliRunner().invoke(app, ["compare", *map(str, arguments)])


def table(folder):
    with (folder / "table.csv").open() as file:
        return list(csv.DictReader(file))


def test_a_users_file_gives_a_table_and_a_picture(rows, tmp_path):
    done = run(rows, "--label", "outcome", "--out", tmp_path / "new" / "folder")
    assert done.exit_code == 0, done.output
    folder = tmp_path / "new" / "folder"
    assert sorted(path.name for path in folder.iterdir()) == FILES
    assert (folder / "errors.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (folder / "errors.svg").read_text()
    records = table(folder)
    assert {record["learner"] for record in records} == set(all_learners(3))
    errors = [float(record["error"]) for record in records]
    assert errors == sorted(errors)
    for record in records:
        (line,) = (s for s in done.stdout.splitlines() if s.startswith(record["learner"] + "  "))
        assert f"{100 * float(record['error']):.2f}" in line
        assert ("–" in line) == (record["log_loss"] == "")


def test_the_table_says_what_each_learner_does_alone(rows, tmp_path):
    run(rows, "--label", "outcome", "--buffer-size", 5, "--out", tmp_path)
    stream = read(str(rows), "outcome")
    scaled = RunningStandardScaler().learn_then_transform(stream.rows)
    said = predict_then_learn(all_learners(3, buffer_size=5)["VVM"], scaled, stream.labels)
    (record,) = (record for record in table(tmp_path) if record["learner"] == "VVM")
    assert float(record["error"]) == np.mean(said.labels != stream.labels)
    probability = said.probabilities[np.arange(60), (stream.labels == "yes").astype(int)]
    assert float(record["log_loss"]) == pytest.approx(-np.log(probability).mean())


def test_the_json_says_how_it_was_made(rows, tmp_path):
    run(rows, "--label", "outcome", "--no-standardise", "--seed", 3, "--out", tmp_path)
    summary = json.loads((tmp_path / "table.json").read_text())
    learners = summary.pop("learners")
    assert summary == {
        "source": str(rows), "label": "outcome", "rows": 60, "inputs": 3,
        "classes": ["no", "yes"], "buffer_size": 30, "seed": 3, "standardised": False,
        "left_out": {},
    }  # fmt: skip
    assert [record["learner"] for record in learners] == [r["learner"] for r in table(tmp_path)]


def test_the_last_column_is_the_label_unless_another_is_named_and_this_is_said(rows, tmp_path):
    assert "Label: 'outcome', as asked; classes: no (" in run(
        rows, "--label", "outcome", "--out", tmp_path
    ).stdout  # fmt: skip
    done = run(rows, "--out", tmp_path)  # 60 different numbers are no classes
    assert done.exit_code == 2
    assert "column 'c': found 60 different values" in done.stderr


@pytest.mark.parametrize(
    "arguments", [("none.csv",), ("thyroid", "--label", "x"), ("compare.py", "--seed", "-1")]
)
def test_bad_input_leaves_with_2(arguments):
    done = run(*arguments)
    assert done.exit_code == 2
    assert done.stderr.strip()
    assert "Traceback" not in done.output


def test_bad_input_is_one_line_in_the_real_command(tmp_path):
    (tmp_path / "rows.csv").write_text("a,b,kind\n1,2,x\n3,red,y\n")
    done = subprocess.run(
        [VVM, "compare", "rows.csv"], cwd=tmp_path, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "vvm: rows.csv, line 3, column 'b': found 'red'; expected a number. Not all numbers: 'b'.\n"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["rows.csv"]


def test_two_processes_write_the_same_bytes_but_for_the_seconds(rows, tmp_path):
    vvm, there = tmp_path / "here", tmp_path / "compare-rows"
    run(rows, "--label", "outcome", "--out", vvm)
    command = [VVM, "compare", rows, "--label", "outcome"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "\x1b" not in done.stdout + done.stderr

    def made(folder):
        records = [{**record, "seconds": ""} for record in table(folder)]
        return records, *((folder / name).read_bytes() for name in ("errors.png", "errors.svg"))

    assert made(vvm) == made(there)


def test_an_interrupt_leaves_with_130_and_a_short_line(tmp_path):
    job = subprocess.Popen(
        [VVM, "compare", "spambase"], cwd=tmp_path, stderr=subprocess.PIPE, text=True
    )
    assert job.stderr.readline().startswith("Comparing")
    job.send_signal(signal.SIGINT)
    rest = job.communicate(timeout=60)[1]
    assert job.returncode == 130
    assert rest.splitlines()[-1] == "vvm: interrupted"
    assert "Traceback" not in rest
