"""Runs that are killed, stopped, or come to another source than they began with."""

import contextlib
import json
import signal
import subprocess
import time

import pytest

import virtualvector
from tests import forking
from tests.cli.conftest import COMMAND, learned_rows, lines_of, small_files, until
from virtualvector import AutoVVMClassifier
from virtualvector.cli.checkpoint import ModelFile, take_up
from virtualvector.cli.run import Run
from virtualvector.cli.signals import Signals, Stopped
from virtualvector.persistence.errors import CannotSave

FAST = ("--learner", "adf")
TABLE = [line + "\n" for line in lines_of(600)]
HEADER = TABLE[0]

# The command, with checkpoints that come in time for a test.
HASTY = f"from virtualvector.cli import run; run.SECONDS = 0.2; {COMMAND}"

# The command, as nohup runs it.
HANGUPS_IGNORED = f"import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN); {COMMAND}"


def write(path, lines):
    path.write_text("".join(lines))


@contextlib.contextmanager
def piping(folder, *arguments, lines=TABLE[:301], wait_for="256", command=COMMAND):
    """Run the command on a pipe that stays open, until the table has a row of such a number."""
    with forking.start(
        command, "learn", "-", *arguments,
        cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as run:  # fmt: skip
        run.stdin.writelines(lines)
        run.stdin.flush()
        for line in run.stderr:
            if line.split()[0] == wait_for:
                break
        yield run


def kill(run):
    run.kill()
    run.communicate()


@pytest.fixture
def whole(vvm, tmp_path):
    """Return the bytes of the model of all rows, learned without interruption."""
    write(tmp_path / "all.csv", TABLE)
    assert vvm("learn", "all.csv", "--model", "whole.vvm", "-q", *FAST).code == 0
    return (tmp_path / "whole.vvm").read_bytes()


# --- a run is marked when it starts ---


def test_a_new_model_that_is_killed_early_is_learned_from_the_start(vvm, whole, tmp_path):
    write(tmp_path / "old.csv", TABLE[:101])
    assert vvm("learn", "old.csv", "--model", "m.vvm", "-q").code == 0
    old = (tmp_path / "m.vvm").read_bytes()
    with piping(tmp_path, "--model", "m.vvm", *FAST) as run:
        kill(run)
    assert (tmp_path / "m.vvm").read_bytes() == old == (tmp_path / "m.vvm~").read_bytes()
    # It goes on with the learner it began with, which is not that of the old model.
    assert vvm("learn", "-", "--model", "m.vvm", "--resume", stdin="".join(TABLE)).code == 0
    assert (tmp_path / "m.vvm").read_bytes() == whole
    assert not (tmp_path / "m.vvm.run").exists()


def test_appending_that_is_killed_early_is_done_again(vvm, tmp_path):
    write(tmp_path / "one.csv", TABLE[:201])
    two = [HEADER, *TABLE[201:]]
    assert vvm("learn", "one.csv", "--model", "m.vvm", "-q", *FAST).code == 0
    (tmp_path / "n.vvm").write_bytes((tmp_path / "m.vvm").read_bytes())
    with piping(tmp_path, "--model", "m.vvm", "--append", lines=two[:301]) as run:
        kill(run)
    assert learned_rows(tmp_path / "m.vvm") == 200
    again = ("learn", "-", "--model", "m.vvm", "--resume", "-q", *FAST)
    assert vvm(*again, stdin="".join(two)).code == 0
    assert vvm("learn", "-", "--model", "n.vvm", "--append", "-q", stdin="".join(two)).code == 0
    assert learned_rows(tmp_path / "m.vvm") == 600
    assert (tmp_path / "m.vvm").read_bytes() == (tmp_path / "n.vvm").read_bytes()


def test_appending_to_a_full_disk_is_done_again(vvm, process, tmp_path):
    write(tmp_path / "one.csv", TABLE[:201])
    write(tmp_path / "two.csv", [HEADER, *TABLE[201:]])
    assert vvm("learn", "one.csv", "--model", "m.vvm", "-q", *FAST).code == 0
    full = process(
        "learn", "two.csv", "--model", "m.vvm", "--append", "-q",
        before=small_files(2000),  # enough for the mark
    )  # fmt: skip
    assert full.code == 1
    assert vvm("learn", "two.csv", "--model", "m.vvm", "--resume", "-q").code == 0
    assert learned_rows(tmp_path / "m.vvm") == 600


def test_what_was_to_be_learned_is_part_of_the_mark(vvm, tmp_path):
    with piping(tmp_path, "--model", "m.vvm", *FAST) as run:
        kill(run)
    write(tmp_path / "other.csv", TABLE)
    other = vvm("learn", "other.csv", "--model", "m.vvm", "--resume")
    assert other.code == 2
    assert "other.csv" in other.err
    seed = vvm("learn", "-", "--model", "m.vvm", "--resume", "--seed", "3")
    assert seed.code == 2
    assert "--seed 3: the run began with --seed 0" in seed.err
    learner = vvm("learn", "-", "--model", "m.vvm", "--resume", "--learner", "vvm")
    assert learner.code == 2
    assert "other options" in learner.err


def test_a_run_that_was_cut_short_is_not_forgotten_by_appending(vvm, whole, tmp_path):
    bad = [*TABLE[:400], "1.0,oops,2.0,red,good\n", *TABLE[400:]]
    write(tmp_path / "rows.csv", bad)
    stopped = vvm("learn", "rows.csv", "--model", "m.vvm", "-q", *FAST)
    assert stopped.code == 2
    refused = vvm("learn", "all.csv", "--model", "m.vvm", "--append")
    assert refused.code == 2
    assert "rows.csv was cut short; --resume" in refused.err
    assert "m.vvm.run" in refused.err
    # The bad row is mended, or skipped, and the run goes on.
    skipped = vvm("learn", "rows.csv", "--model", "m.vvm", "--resume", "--on-error", "skip", "-q")
    assert skipped.code == 0
    assert (tmp_path / "m.vvm").read_bytes() == whole


def test_a_mark_that_is_none_is_said(vvm, tmp_path):
    write(tmp_path / "rows.csv", TABLE)
    (tmp_path / "m.vvm.run").write_text("[]\n")
    done = vvm("learn", "rows.csv", "--model", "m.vvm", "--resume")
    assert done.code == 2
    assert "m.vvm.run: found something else than the mark of a run" in done.err


# --- a source is known by its rows ---

SOURCES = {
    "edited": [*TABLE[:50], TABLE[50].replace(",", "1,", 1), *TABLE[51:]],
    "reordered": [HEADER, TABLE[2], TABLE[1], *TABLE[3:]],
    "another label": [*TABLE[:50], TABLE[50].rpartition(",")[0] + ",bad\n", *TABLE[51:]],
    "another file": [HEADER, *(line + "\n" for line in list(lines_of(700, seed=5))[1:])],
    "shorter": TABLE[:200],
}
assert TABLE[50].endswith(",good\n")


@pytest.mark.parametrize("cut", [601, 301], ids=["finished", "unfinished"])
@pytest.mark.parametrize("change", SOURCES)
def test_another_source_is_refused(vvm, tmp_path, change, cut):
    rows = tmp_path / "rows.csv"
    write(rows, [*TABLE[:cut], "" if cut == 601 else "no row\n"])
    code = vvm("learn", "rows.csv", "--model", "m.vvm", "-q", *FAST).code
    assert code == (0 if cut == 601 else 2)
    before = (tmp_path / "m.vvm").read_bytes()
    write(rows, SOURCES[change])
    done = vvm("learn", "rows.csv", "--model", "m.vvm", "--resume", "-q")
    assert done.code == 2
    assert "--append" in done.err
    assert "without --resume" in done.err.lower()
    assert done.err.count("\n") == 1
    assert (tmp_path / "m.vvm").read_bytes() == before


def test_what_a_source_has_grown_by_is_learned(vvm, whole, tmp_path):
    rows = tmp_path / "rows.csv"
    for n_lines in (301, 301, 450, 601):
        write(rows, TABLE[:n_lines])
        assert vvm("learn", "rows.csv", "--model", "m.vvm", "--resume", "-q", *FAST).code == 0
        assert learned_rows(tmp_path / "m.vvm") == n_lines - 1
    assert (tmp_path / "m.vvm").read_bytes() == whole


def test_the_same_rows_in_another_format_are_the_same_source(vvm, whole, tmp_path):
    import pandas as pd

    write(tmp_path / "half.csv", TABLE[:301])
    assert vvm("learn", "half.csv", "--model", "m.vvm", "-q", *FAST).code == 0
    pd.read_csv(tmp_path / "all.csv").to_parquet(tmp_path / "all.parquet")
    assert vvm("learn", "all.parquet", "--model", "m.vvm", "--resume", "-q").code == 0
    assert (tmp_path / "m.vvm").read_bytes() == whole


def test_several_passes_go_on_where_they_were_and_do_not_grow(vvm, tmp_path):
    write(tmp_path / "rows.csv", TABLE[:201])
    options = ("--passes", "2", "-q", *FAST)
    assert vvm("learn", "rows.csv", "--model", "m.vvm", *options).code == 0
    assert vvm("learn", "rows.csv", "--model", "m.vvm", "--resume", "-q").code == 0
    assert learned_rows(tmp_path / "m.vvm") == 400
    write(tmp_path / "rows.csv", TABLE[:211])
    grown = vvm("learn", "rows.csv", "--model", "m.vvm", "--resume")
    assert grown.code == 2
    assert "2 passes" in grown.err
    more = vvm("learn", "rows.csv", "--model", "m.vvm", "--resume", "--passes", "3")
    assert more.code == 2
    assert "--passes 3: the run began with --passes 2" in more.err


def test_a_model_that_does_not_say_what_it_learned_is_not_resumed(vvm, tmp_path):
    import pandas as pd

    write(tmp_path / "rows.csv", TABLE)
    table = pd.read_csv(tmp_path / "rows.csv")
    model = AutoVVMClassifier().fit(table.drop(columns="outcome"), table["outcome"])
    model.save(tmp_path / "m.vvm")
    done = vvm("learn", "rows.csv", "--model", "m.vvm", "--resume")
    assert done.code == 2
    assert "--append" in done.err


# --- options are honoured or refused ---


@pytest.mark.parametrize("how", ["--resume", "--append"])
@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--categorical", "x0"), "--categorical x0"),
        (("--classes", "good,ugly"), "--classes good,ugly"),
        (("--learner", "vvm"), "other options"),
        (("--budget", "1000"), "other options"),
        (("--label", "colour"), "colour"),
    ],
)
def test_what_a_model_was_not_learned_with_is_refused(vvm, tmp_path, how, options, words):
    lines = [line + "\n" for line in lines_of(1100)]  # classes are known after a thousand rows
    write(tmp_path / "rows.csv", lines)
    assert vvm("learn", "rows.csv", "--model", "m.vvm", "-q", *FAST).code == 0
    done = vvm("learn", "rows.csv", "--model", "m.vvm", how, *options)
    assert done.code == 2
    assert words in done.err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--seed", "7"), "--seed 7: the run began with --seed 0"),
        (("--missing", "x"), "--missing x: the run began with no --missing"),
        (("--label", "x0"), "--label x0: the run began with --label outcome"),
        (("--new-classes",), "--new-classes"),
    ],
)
def test_a_run_goes_on_with_what_it_began_with(vvm, tmp_path, options, words):
    lines = [line + "\n" for line in lines_of(1100)]
    write(tmp_path / "rows.csv", lines)
    assert vvm("learn", "rows.csv", "--model", "m.vvm", "-q", *FAST).code == 0
    done = vvm("learn", "rows.csv", "--model", "m.vvm", "--resume", *options)
    assert done.code == 2
    assert words in done.err


def test_what_stands_for_a_missing_value_is_remembered(vvm, tmp_path):
    lines = [line.replace(",,", ",gone,") for line in TABLE]
    assert "gone" in "".join(lines[:100])
    write(tmp_path / "rows.csv", lines)
    options = ("--missing", "gone,NA", "-q", *FAST)
    assert vvm("learn", "rows.csv", "--model", "m.vvm", *options).code == 0
    write(tmp_path / "more.csv", lines)
    for how in ("--resume", "--append"):
        assert vvm("learn", "rows.csv", "--model", "m.vvm", how, "-q").code == 0
    assert learned_rows(tmp_path / "m.vvm") == 1200


# --- two processes ---


def test_a_second_process_is_refused_and_the_first_loses_nothing(vvm, whole, tmp_path):
    with piping(tmp_path, "--model", "m.vvm", *FAST) as first:
        for how in ((), ("--resume",), ("--append",)):
            second = vvm("learn", "all.csv", "--model", "m.vvm", *how)
            assert second.code == 1
            assert second.err == (
                "vvm: m.vvm: another process is learning it; expected to be the only one. "
                "Nothing was changed.\n"
            )
        first.stdin.writelines(TABLE[301:])
        first.communicate()
        assert first.returncode == 0
    assert (tmp_path / "m.vvm").read_bytes() == whole


def test_a_link_to_a_model_has_the_same_lock(vvm, tmp_path):
    write(tmp_path / "all.csv", TABLE)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "link.vvm").symlink_to(tmp_path / "m.vvm")
    with piping(tmp_path, "--model", "m.vvm", *FAST) as first:
        assert vvm("learn", "all.csv", "--model", "folder/link.vvm").code == 1
        kill(first)


def test_what_another_process_has_written_is_not_overwritten(vvm, whole, tmp_path):
    # As on a file system without locks, or when a program saves a model there.
    path = tmp_path / "whole.vvm"
    checkpoint, file = take_up(path), ModelFile(path)
    file.save(checkpoint)
    virtualvector.load(path).save(path)
    theirs = path.read_bytes()
    with pytest.raises(CannotSave, match="another process has changed it"):
        file.save(checkpoint)
    assert path.read_bytes() == theirs


# --- signals and time ---


@pytest.mark.parametrize(
    "signals",
    [("SIGTERM",), ("SIGHUP",), ("SIGQUIT",), ("SIGINT",), ("SIGINT", "SIGINT", "SIGTERM")],
    ids="+".join,
)
def test_signals_save_once_and_say_how_to_go_on(vvm, whole, tmp_path, signals):
    numbers = [getattr(signal, name) for name in signals]
    with piping(tmp_path, "--model", "m.vvm", *FAST) as run:
        for number in numbers:
            run.send_signal(number)
            time.sleep(0.005)
        _, told = run.communicate()
    assert run.returncode == 128 + numbers[0]
    n_rows = learned_rows(tmp_path / "m.vvm")
    assert 256 <= n_rows <= 300
    assert told.splitlines()[-1] == (
        f"vvm: stopped by {signals[0]}: the {n_rows} rows learned are in m.vvm; the same with "
        "--resume goes on."
    )
    assert "Traceback" not in told
    assert vvm("learn", "all.csv", "--model", "m.vvm", "--resume", "-q").code == 0
    assert (tmp_path / "m.vvm").read_bytes() == whole


def test_a_signal_without_a_model_says_that_nothing_is_kept(tmp_path):
    with piping(tmp_path, *FAST) as run:
        run.send_signal(signal.SIGTERM)
        _, told = run.communicate()
    assert run.returncode == 143
    assert "are lost, as there was no --model" in told


@pytest.mark.processes
def test_an_idle_pipe_is_saved(tmp_path):
    with piping(tmp_path, "--model", "m.vvm", *FAST, command=HASTY) as run:
        until(lambda: (tmp_path / "m.vvm").exists() and learned_rows(tmp_path / "m.vvm") == 300)
        kill(run)
    mark = json.loads((tmp_path / "m.vvm.run").read_text())
    assert mark["sources"] == ["-"]


def test_a_hangup_that_is_ignored_stays_so(tmp_path):
    with piping(tmp_path, "--model", "m.vvm", *FAST, command=HANGUPS_IGNORED) as run:
        run.send_signal(signal.SIGHUP)
        run.stdin.writelines(TABLE[301:])
        run.communicate()
    assert run.returncode == 0
    assert learned_rows(tmp_path / "m.vvm") == 600


def test_a_folder_that_cannot_be_written_to_is_said_before_anything_is_read(vvm):
    done = vvm("learn", "none.csv", "--model", "/sys/m.vvm")  # not even root can
    assert done.code == 1
    assert done.err.startswith("vvm: /sys/m.vvm.run: cannot be written: ")


def test_a_run_that_is_stopped_before_its_first_row_leaves_the_model_as_it_was(vvm, tmp_path):
    """What it would save does not say which rows of a source it has learned: none."""
    write(tmp_path / "one.csv", TABLE[:301])
    write(tmp_path / "two.csv", [HEADER, *TABLE[301:]])
    assert vvm("learn", "one.csv", "--model", "m.vvm", "-q", *FAST).code == 0
    before = take_up(tmp_path / "m.vvm")
    saved = []
    run = Run(
        before.progress.from_the_start(), "outcome", (), lambda *_: None, Signals(), saved.append
    )

    class Cut:
        columns, weight = before.columns, None

        def __iter__(self):
            raise Stopped(signal.SIGTERM)
            yield

    with pytest.raises(Stopped):
        run.learn(Cut(), 1)
    assert not saved
