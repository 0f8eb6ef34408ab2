"""The commands of docs/serving.md do what it says, in their order."""

import json
import re
import runpy
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from faults.services import _free_port
from tests import forking
from tests.cli.conftest import COMMAND
from tests.serve.conftest import until
from virtualvector.serve.client import Client

pytestmark = pytest.mark.processes

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "serving.md").read_text()


@pytest.fixture
def port(monkeypatch):
    monkeypatch.setattr(sys, "argv", sys.argv)
    return str(_free_port())


def blocks(kind):
    return re.findall(rf"```{kind}\n(.*?)```", PAGE, re.DOTALL)


def test_the_commands_run_as_they_are_written(tmp_path, vvm, port, capsys):
    (session,), (code,) = blocks("sh"), blocks("python")
    address = f"http://127.0.0.1:{port}"
    said, service = [], None
    try:
        for line in session.replace("8750", port).splitlines():
            program, *arguments = shlex.split(line.removesuffix("&"))
            if line.startswith("vvm serve"):
                asked = (*arguments, "--port", port)
                service = forking.start(COMMAND, *asked, cwd=tmp_path)
                Client(address).get("/ready")
            elif program == "vvm":
                if "--from-store" in line:
                    exec(code.replace("8750", port), {})
                    until(lambda: Client(address).get("/model")["labels_learned"] == 63)
                    service.send_signal(15)
                    assert service.wait() == 0
                assert vvm(*arguments).code == 0
            elif program == "curl":
                done = subprocess.run([program, *arguments], capture_output=True, check=True)
                said.append(json.loads(done.stdout))
            else:
                sys.argv = [str(ROOT / arguments[0]), *arguments[1:]]
                runpy.run_path(sys.argv[0], run_name="__main__")
    finally:
        if service is not None:
            with service:
                if service.returncode is None:
                    service.kill()
    answer, label, learned, about, ready = said
    assert answer["id"] == "patient-17"
    assert sum(answer["probabilities"].values()) == pytest.approx(1.0)
    assert label == {"id": "patient-17", "outcome": "accepted"}
    assert learned["outcome"] == "accepted"
    assert about["columns"][0] == {"name": "RT3U", "kind": "number"}
    assert ready == {"status": "ready"}
    assert "% of answers were wrong" in capsys.readouterr().out
    both = [(tmp_path / name).read_bytes() for name in ("thyroid.vvm", "again.vvm")]
    assert both[0] == both[1]


def test_every_option_is_told(vvm):
    shown = vvm("serve", "--help").out
    told = PAGE.partition("## How fast")[0]  # behind it are those of the benchmark
    for option in re.findall(r"`(--[a-z-]+)", told):
        if option not in ("--new-classes", "--from-store"):
            assert option in shown
