# ruff: noqa: F811 (fixtures)
"""`vvm learn` while a cluster of processes is interrupted or killed: one line, and it goes on."""

import os
import re
import signal
import subprocess
import sys

import pytest

import virtualvector
from tests.cli.conftest import COMMAND, until
from tests.cli.test_workers import (  # noqa: F401 (fixtures)
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
