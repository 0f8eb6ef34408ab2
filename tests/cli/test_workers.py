"""`vvm learn` on a Dask cluster: scheduler and workers are processes of their own, over TCP."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from functools import partial

import numpy as np
import pytest
from distributed import Client, LocalCluster
from pyarrow import csv, parquet

import virtualvector
from virtualvector.cli import cluster as the_cluster
from virtualvector.cli import portions
from virtualvector.dask import cluster
from virtualvector.dask.cluster import environment
from virtualvector.learners import rounds
from virtualvector.streams import asked
from virtualvector.streams.delimited import Delimited
from virtualvector.streams.formats import Options

pytestmark = pytest.mark.processes

RUN = [sys.executable, "-m", "distributed.cli"]


@contextmanager
def cluster_of_processes(folder):
    """Start a scheduler and two workers, as Dask's own commands do; give both processes."""
    file = folder / "scheduler.json"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": folder}
    begin = [f"{RUN[2]}.dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard"]
    workers = [f"{RUN[2]}.dask_worker", "--nworkers", "2", "--nthreads", "1", "--no-dashboard"]
    started = [
        subprocess.Popen([*RUN[:2], *each, "--scheduler-file", str(file)], **quiet)
        for each in (begin, workers)
    ]
    try:
        with Client(scheduler_file=str(file), timeout="60s") as client:
            client.wait_for_workers(2, timeout=120)
            address = client.scheduler.address
        yield address, *started
    finally:
        for each in reversed(started):
            each.terminate()
            each.wait()


@pytest.fixture(scope="module")
def scheduler(tmp_path_factory):
    """Start a cluster of processes, and return its address."""
    with cluster_of_processes(tmp_path_factory.mktemp("cluster")) as (address, *_):
        yield address


@pytest.fixture(scope="module")
def here():
    """Start a cluster of one thread in this process, whose bits have to be the same."""
    options = {"threads_per_worker": 1, "dashboard_address": ":0", "processes": False}
    with LocalCluster(n_workers=1, **options) as workers:
        yield workers.scheduler_address


@pytest.fixture(autouse=True)
def short_spans(monkeypatch):
    """Let small tables be learned by several shards; it is the client who plans."""
    monkeypatch.setattr(rounds, "FEWEST", 20)


def table(folder, name="rows.csv", n=900, bad=None):
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(n, 3)).round(4)
    colours = rng.choice(["red", "green", "blue"], n)
    labels = np.where(rows[:, 0] + (colours == "red") + rng.normal(size=n) > 0.3, "yes", "no")
    lines = [
        f"{a},{b},{'x' if k == bad else c},{colour},{label}"
        for k, ((a, b, c), colour, label) in enumerate(zip(rows, colours, labels, strict=True))
    ]
    (folder / name).write_text("\n".join(["a,b,c,colour,y", *lines, ""]))


def on(address, *more, source="rows.csv", model="m.vvm", shards=3):
    shards = ("--scheduler", address, "--shards", shards, "--budget", 60000)
    return ("learn", source, "--model", model, *shards, *more)


@pytest.fixture
def expected(vvm, here, tmp_path):
    """Return the model file of a run without trouble."""
    table(tmp_path)
    assert vvm(*on(here, "--quiet", model="whole.vvm")).code == 0
    return (tmp_path / "whole.vvm").read_bytes()


def test_processes_over_tcp_write_the_same_bytes_as_a_thread(vvm, scheduler, expected, tmp_path):
    done = vvm(*on(scheduler, "--json", "facts.json", "--report", "report.html"))
    assert done.code == 0
    assert (tmp_path / "m.vvm").read_bytes() == expected
    facts = json.loads((tmp_path / "facts.json").read_text())
    assert facts["rows"] == 900
    assert facts["log_loss"] < 0.6
    assert "<html" in (tmp_path / "report.html").read_text()
    model = virtualvector.load(tmp_path / "m.vvm")
    assert model.n_seen_ == 900
    assert vvm("evaluate", "rows.csv", "--model", "m.vvm").code == 0
    # What has been learned to the end is not learned again; what is new is.
    again = vvm(*on(scheduler, "--resume"))
    assert "all of it had been learned" in again.err
    assert (tmp_path / "m.vvm").read_bytes() == expected
    table(tmp_path, "more.csv", n=100)
    with open(tmp_path / "rows.csv", "a") as file:
        file.writelines((tmp_path / "more.csv").read_text().splitlines(keepends=True)[1:])
    assert vvm(*on(scheduler, "--resume", "--quiet")).code == 0
    assert virtualvector.load(tmp_path / "m.vvm").n_seen_ == 1000


def test_workers_that_are_killed_twice_in_a_run_do_not_change_a_byte(
    vvm, scheduler, expected, tmp_path
):
    killed = []

    def kill():
        with Client(scheduler) as client:
            for _ in range(2):
                before = _stamp(tmp_path / "m.vvm")
                while _stamp(tmp_path / "m.vvm") == before:
                    time.sleep(0.005)
                there = client.run(os.getpid)
                killed.append(next(pid for pid in there.values() if pid not in killed))
                os.kill(killed[-1], signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    done = vvm(*on(scheduler, "--quiet", "--checkpoint-every", 1))
    killer.join()
    assert (done.code, done.err) == (0, "")
    assert len(killed) == 2
    assert (tmp_path / "m.vvm").read_bytes() == expected


def _stamp(path):
    try:
        return path.stat().st_mtime_ns
    except FileNotFoundError:
        return None


def test_a_bad_row_is_named_and_the_run_goes_on_from_the_last_round(
    vvm, scheduler, here, expected, tmp_path
):
    table(tmp_path, bad=700)
    done = vvm(*on(scheduler, "--quiet"))
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert "rows.csv, line 702, column 'c': found 'x'; expected a number" in done.err
    kept = virtualvector.load(tmp_path / "m.vvm").n_seen_
    assert 400 < kept < 700
    assert f"The {kept} rows before it are in m.vvm." in done.err
    table(tmp_path)
    assert vvm(*on(here, "--quiet", "--resume")).code == 0
    assert (tmp_path / "m.vvm").read_bytes() == expected


def test_bad_rows_are_left_out_if_asked_and_counted_once(vvm, here, tmp_path):
    table(tmp_path, bad=500)
    done = vvm(*on(here, "--on-error", "skip", "--json", "facts.json"))
    assert done.code == 0
    assert "line 502" in done.err
    facts = json.loads((tmp_path / "facts.json").read_text())
    assert (facts["rows"], facts["skipped"]) == (899, 1)


def test_a_source_that_is_another_one_is_refused(vvm, here, expected, tmp_path):
    (tmp_path / "m.vvm").write_bytes(expected)
    text = (tmp_path / "rows.csv").read_text()
    (tmp_path / "rows.csv").write_text(text.replace("red", "pink", 1))
    done = vvm(*on(here, "--resume", "--quiet"))
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "found other rows than the 900 learned" in done.err
    (tmp_path / "rows.csv").write_text("\n".join(text.split("\n")[:500]))
    assert "found 499 rows, fewer than the 900 learned" in vvm(*on(here, "--resume")).err
    assert (tmp_path / "m.vvm").read_bytes() == expected


@pytest.mark.parametrize("gone", ["scheduler", "workers"])
def test_a_cluster_that_is_gone_is_told_in_one_line_and_the_run_goes_on_elsewhere(
    vvm, here, expected, tmp_path, monkeypatch, gone
):
    monkeypatch.setattr(the_cluster, "PATIENCE", 1.0)
    options = {"threads_per_worker": 1, "dashboard_address": ":0", "processes": False}
    with LocalCluster(n_workers=1, **options) as workers:

        def lose():
            while not (tmp_path / "m.vvm").exists():
                time.sleep(0.005)
            workers.scale(0) if gone == "workers" else workers.close()

        losing = threading.Thread(target=lose)
        losing.start()
        done = vvm(*on(workers.scheduler_address, "--quiet", "--checkpoint-every", 1))
        losing.join()
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert ("all workers are gone" if gone == "workers" else "the cluster was lost") in done.err
    assert 0 < virtualvector.load(tmp_path / "m.vvm").n_seen_ < 900
    assert vvm(*on(here, "--quiet", "--resume")).code == 0
    assert (tmp_path / "m.vvm").read_bytes() == expected


def test_a_full_disk_leaves_the_last_checkpoint(vvm, here, expected, tmp_path, monkeypatch):
    from virtualvector.cli import checkpoint
    from virtualvector.persistence.errors import CannotSave

    replace_file, n_written = checkpoint.replace_file, []

    def write(path, *parts):
        n_written.append(path)
        if len(n_written) > 2:
            raise CannotSave(f"{path}: cannot be saved: No space left on device.")
        replace_file(path, *parts)

    with monkeypatch.context() as full:
        full.setattr(checkpoint, "replace_file", write)
        done = vvm(*on(here, "--quiet", "--checkpoint-every", 1))
    assert (done.code, done.out, done.err.count("\n")) == (1, "", 1)
    assert "No space left on device" in done.err
    assert virtualvector.load(tmp_path / "m.vvm").n_seen_ < 900
    assert vvm(*on(here, "--quiet", "--resume")).code == 0
    assert (tmp_path / "m.vvm").read_bytes() == expected


@pytest.mark.parametrize("name", ["virtualvector", "numpy", "numba"])
def test_workers_of_other_versions_are_refused_at_the_start(vvm, here, tmp_path, monkeypatch, name):
    table(tmp_path)
    true = environment()

    def patched():
        is_main = threading.current_thread() is threading.main_thread()
        return true if is_main else true | {name: "1.0"}

    monkeypatch.setattr(cluster, "environment", patched)
    done = vvm(*on(here))
    assert done.code == 2
    assert f" has {name} 1.0; expected {true[name]}" in done.err.splitlines()[-1]
    assert not (tmp_path / "m.vvm").exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            "--workers 2 --scheduler tcp://x:1",
            "--workers starts a cluster and --scheduler uses one",
        ),
        ("--shards 3", "--shards: expected --workers or --scheduler"),
        ("--workers 2 --shuffle", "--shuffle reads all rows at one place"),
        ("--workers 2 --passes 2", "--passes: a cluster learns in one"),
        ("--workers 2 --learner vvm --half-life 9", "--half-life: what each worker forgets"),
        ("--scheduler tcp://x:1 --learner adf --half-life 9", "--half-life: what each worker"),
        ("--scheduler 127.0.0.1:1", "--scheduler 127.0.0.1:1: found nobody there"),
        ("--scheduler nonsense://x", "--scheduler nonsense://x: found nobody there"),
    ],
)
def test_options_that_cannot_be_are_told_in_one_line(vvm, tmp_path, monkeypatch, options, words):
    monkeypatch.setattr(the_cluster, "TIMEOUT", "1s")
    table(tmp_path, n=20)
    done = vvm("learn", "rows.csv", "--quiet", *options.split())
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert words in done.err


def test_a_run_goes_on_as_it_began(vvm, here, expected, tmp_path):
    (tmp_path / "m.vvm").write_bytes(expected)
    done = vvm("learn", "rows.csv", "--model", "m.vvm", "--resume", "--quiet")
    assert "the run began with --shards 3; expected --workers or --scheduler" in done.err
    done = vvm(*on(here, "--resume", shards=4))
    assert "--shards 4: the run began with --shards 3; expected the same" in done.err
    assert vvm("learn", "rows.csv", "--model", "local.vvm", "--quiet").code == 0
    done = vvm("learn", "rows.csv", "--model", "local.vvm", "--resume", "--scheduler", here)
    assert "the run began without them, on one machine" in done.err.splitlines()[-1]
    assert vvm("learn", "-", "--workers", 1).code == 2


def test_a_model_that_forgets_is_not_shared_among_workers(vvm, tmp_path):
    table(tmp_path, n=20)
    run = ("learn", "rows.csv", "--model", "m.vvm", "-q")
    assert vvm(*run, "--learner", "adf", "--half-life", 9).code == 0
    before = (tmp_path / "m.vvm").read_bytes()
    done = vvm(*run, "--append", "--workers", 1)
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert "the model was begun with a --half-life" in done.err
    assert (tmp_path / "m.vvm").read_bytes() == before


@pytest.fixture
def in_portions(vvm, tmp_path, monkeypatch):
    """Learn a model, and let small files be several portions, of which a task takes two."""
    monkeypatch.setattr(asked, "Options", partial(Options, chunk=2**12))
    monkeypatch.setattr(portions, "PORTIONS", 2)
    table(tmp_path)
    assert vvm("learn", "rows.csv", "--model", "m.vvm", "--budget", 60000, "--quiet").code == 0
    rows = csv.read_csv(tmp_path / "rows.csv")
    parquet.write_table(rows, tmp_path / "rows.parquet", row_group_size=70)
    lines = (tmp_path / "rows.csv").read_text().splitlines()
    lines[700] = "x" + lines[700]
    lines[300] = lines[300].replace("yes", "perhaps").replace("no", "perhaps")
    (tmp_path / "bad.csv").write_text("\n".join(lines))


@pytest.mark.parametrize(
    "command",
    [
        "predict rows.csv --proba --id y",
        "predict rows.parquet --proba",
        "predict rows.csv bad.csv --on-error skip",
        "predict bad.csv",
        "predict rows.csv other.csv",
        "evaluate rows.csv",
        "evaluate rows.parquet",
        "evaluate bad.csv",
        "evaluate bad.csv --label colour",
    ],
)
def test_workers_say_what_one_process_says(vvm, here, in_portions, tmp_path, command):
    (tmp_path / "other.csv").write_text("a,b,colour\n1,2,red\n")
    outputs = []
    for more in ((), ("--scheduler", here)):
        done = vvm(*command.split(), "--model", "m.vvm", "--json", "facts.json", *more)
        facts = tmp_path / "facts.json"
        # Whether there is something to compile depends on who came first.
        told = [line for line in done.err.splitlines() if not line.startswith("Compil")]
        written = facts.read_bytes() if facts.exists() else None
        outputs.append((done.code, done.out, told, written))
        facts.unlink(missing_ok=True)
    assert outputs[0] == outputs[1]
    assert (outputs[0][0] == 0) == (outputs[0][3] is not None)
    assert len(outputs[0][1].splitlines()) > 0 or outputs[0][0] == 2


def test_processes_over_tcp_predict_the_same_bytes(vvm, scheduler, in_portions, tmp_path):
    names = ["one.csv", "many.csv"]
    for name, more in zip(names, ((), ("--scheduler", scheduler)), strict=True):
        command = ("predict", "rows.csv", "--model", "m.vvm", "--proba", "--output", name)
        assert vvm(*command, *more).code == 0
    one, many = ((tmp_path / name).read_bytes() for name in names)
    assert one == many
    assert len(one.splitlines()) == 901
    wrong = vvm("predict", "-", "--model", "m.vvm", "--scheduler", scheduler)
    assert (wrong.code, wrong.err.count("\n")) == (2, 1)
    assert "standard input cannot be read by workers; expected files." in wrong.err


def test_each_worker_parses_its_own_portions(vvm, here, in_portions, tmp_path, monkeypatch):
    """But for one more, at most, to see where the last one ends."""
    parsed = []
    parse = Delimited.parse
    monkeypatch.setattr(
        Delimited,
        "parse",
        lambda self, chunk, plan: parsed.append(chunk) or parse(self, chunk, plan),
    )
    done = vvm("predict", "rows.csv", "--model", "m.vvm", "--scheduler", here)
    assert done.code == 0
    lines = [chunk.line for chunk in parsed]
    assert len(set(lines)) > 4
    assert len(lines) <= 2 * len(set(lines))
