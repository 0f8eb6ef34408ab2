import csv
import json
import signal
import subprocess

import numpy as np
import pytest
from typer.testing import CliRunner

from tests import forking
from tests.cli.conftest import COMMAND
from tests.streams.gathering import FIELDS
from virtualvector.cli.main import app
from virtualvector.evaluation import all_learners, predict_then_learn
from virtualvector.features import RunningStandardScaler
from virtualvector.streams import read

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
    options = ("--buffer-size", 5, "--learners", "ADF,VVM")
    run(rows, "--label", "outcome", *options, "--out", tmp_path)
    stream = read(str(rows), "outcome")
    scaled = RunningStandardScaler().learn_then_transform(stream.rows)
    predicted = predict_then_learn(all_learners(3, buffer_size=5)["VVM"], scaled, stream.labels)
    (record,) = (record for record in table(tmp_path) if record["learner"] == "VVM")
    assert float(record["error"]) == np.mean(predicted.labels != stream.labels)
    probability = predicted.probabilities[np.arange(60), (stream.labels == "yes").astype(int)]
    assert float(record["log_loss"]) == pytest.approx(-np.log(probability).mean())


def test_the_json_says_how_it_was_made(rows, tmp_path):
    options = ("--no-standardise", "--seed", 3, "--learners", "logistic,PA,VVM")
    run(rows, "--label", "outcome", *options, "--out", tmp_path)
    summary = json.loads((tmp_path / "table.json").read_text())
    learners = summary.pop("learners")
    assert summary == {
        "source": str(rows), "label": "outcome", "rows": 60, "skipped": 0, "columns": 3,
        "inputs": 3, "classes": ["no", "yes"], "buffer_size": 30, "seed": 3, "standardised": False,
        "left_out": {},
    }  # fmt: skip
    assert [record["learner"] for record in learners] == [r["learner"] for r in table(tmp_path)]


def test_the_last_column_is_the_label_unless_another_is_named_and_this_is_said(rows, tmp_path):
    assert "Label: 'outcome', as asked; classes: no (" in run(
        rows, "--label", "outcome", "--out", tmp_path, "--learners", "PA"
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
    (tmp_path / "rows.csv").write_text("a,b,kind\n1,2,x\n3,y\n4,5,y\n")
    done = forking.run(COMMAND, "compare", "rows.csv", cwd=tmp_path)
    assert (done.code, done.out) == (2, "")
    assert done.err == f"vvm: rows.csv, line 3: found 2 fields; expected 3{FIELDS}\n"
    assert [path.name for path in tmp_path.iterdir()] == ["rows.csv"]


@pytest.mark.processes
def test_two_processes_write_the_same_bytes_but_for_the_seconds(rows, tmp_path):
    vvm, there = tmp_path / "here", tmp_path / "compare-rows"
    run(rows, "--label", "outcome", "--out", vvm)
    done = forking.run(COMMAND, "compare", rows, "--label", "outcome", cwd=tmp_path)
    assert done.code == 0, done.err
    assert "\x1b" not in done.out + done.err

    def made(folder):
        records = [{**record, "seconds": ""} for record in table(folder)]
        return records, *((folder / name).read_bytes() for name in ("errors.png", "errors.svg"))

    assert made(vvm) == made(there)


@pytest.mark.parametrize("until", ["AutoVVM", "ADF"])
@pytest.mark.processes
def test_an_interrupt_leaves_with_130_and_what_has_finished(tmp_path, until):
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with forking.start(COMMAND, "compare", "spambase", cwd=tmp_path, **pipes) as job:
        while not job.stderr.readline().endswith(f" {until}\n"):
            pass
        job.send_signal(signal.SIGINT)
        out, rest = job.communicate()
    assert job.returncode == 130
    n_finished = {"AutoVVM": 0, "ADF": 2}[until]
    assert rest.splitlines()[-1] == (
        f"vvm: stopped by SIGINT: {n_finished} of 14 learners had finished."
    )
    assert "Traceback" not in rest
    assert ("AutoVVM  " in out) == (n_finished > 0)
    assert (tmp_path / "compare-spambase").exists() == (n_finished > 0)
    if n_finished:
        names = {record["learner"] for record in table(tmp_path / "compare-spambase")}
        assert names == {"AutoVVM", "VVM"}


def test_a_table_of_all_kinds_is_compared_by_the_learners_asked_for(vvm, tmp_path):
    rng = np.random.default_rng(0)
    lines = ["size,town,flag,kind"]
    for _ in range(150):
        kind = rng.integers(5)
        size = "" if rng.random() < 0.1 else f"{kind + 0.3 * rng.normal():.3f}"
        town = "NA" if rng.random() < 0.1 else f"town{kind % 3}"
        lines.append(f"{size},{town},{kind > 2},k{kind}")
    lines[7] = "1,2"
    (tmp_path / "rows.csv").write_text("\n".join(lines) + "\n")
    options = ("--learners", "arow, AUTOVVM,VVM,logistic", "--on-error", "skip", "--json", "-")
    done = vvm("compare", "rows.csv", *options)
    assert done.code == 0, done.err
    told = json.loads(done.out)
    assert (told["rows"], told["skipped"], told["columns"], told["left_out"]) == (149, 1, 3, {})
    errors = {record["learner"]: record["error"] for record in told["learners"]}
    assert errors.keys() == {"AROW", "AutoVVM", "VVM", "logistic"}
    assert max(errors.values()) < 0.5  # four in five would be wrong by chance
    assert "rows: 149 rows, 3 columns, 2 of them categorical." in done.err
    assert (
        "vvm: left out: rows.csv, line 8: found 2 fields; expected 4, as in the first line"
        in done.err
    )
    # The committee takes the table as vvm learn does.
    learned = vvm("learn", "rows.csv", "--on-error", "skip", "--json", "-", "-q", "--classes",
                  "k0,k1,k2,k3,k4")  # fmt: skip
    assert errors["AutoVVM"] == pytest.approx(json.loads(learned.out)["error"], abs=1 / 149)


def test_an_unknown_learner_is_told_before_anything_is_read(vvm):
    done = vvm("compare", "none.csv", "--learners", "VVM,magic")
    assert (done.code, done.out) == (2, "")
    assert "found 'magic'; expected some of AutoVVM, VVM, ADF" in done.err
