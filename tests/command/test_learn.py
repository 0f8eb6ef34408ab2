"""`vvm learn` and the verbs that read what it wrote."""

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress

import numba
import numpy as np
import pandas as pd
import pytest
from sklearn import metrics
from typer.testing import CliRunner

import virtualvector
from virtualvector import AutoVVMClassifier, files
from virtualvector.command.compiling import saying_when_compiling
from virtualvector.command.main import app

from .conftest import VVM, lines_of

FAST = ("--learner", "adf")


def test_from_a_csv_to_probabilities(vvm, rows, tmp_path):
    rows()
    learned = vvm("learn", "rows.csv", "--model", "m.vvm", "--json", "m.json")
    assert learned.code == 0
    assert "Label: 'outcome', the last column" in learned.err
    assert "error" in learned.out
    said = json.loads((tmp_path / "m.json").read_text())
    for name in (
        "rows", "error", "log_loss", "brier", "calibration_error", "rows_per_second", "bytes",
        "evicted", "merged", "seconds",
    ):  # fmt: skip
        assert said[name] >= 0
    assert said["rows"] == 600
    assert said["error"] < 0.3
    # The library reads the same file, and learns the same from the same rows.
    table = pd.read_csv(tmp_path / "rows.csv")
    model = virtualvector.load(tmp_path / "m.vvm")
    same = AutoVVMClassifier(categorical_features=[3], n_classes=2)
    stated = same.predict_then_learn(table.drop(columns="outcome"), table["outcome"], classes=[])
    assert np.array_equal(
        model.predict_proba(table.drop(columns="outcome")),
        same.predict_proba(table.drop(columns="outcome")),
    )
    assert said["error"] == pytest.approx((stated.labels != table["outcome"]).mean(), abs=3 / 600)
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
    said = json.loads(done.out[done.out.index("{") :])
    table = pd.read_csv(tmp_path / "test.csv")
    proba = virtualvector.load(tmp_path / "m.vvm").predict_proba(table.drop(columns="outcome"))
    labels = np.array(["bad", "good"])[proba.argmax(axis=1)]
    assert said["error"] == pytest.approx((labels != table["outcome"]).mean())
    assert said["log_loss"] == pytest.approx(metrics.log_loss(table["outcome"], proba))
    assert said["confusion"] == metrics.confusion_matrix(table["outcome"], labels).tolist()
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
    assert vvm("learn", "one.csv", "--model", "m.vvm", "--report", "m.html", "-q") == (0, "", "")
    assert vvm("inspect", "m.vvm").code == 0
    assert vvm("predict", "one.csv", "--model", "m.vvm", "--proba").out == (
        "predicted,p(x)\n" + "x,1.0\n" * 3
    )


def test_a_table_row_at_powers_of_two_without_colours(vvm, rows):
    rows(300)
    done = vvm("learn", "rows.csv", *FAST, env=os.environ | {"NO_COLOR": ""})
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
    (expert,) = virtualvector.load(tmp_path / "m.vvm").weights_
    assert (expert["buffer_size"], expert["eviction"], expert["merge_pairs"]) == (5, "oldest", 0)


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
    command = [VVM, "learn", "-", "--model", "m.vvm", "--checkpoint-every", "100", "-q", *FAST]
    run = subprocess.Popen(command, cwd=tmp_path, stdin=subprocess.PIPE, text=True)
    lines = [line + "\n" for line in lines_of(300)]
    run.stdin.writelines(lines[:252])
    run.stdin.flush()
    until(lambda: (tmp_path / "m.vvm").exists() and learned_rows(tmp_path / "m.vvm") == 200)
    run.stdin.writelines(lines[252:])
    run.stdin.close()
    assert run.wait(60) == 0
    assert learned_rows(tmp_path / "m.vvm") == 300


def learned_rows(path):
    return files.read_header(path)["counters"]["rows"]


def until(condition, seconds=120):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.002)


# --- what is wrong with rows ---

BAD_ROWS = {
    "1.0,2.0,red,good": "found 4 fields; expected 5",
    "1.0,abc,3.0,red,good": "column 'x1': found 'abc'; expected a number",
    "1.0,nan,3.0,red,good": "column 'x1': found nan; expected a finite number",
    "1.0,2.0,3.0,red,": "column 'outcome': found an empty label; expected a class",
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


# --- nothing learned is lost ---


def learn_whole(vvm, tmp_path, *options):
    assert vvm("learn", "rows.csv", "--model", "whole.vvm", "-q", *options).code == 0
    return (tmp_path / "whole.vvm").read_bytes()


# Runs the command as often as it is told to, in processes that need not import everything again.
FORKING = """
import os, sys
import virtualvector.auto.classifier, virtualvector.evaluation, virtualvector.streams
from virtualvector.command.main import main
for _ in sys.stdin:
    process = os.fork()
    if process == 0:
        main()
    print(process, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), flush=True)
"""


def test_thirty_kills_change_nothing(vvm, rows, tmp_path):
    rows(40_000)
    options = ("--learner", "vvm", "--buffer-size", "4", "--checkpoint-every", "250")
    whole = learn_whole(vvm, tmp_path, *options)
    command = [VVM, "learn", "rows.csv", "--model", "m.vvm", "--resume", "-q", *options]
    rng = np.random.default_rng(0)
    model = tmp_path / "m.vvm"

    def stamp():
        return model.stat().st_mtime_ns if model.exists() else 0

    with subprocess.Popen(
        [sys.executable, "-c", FORKING, *command[1:]],
        cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1,
    ) as forking:  # fmt: skip
        for _ in range(30):
            before = stamp()
            print(file=forking.stdin)
            process = int(forking.stdout.readline())
            until(lambda before=before: stamp() != before)
            time.sleep(rng.uniform(0.0, 0.03))
            os.kill(process, signal.SIGKILL)
            assert int(forking.stdout.readline()) == -signal.SIGKILL
    assert 0 < learned_rows(model) < 40_000
    assert subprocess.run(command, cwd=tmp_path).returncode == 0
    assert model.read_bytes() == whole
    assert not list(tmp_path.glob(".*.tmp"))


def test_an_interrupted_run_keeps_what_it_learned(vvm, rows, tmp_path):
    rows(8000)
    options = ("--learner", "vvm", "--buffer-size", "4")
    whole = learn_whole(vvm, tmp_path, *options)
    command = [VVM, "learn", "rows.csv", "--model", "m.vvm", *options]
    with subprocess.Popen(
        command, cwd=tmp_path, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a job's is ignored
    ) as run:  # fmt: skip
        for line in run.stderr:
            if line.split()[0] == "1024":
                break
        run.send_signal(signal.SIGINT)
        said = run.stderr.read()
    assert run.returncode == 130
    n_rows = learned_rows(tmp_path / "m.vvm")
    assert 1024 <= n_rows < 8000
    assert said.endswith(
        f"vvm: stopped by SIGINT: the {n_rows:,} rows learned are in m.vvm; the same with "
        "--resume goes on.\n"
    )
    assert vvm("learn", "rows.csv", "--model", "m.vvm", "--resume", "-q").code == 0
    assert (tmp_path / "m.vvm").read_bytes() == whole


def test_resuming_what_is_finished_changes_nothing(vvm, rows, tmp_path):
    rows()
    whole = learn_whole(vvm, tmp_path, *FAST)
    assert vvm("learn", "rows.csv", "--model", "whole.vvm", "--resume", "-q").code == 0
    assert (tmp_path / "whole.vvm").read_bytes() == whole
    other = vvm("learn", "rows.csv", "--model", "whole.vvm", "--resume", "--learner", "vvm")
    assert other.code == 2
    assert "other options" in other.err


def test_appending_is_learning_on(vvm, tmp_path):
    lines = list(lines_of(600))
    (tmp_path / "one.csv").write_text("\n".join(lines[:301]) + "\n")
    (tmp_path / "two.csv").write_text("\n".join([lines[0], *lines[301:]]) + "\n")
    (tmp_path / "both.csv").write_text("\n".join(lines) + "\n")
    assert vvm("learn", "one.csv", "--model", "m.vvm", "-q", *FAST).code == 0
    assert vvm("learn", "two.csv", "--model", "m.vvm", "--append", "-q").code == 0
    assert vvm("learn", "both.csv", "--model", "b.vvm", "-q", *FAST).code == 0
    # Only the notes tell them apart, which are about the last source.
    one, other = ((tmp_path / name) for name in ("m.vvm", "b.vvm"))
    for path in (one, other):
        virtualvector.load(path).save(path)
    assert one.read_bytes() == other.read_bytes()


def test_a_model_that_was_saved_in_python_learns_on(vvm, tmp_path):
    lines = list(lines_of(600))
    (tmp_path / "one.csv").write_text("\n".join(lines[:301]) + "\n")
    (tmp_path / "two.csv").write_text("\n".join([lines[0], *lines[301:]]) + "\n")
    one, two = (pd.read_csv(tmp_path / name) for name in ("one.csv", "two.csv"))
    model = AutoVVMClassifier().fit(one.drop(columns="outcome"), one["outcome"])
    model.save(tmp_path / "m.vvm")
    assert vvm("learn", "two.csv", "--model", "m.vvm", "--append", "-q").code == 0
    model.partial_fit(two.drop(columns="outcome"), two["outcome"])
    learned = virtualvector.load(tmp_path / "m.vvm")
    assert np.array_equal(
        learned.predict_proba(two.drop(columns="outcome")),
        model.predict_proba(two.drop(columns="outcome")),
    )


def test_more_passes_are_no_test(vvm, rows, tmp_path):
    rows(200)
    vvm("learn", "rows.csv", "--passes", "3", "--json", "m.json", "--model", "m.vvm", "-q", *FAST)
    assert json.loads((tmp_path / "m.json").read_text())["rows"] == 200
    assert learned_rows(tmp_path / "m.vvm") == 600
    assert vvm("learn", "-", "--passes", "2", stdin="").code == 2


def test_threads_do_not_show(vvm, rows, tmp_path):
    rows()
    for jobs in ("1", "2"):
        vvm("learn", "rows.csv", "--model", f"m{jobs}.vvm", "--jobs", jobs, "-q")
    assert (tmp_path / "m1.vvm").read_bytes() == (tmp_path / "m2.vvm").read_bytes()


def test_what_a_new_model_replaces_is_kept_beside_it(vvm, rows, tmp_path):
    rows(200)
    old = learn_whole(vvm, tmp_path, *FAST)
    done = vvm("learn", "thyroid", "--model", "whole.vvm", *FAST)
    assert done.code == 0
    assert "whole.vvm~" in done.err
    assert (tmp_path / "whole.vvm~").read_bytes() == old
    again = vvm("learn", "thyroid", "--model", "rows.csv", *FAST)  # a slip of the finger
    assert again.code == 2
    assert "rows.csv" in again.err
    assert (tmp_path / "rows.csv").read_text().startswith("x0,")


def limited_files(n_bytes):
    import resource

    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, n_bytes))


def test_a_full_disk_is_one_line_and_leaves_the_old_model(vvm, rows, tmp_path):
    rows(200)
    old = learn_whole(vvm, tmp_path, *FAST)
    done = vvm(
        "learn", "rows.csv", "--model", "whole.vvm", "--append", "-q",
        preexec_fn=limited_files(1000),
    )  # fmt: skip
    assert done.code == 1
    assert done.err.startswith("vvm: whole.vvm: cannot be saved")
    assert done.err.count("\n") == 1
    assert (tmp_path / "whole.vvm").read_bytes() == old
    assert vvm("predict", "rows.csv", "--model", "whole.vvm", "--output", "/dev/full").code == 1


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    """Return a folder with rows.csv and m.vvm, to read only."""
    folder = tmp_path_factory.mktemp("learned")
    (folder / "rows.csv").write_text("\n".join(lines_of(200)) + "\n")
    subprocess.run(
        [VVM, "learn", "rows.csv", "--model", "m.vvm", "-q", *FAST], cwd=folder, check=True
    )
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
    assert (fewer.code, more.code) == (2, 2)
    assert "'x1'" in fewer.err
    assert "'weight'" in more.err


def test_a_closed_pipe_is_one_line(rows, learned, tmp_path):
    rows(9000)
    done = subprocess.run(
        f"{VVM} predict rows.csv --model $M --proba | head -n 1; exit ${{PIPESTATUS[0]}}",
        env=os.environ | {"M": str(learned / "m.vvm")}, shell=True,
        executable="/bin/bash", cwd=tmp_path, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stdout == "predicted,p(bad),p(good)\n"
    assert done.stderr == "vvm: nobody reads the output any more\n"


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
    ours, theirs = os.openpty()
    command = [VVM, "learn", "rows.csv", *FAST]
    environment = os.environ | {"TERM": "xterm", "NO_COLOR": "1", "COLUMNS": "120"}
    run = subprocess.Popen(command, cwd=tmp_path, stderr=theirs, stdout=theirs, env=environment)
    os.close(theirs)
    shown = b""
    with suppress(OSError):  # which is how the end of a terminal shows
        while piece := os.read(ours, 4096):
            shown += piece
    os.close(ours)
    assert run.wait(60) == 0
    assert b"3,000\x1b[0m rows," in shown
    assert b"1 awake" in shown
    assert b"\x1b[3" not in shown  # no colour


def test_compiling_is_said_once(capsys):
    with saying_when_compiling():
        numba.njit(lambda x: x + 1)(1)
        numba.njit(lambda x: x + 2)(1)
    lines = capsys.readouterr().err.splitlines()
    assert [line.split()[0] for line in lines] == ["Compiling;", "Compiled"]
