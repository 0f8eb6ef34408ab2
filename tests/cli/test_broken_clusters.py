# ruff: noqa: F811 (fixtures)
"""`vvm learn` while a cluster of processes is interrupted or killed: one line, and it goes on."""

import os
import re
import signal
import subprocess
import sys
import threading

import pytest
from distributed import Client, LocalCluster, wait

import virtualvector
from tests.cli.conftest import COMMAND, small_files, until
from tests.cli.test_workers import (  # noqa: F401 (fixtures)
    cluster_of_processes,
    expected,
    here,
    on,
    short_spans,
    table,
)
from virtualvector.cli import cluster as the_cluster
from virtualvector.dask import cluster
from virtualvector.dask.cluster import ClusterLost

pytestmark = pytest.mark.processes

# Of each process: what `short_spans` does in this one.
SHORT = "from virtualvector.learners import rounds; rounds.FEWEST = 20"
# No round begins after the first one that was saved, so that the run is under way at a signal.
SLOW = """
import time
from virtualvector.cli.cluster_run import ClusterRun
begin = ClusterRun._begin
ClusterRun._begin = lambda run, *a: time.sleep(60 * run.progress.is_fitted) or begin(run, *a)
"""
# The disk is full once something was saved.
FULL = f"""
from virtualvector.cli.cluster_run import ClusterRun
begin = ClusterRun._begin
def begin_or_fill(run, *a):
    if run.progress.is_fitted:
        {small_files(10_000)}
    return begin(run, *a)
ClusterRun._begin = begin_or_fill
"""


def with_workers():
    """Return the same command for two workers of its own."""
    arguments = [*map(str, on("2", "--quiet", "--checkpoint-every", 1))]
    arguments[arguments.index("--scheduler")] = "--workers"
    return arguments


def test_an_interrupt_for_all_processes_of_a_terminal_is_told_in_one_line(
    vvm, here, expected, tmp_path
):
    """It comes to workers as well, which leave it to who started them."""
    with subprocess.Popen(
        [sys.executable, "-c", f"{SHORT}\n{SLOW}\n{COMMAND}", *with_workers()],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    ) as process:  # fmt: skip
        until((tmp_path / "m.vvm").exists)
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate()
    assert (process.returncode, out) == (130, "")
    assert re.fullmatch(r"vvm: stopped by SIGINT: the \d+ rows learned are in m.vvm; .*\n", err)
    assert 0 < virtualvector.load(tmp_path / "m.vvm").n_seen_ < 900
    assert vvm(*on(here, "--quiet", "--resume")).code == 0
    assert (tmp_path / "m.vvm").read_bytes() == expected


def test_a_scheduler_that_is_killed_in_the_middle_is_told_in_one_line_and_a_new_one_goes_on(
    vvm, here, expected, tmp_path
):
    folder = tmp_path / "cluster"
    folder.mkdir()
    with cluster_of_processes(folder) as (address, scheduler, _):

        def kill():
            until((tmp_path / "m.vvm").exists)
            scheduler.kill()

        killing = threading.Thread(target=kill)
        killing.start()
        done = vvm(*on(address, "--quiet", "--checkpoint-every", 1))
        killing.join()
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert re.search("the (cluster was lost|scheduler is gone); --resume goes on from", done.err)
    assert 0 < virtualvector.load(tmp_path / "m.vvm").n_seen_ < 900
    assert vvm(*on(here, "--quiet", "--resume")).code == 0
    assert (tmp_path / "m.vvm").read_bytes() == expected


def test_workers_that_are_all_killed_are_told_in_one_line_and_others_go_on(
    vvm, here, expected, tmp_path, monkeypatch
):
    monkeypatch.setattr(the_cluster, "PATIENCE", 1.0)
    folder = tmp_path / "cluster"
    folder.mkdir()
    with cluster_of_processes(folder) as (address, _, nannies), Client(address) as client:
        workers = client.run(os.getpid).values()

        def kill():
            until((tmp_path / "m.vvm").exists)
            nannies.kill()  # who would start others
            for each in workers:
                os.kill(each, signal.SIGKILL)

        killing = threading.Thread(target=kill)
        killing.start()
        done = vvm(*on(address, "--quiet", "--checkpoint-every", 1))
        killing.join()
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert "all workers are gone; --resume goes on from the last round" in done.err
    assert 0 < virtualvector.load(tmp_path / "m.vvm").n_seen_ < 900
    assert vvm(*on(here, "--quiet", "--resume")).code == 0
    assert (tmp_path / "m.vvm").read_bytes() == expected


def test_a_full_disk_beside_workers_is_told_in_one_line_and_the_run_goes_on(
    vvm, here, expected, tmp_path
):
    """Files cannot grow any more in the process that saves: it is the system that says so."""
    done = subprocess.run(
        [sys.executable, "-c", f"{SHORT}\n{FULL}\n{COMMAND}", *with_workers()],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert "m.vvm: cannot be saved: File too large" in done.stderr
    assert 0 < virtualvector.load(tmp_path / "m.vvm").n_seen_ < 900
    assert vvm(*on(here, "--quiet", "--resume")).code == 0
    assert (tmp_path / "m.vvm").read_bytes() == expected


def test_a_result_whose_workers_are_all_gone_before_it_was_fetched_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(the_cluster, "PATIENCE", 1.0)
    monkeypatch.setattr(cluster, "FETCHING", 0.5)
    options = {"threads_per_worker": 1, "dashboard_address": ":0", "processes": False}
    with LocalCluster(n_workers=1, **options) as workers, Client(workers) as client:
        done = client.submit(sum, [1, 2], pure=False)
        wait(done)
        workers.scale(0)
        until(lambda: not client.nthreads())
        with pytest.raises(ClusterLost, match="all workers are gone"):
            the_cluster.result_of(client, done)
