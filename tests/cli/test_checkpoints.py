"""Nothing that was learned is lost: kills, interrupts, appended rows, full disks."""

import json
import signal
import subprocess
import time

import numpy as np
import pandas as pd
import pytest

import virtualvector
from tests import forking
from tests.cli.conftest import COMMAND, learned_rows, lines_of, small_files, until
from virtualvector import AutoVVMClassifier

FAST = ("--learner", "adf")


def learn_whole(vvm, tmp_path, *options):
    assert vvm("learn", "rows.csv", "--model", "whole.vvm", "-q", *options).code == 0
    return (tmp_path / "whole.vvm").read_bytes()


@pytest.mark.processes
def test_thirty_kills_change_nothing(vvm, rows, tmp_path):
    rows(15_000)
    options = ("--learner", "vvm", "--buffer-size", "4")
    whole = learn_whole(vvm, tmp_path, *options)
    arguments = ("learn", "rows.csv", "--model", "m.vvm", "--resume", "-q", *options)
    often = ("--checkpoint-every", "100")
    rng = np.random.default_rng(0)
    model = tmp_path / "m.vvm"

    def stamp():
        return model.stat().st_mtime_ns if model.exists() else 0

    for _ in range(30):
        before = stamp()
        with forking.start(COMMAND, *arguments, *often, cwd=tmp_path) as run:
            until(lambda before=before: stamp() != before)
            time.sleep(rng.uniform(0.0, 0.01))
            run.kill()
        assert run.returncode == -signal.SIGKILL
    assert 0 < learned_rows(model) < 15_000
    assert vvm(*arguments).code == 0
    assert model.read_bytes() == whole
    assert not list(tmp_path.glob(".*.tmp"))


def test_an_interrupted_run_keeps_what_it_learned(vvm, rows, tmp_path):
    rows(8000)
    options = ("--learner", "vvm", "--buffer-size", "4")
    whole = learn_whole(vvm, tmp_path, *options)
    with forking.start(
        COMMAND, "learn", "rows.csv", "--model", "m.vvm", *options,
        cwd=tmp_path, stderr=subprocess.PIPE,
    ) as run:  # fmt: skip
        for line in run.stderr:
            if line.split()[0] == "1024":
                break
        run.send_signal(signal.SIGINT)
        told = run.stderr.read()
    assert run.returncode == 130
    n_rows = learned_rows(tmp_path / "m.vvm")
    assert 1024 <= n_rows < 8000
    assert told.endswith(
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


def test_a_full_disk_is_one_line_and_leaves_the_old_model(vvm, process, rows, tmp_path):
    rows(200)
    old = learn_whole(vvm, tmp_path, *FAST)
    done = process(
        "learn", "rows.csv", "--model", "whole.vvm", "--append", "-q",
        before=small_files(1000),
    )  # fmt: skip
    assert done.code == 1
    assert done.err.startswith("vvm: whole.vvm: cannot be saved")
    assert done.err.count("\n") == 1
    assert (tmp_path / "whole.vvm").read_bytes() == old
    assert vvm("predict", "rows.csv", "--model", "whole.vvm", "--output", "/dev/full").code == 1
