"""`vvm learn` and the verbs that read what it wrote."""

import gzip
import json
import subprocess

import numba
import numpy as np
import pandas as pd
import pytest
from sklearn import metrics
from typer.testing import CliRunner

import virtualvector
from tests import forking
from tests.cli.conftest import COMMAND, learned_rows, lines_of, on_terminal, until
from virtualvector import AutoVVMClassifier, Expert
from virtualvector.cli.console import compilation_notice
from virtualvector.cli.main import app
from virtualvector.cli.run import two_rows, warm_up_heirs
from virtualvector.jit.listener import on_first_compilation
from virtualvector.streams import Column

FAST = ("--learner", "adf")


def test_from_a_csv_to_probabilities(vvm, rows, tmp_path):
    rows()
    learned = vvm("learn", "rows.csv", "--model", "m.vvm", "--json", "m.json")
    assert learned.code == 0
    assert "Label: 'outcome', the last column" in learned.err
    assert "error" in learned.out
    told = json.loads((tmp_path / "m.json").read_text())
    for name in (
        "rows", "error", "log_loss", "brier", "calibration_error", "rows_per_second", "bytes",
        "evicted", "merged", "seconds",
    ):  # fmt: skip
        assert told[name] >= 0
    assert told["rows"] == 600
    assert told["error"] < 0.3
    # The library reads the same file, and learns the same from the same rows.
    table = pd.read_csv(tmp_path / "rows.csv")
    model = virtualvector.load(tmp_path / "m.vvm")
    same = AutoVVMClassifier(categorical_features=[3], n_classes=2)
    stated = same.predict_then_learn(table.drop(columns="outcome"), table["outcome"], classes=[])
    assert np.array_equal(
        model.predict_proba(table.drop(columns="outcome")),
        same.predict_proba(table.drop(columns="outcome")),
    )
    assert told["error"] == pytest.approx((stated.labels != table["outcome"]).mean(), abs=3 / 600)
    # Predictions: columns by name in any order, with or without the label.
    table[["colour", "x2", "x0", "x1"]].to_csv(tmp_path / "new.csv", index=False)
    one = vvm("predict", "rows.csv", "--model", "m.vvm", "--proba")
    other = vvm("predict", "new.csv", "--model", "m.vvm", "--proba", "--output", "said.csv")
    assert (one.code, other.code) == (0, 0)
    assert one.out == (tmp_path / "said.csv").read_text()
    predicted = pd.read_csv(tmp_path / "said.csv", dtype=str)  # and not nearly the same number
    assert np.array_equal(
        predicted[["p(bad)", "p(good)"]].to_numpy().astype(float),
        model.predict_proba(table.drop(columns="outcome")),
    )
    assert (predicted["predicted"] == model.predict(table.drop(columns="outcome"))).all()


def test_evaluation_agrees_with_scikit_learn(vvm, rows, tmp_path):
    rows()
    rows(500, "test.csv", seed=1)
    assert vvm("learn", "rows.csv", "--model", "m.vvm", "--quiet", *FAST) == (0, "", "")
    before = (tmp_path / "m.vvm").read_bytes()
    done = vvm("evaluate", "test.csv", "--model", "m.vvm", "--json", "-")
    assert done.code == 0
    told = json.loads(done.out[done.out.index("{") :])
    table = pd.read_csv(tmp_path / "test.csv")
    proba = virtualvector.load(tmp_path / "m.vvm").predict_proba(table.drop(columns="outcome"))
    labels = np.array(["bad", "good"])[proba.argmax(axis=1)]
    assert told["error"] == pytest.approx((labels != table["outcome"]).mean())
    assert told["log_loss"] == pytest.approx(metrics.log_loss(table["outcome"], proba))
    assert told["confusion"] == metrics.confusion_matrix(table["outcome"], labels).tolist()
    assert (tmp_path / "m.vvm").read_bytes() == before


def test_inspection_tells_what_is_in_a_model(vvm, rows, tmp_path):
    rows()
    vvm("learn", "rows.csv", "--model", "m.vvm", "--learner", "vvm", "--buffer-size", "7")
    done = vvm("inspect", "m.vvm")
    assert done.code == 0
    for text in ("rows learned", "600", "bad, good", "x0", "colour = red", "7 points", "95 %"):
        assert text in done.out
    # The strongest column leads: x0 has the largest weight in how the rows were made.
    table = done.out.partition("The most certain")[2].splitlines()
    assert table[2].startswith("x0")
    model = virtualvector.VVMClassifier(5).fit([[0.0, 1.0], [2.0, 1.0], [1.0, 0.0]], [0, 1, 2])
    model.save(tmp_path / "p.vvm")
    assert vvm("inspect", "p.vvm").code == 0


def test_a_single_class_is_certain(vvm, tmp_path):
    (tmp_path / "one.csv").write_text("a,y\n1,x\n2,x\n3,x\n")
    assert vvm("learn", "one.csv", "--model", "m.vvm", "--report", "m.html", "-q").code == 3
    assert vvm("inspect", "m.vvm").code == 0
    assert vvm("predict", "one.csv", "--model", "m.vvm", "--proba").out == (
        "predicted,p(x)\n" + "x,1.0\n" * 3
    )


def test_a_table_row_at_powers_of_two_without_colours(vvm, rows, monkeypatch):
    rows(300)
    monkeypatch.setenv("NO_COLOR", "")
    done = vvm("learn", "rows.csv", *FAST)
    lines = [line.split()[0] for line in done.err.splitlines()[-9:]]
    assert lines == ["1", "2", "4", "8", "16", "32", "64", "128", "256"]
    assert "\x1b" not in done.out + done.err


@pytest.mark.parametrize("learner", ["vvm", "adf", "window-ep"])
@pytest.mark.parametrize("features", ["linear", "rbf"])
def test_every_learner_learns(learner, features):
    arguments = f"learn thyroid --learner {learner} --features {features} --json - -q"
    done = CliRunner().invoke(app, arguments.split())
    assert done.exit_code == 0
    assert json.loads(done.stdout)["error"] < 0.15


def test_the_learner_is_the_one_of_the_library(vvm, tmp_path):
    done = vvm(
        "learn", "ionosphere", "--learner", "window-ep", "--buffer-size", "5", "--model", "m.vvm"
    )
    assert done.code == 0
    (expert,) = virtualvector.load(tmp_path / "m.vvm").experts_
    assert (expert["buffer_size"], expert["eviction"], expert["merge_pairs"]) == (5, "oldest", 0)


def test_with_label_noise_adf_learns_beside_vvm_unless_told_otherwise(vvm, tmp_path):
    noisy = ("learn", "ionosphere", "--learner", "vvm", "--label-noise", "0.05", "-q")
    assert vvm(*noisy, "--model", "both.vvm").code == 0
    experts = virtualvector.load(tmp_path / "both.vvm").experts_
    assert [(e["buffer_size"], e["merge_pairs"], e["label_noise"]) for e in experts] == [
        (30, 5, 0.05), (0, 0, 0.05)
    ]  # fmt: skip
    assert vvm(*noisy, "--no-hedge", "--model", "alone.vvm").code == 0
    (expert,) = virtualvector.load(tmp_path / "alone.vvm").experts_
    assert expert["buffer_size"] == 30
    other = vvm(*noisy, "--model", "alone.vvm", "--resume")
    assert other.code == 2
    assert "other options" in other.err
    assert vvm(*noisy, "--no-hedge", "--model", "alone.vvm", "--resume").code == 0


@pytest.mark.parametrize("learner", ["auto", "adf", "window-ep"])
def test_only_vvm_is_hedged(vvm, learner):
    done = vvm("learn", "ionosphere", "--learner", learner, "--no-hedge")
    assert done.code == 2
    assert f"--hedge is not for --learner {learner}" in " ".join(done.err.split())


def test_a_hedge_that_there_is_not_is_not_promised(vvm):
    options = ("--learner", "vvm", "--covariance", "diagonal", "--label-noise", "0.05", "-q")
    done = vvm("learn", "ionosphere", *options, "--hedge")
    assert done.code == 2
    assert "--hedge: with a covariance of low rank vvm learns alone" in " ".join(done.err.split())
    assert vvm("learn", "ionosphere", *options).code == 0


def test_several_files_and_globs_are_one_stream(vvm, tmp_path):
    lines = list(lines_of(300))
    (tmp_path / "all.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "part1.csv").write_text("\n".join(lines[:150]) + "\n")
    (tmp_path / "part2.csv").write_text("\n".join([lines[0], *lines[150:]]) + "\n")
    for name, source in {
        "a": ["all.csv"],
        "b": ["part1.csv", "part2.csv"],
        "c": ["part?.csv"],
    }.items():
        assert vvm("learn", *source, "--model", f"{name}.vvm", "-q", *FAST).code == 0
    piped = vvm(
        "learn", "-", "--model", "d.vvm", "-q", *FAST, stdin=(tmp_path / "all.csv").read_text()
    )
    assert piped.code == 0
    assert len({(tmp_path / f"{name}.vvm").read_bytes() for name in "abcd"}) == 1


def test_a_pipe_is_learned_as_it_arrives(tmp_path):
    arguments = ("learn", "-", "--model", "m.vvm", "--checkpoint-every", "100", "-q", *FAST)
    lines = [line + "\n" for line in lines_of(300)]
    with forking.start(COMMAND, *arguments, cwd=tmp_path, stdin=subprocess.PIPE) as run:
        run.stdin.writelines(lines[:252])
        run.stdin.flush()
        until(lambda: (tmp_path / "m.vvm").exists() and learned_rows(tmp_path / "m.vvm") == 200)
        run.stdin.writelines(lines[252:])
    assert run.returncode == 0
    assert learned_rows(tmp_path / "m.vvm") == 300


def test_a_slow_pipe_is_learned_by_what_came_within_a_second(vvm, tmp_path):
    options = ("learn", "-", "--model", "m.vvm", "--checkpoint-every", "1", *FAST)
    pipes = {"stdin": subprocess.PIPE, "stderr": subprocess.PIPE}
    lines = [line + "\n" for line in lines_of(9)]
    with forking.start(COMMAND, *options, cwd=tmp_path, **pipes) as run:
        run.stdin.writelines(lines[:8])
        run.stdin.write(lines[8][:5])  # a writer with a buffer cuts anywhere
        run.stdin.flush()
        assert [run.stderr.readline() for _ in range(3)] == [
            "numbers: 'x0', 'x1', 'x2' (most of the first rows have one)\n",
            "categories: 'colour' (most of the first rows have a text or a truth value)\n",
            "standard input: 4 columns, 1 of them categorical, by the 7 rows that came within a "
            "second. Label: 'outcome', the last column.\n",
        ]
        until(lambda: (tmp_path / "m.vvm").exists() and learned_rows(tmp_path / "m.vvm") == 7)
        run.stdin.write(lines[8][5:] + lines[9])
        run.communicate()
    assert run.returncode == 0
    # How rows came changes nothing but the rows that decide, which here say the same.
    (tmp_path / "rows.csv").write_text("".join(lines))
    assert vvm("learn", "rows.csv", "--model", "f.vvm", "-q", *FAST).code == 0
    assert (tmp_path / "m.vvm").read_bytes() == (tmp_path / "f.vvm").read_bytes()


# --- what is wrong with rows ---

BAD_ROWS = {
    "1.0,2.0,red,good": "found 4 fields; expected 5",
    "1.0,abc,3.0,red,good": "column 'x1': found 'abc'; expected a number",
    "1.0,inf,3.0,red,good": "column 'x1': found inf; expected a finite number",
    "1.0,2.0,3.0,red,": "column 'outcome': found no label, or NA; expected a class",
}


@pytest.mark.parametrize("bad", BAD_ROWS)
def test_a_bad_row_is_named_and_what_was_learned_is_kept(vvm, tmp_path, bad):
    lines = list(lines_of(400))
    lines[250] = bad
    (tmp_path / "rows.csv").write_text("\n".join(lines) + "\n")
    done = vvm("learn", "rows.csv", "--model", "m.vvm", *FAST, "-q")
    assert done.code == 2
    assert done.err.startswith("vvm: rows.csv, line 251")
    assert BAD_ROWS[bad] in done.err
    assert done.err.count("\n") == 1
    assert learned_rows(tmp_path / "m.vvm") == 249
    skipping = vvm("learn", "rows.csv", "--model", "s.vvm", *FAST, "-q", "--on-error", "skip")
    assert skipping.code == 0
    assert "line 251" in skipping.err
    assert learned_rows(tmp_path / "s.vvm") == 399


def test_bytes_that_are_no_text(vvm, tmp_path):
    text = "\n".join(lines_of(300)).encode()
    lines = text.split(b"\n")
    lines[200] = lines[200].replace(b",", b",\xff", 1)
    (tmp_path / "rows.csv").write_bytes(b"\n".join(lines))
    done = vvm("learn", "rows.csv", "--model", "m.vvm", *FAST, "-q")
    assert done.code == 2
    assert "rows.csv, line 201" in done.err
    assert learned_rows(tmp_path / "m.vvm") == 199


def test_a_class_that_comes_late_is_a_bad_row(vvm, tmp_path):
    lines = list(lines_of(1500))
    lines[1300] = "1.0,2.0,3.0,red,ugly"
    (tmp_path / "rows.csv").write_text("\n".join(lines) + "\n")
    done = vvm("learn", "rows.csv", "--model", "m.vvm", *FAST, "-q")
    assert done.code == 2
    assert "rows.csv, line 1301, column 'outcome': found the class 'ugly'" in done.err
    assert learned_rows(tmp_path / "m.vvm") == 1299
    skipping = vvm("learn", "rows.csv", "--model", "s.vvm", *FAST, "--on-error", "skip")
    assert skipping.code == 0
    assert learned_rows(tmp_path / "s.vvm") == 1499
    declared = vvm("learn", "rows.csv", "--classes", "bad,good", "-q", *FAST)
    assert declared.code == 2
    for option in (("--new-classes",), ("--classes", "bad,good,ugly")):
        assert vvm("learn", "rows.csv", *option, "--model", "n.vvm", "-q", *FAST).code == 0
        assert len(virtualvector.load(tmp_path / "n.vvm").classes_) == 3


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    """Return a folder with rows.csv and m.vvm, to read only."""
    folder = tmp_path_factory.mktemp("learned")
    (folder / "rows.csv").write_text("\n".join(lines_of(200)) + "\n")
    arguments = ("learn", "rows.csv", "--model", "m.vvm", "-q", *FAST)
    assert forking.run(COMMAND, *arguments, cwd=folder).code == 0
    return folder


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("learn", "none.csv"), "none.csv"),
        (("learn", "rows.csv", "--model", "none/m.vvm"), "no folder none"),
        (("learn", "rows.csv", "--label", "age"), "no column 'age'"),
        (("learn", "thyroid", "--model", "rows.csv", "--resume"), "rows.csv"),
        (("predict", "rows.csv", "--model", "none.vvm"), "none.vvm"),
        (("predict", "rows.csv", "--model", "rows.csv"), "rows.csv"),
        (("evaluate", "thyroid", "--model", "m.vvm"), "column"),
        (("inspect", "rows.csv"), "rows.csv"),
    ],
)
def test_what_cannot_be_is_one_line(learned, arguments, words, monkeypatch):
    monkeypatch.chdir(learned)
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 2
    assert done.stderr.splitlines()[-1].startswith("vvm: ")
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_columns_are_reported_by_name(vvm, learned, tmp_path):
    table = pd.read_csv(learned / "rows.csv")
    table.drop(columns="x1").to_csv(tmp_path / "fewer.csv", index=False)
    table.assign(weight=1).to_csv(tmp_path / "more.csv", index=False)
    fewer = vvm("predict", "fewer.csv", "--model", learned / "m.vvm")
    more = vvm("predict", "more.csv", "--model", learned / "m.vvm")
    assert (fewer.code, more.code) == (2, 0)
    assert "found no column 'x1'" in fewer.err
    assert "left out: 'weight', which the model does not have" in more.err


def test_a_closed_pipe_is_nothing_to_speak_of(rows, learned, tmp_path):
    rows(9000)
    options = ("predict", "rows.csv", "--model", learned / "m.vvm", "--proba")
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with forking.start(COMMAND, *options, cwd=tmp_path, **pipes) as run:
        first = run.stdout.readline()
        run.stdout.close()
        told = run.stderr.read()
    assert run.returncode == 141
    assert first == "predicted,p(bad),p(good)\n"
    assert told == ""


def test_shipped_data_sets_are_listed(vvm):
    done = vvm("datasets")
    assert done.code == 0
    assert [line.split()[0] for line in done.out.splitlines()] == [
        "spambase",
        "thyroid",
        "ionosphere",
    ]


def test_a_truncated_file_keeps_what_was_learned(vvm, rows, tmp_path):
    packed = gzip.compress(rows(3000).read_bytes())
    (tmp_path / "rows.csv.gz").write_bytes(packed[: len(packed) // 2])
    done = vvm("learn", "rows.csv.gz", "--model", "m.vvm", "-q", *FAST)
    assert done.code == 2
    assert done.err.startswith("vvm: rows.csv.gz")
    assert done.err.count("\n") == 1
    assert 0 < learned_rows(tmp_path / "m.vvm") < 3000
    assert f"{learned_rows(tmp_path / 'm.vvm'):,} rows" in done.err


def test_a_terminal_has_a_live_line(rows, tmp_path):
    rows(3000)
    shown = on_terminal("learn", "rows.csv", *FAST, cwd=tmp_path, NO_COLOR="1", COLUMNS="120")
    assert b"3,000\x1b[0m rows," in shown
    assert b"1 awake" in shown
    assert b"\x1b[3" not in shown  # no colour


def test_compiling_is_said_once(capsys):
    with compilation_notice():
        numba.njit(lambda x: x + 1)(1)
        numba.njit(lambda x: x + 2)(1)
    lines = capsys.readouterr().err.splitlines()
    assert [line.split()[0] for line in lines] == ["Compiling;", "Compiled"]


@pytest.mark.parametrize("kinds", [["number"], ["category", "time", "number"], ["category"]])
def test_what_may_join_a_committee_later_is_compiled_before(kinds):
    columns = [
        Column(f"x{k}", categorical=kind == "category", time=kind == "time")
        for k, kind in enumerate(kinds)
    ]
    model, compiled = AutoVVMClassifier(), []
    warm_up_heirs(model, columns)
    of_low_rank = AutoVVMClassifier(experts=[Expert(1.0, 1.0, rank=1)], n_frequencies=8)
    table = two_rows(columns)
    with on_first_compilation(lambda: compiled.append(True)):
        of_low_rank.partial_fit(table, ["a", "b"]).predict_proba(table)
    assert not compiled
    assert not hasattr(model, "classes_")
