# ruff: noqa: F811 (fixtures)
"""`vvm learn` while a cluster of processes is interrupted or killed: one line, and it goes on."""

import os
import re
import signal
import subprocess
import sys
import threading

import pytest

import virtualvector
from tests.cli.conftest import COMMAND, until
from tests.cli.test_workers import (  # noqa: F401 (fixtures)
    cluster_of_processes,
    expected,
    here,
    on,
    short_spans,
    table,
)

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


def test_an_interrupt_for_all_processes_of_a_terminal_is_told_in_one_line(
    vvm, here, expected, tmp_path
):
    """It comes to workers as well, which leave it to who started them."""
    arguments = [*map(str, on("2", "--quiet", "--checkpoint-every", 1))]
    arguments[arguments.index("--scheduler")] = "--workers"
    with subprocess.Popen(
        [sys.executable, "-c", f"{SHORT}\n{SLOW}\n{COMMAND}", *arguments],
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
