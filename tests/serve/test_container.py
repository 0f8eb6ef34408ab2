"""What the container file starts, stops and asks, without a container: with a folder for /data."""

import json
import re
import shutil
import signal
import socket
import subprocess
import tomllib
from pathlib import Path

import pytest

from tests import forking
from tests.cli.conftest import COMMAND, VVM
from tests.serve.conftest import rows_of, until
from virtualvector.serve.client import Client, ServiceError

pytestmark = pytest.mark.processes

ROOT = Path(__file__).parents[2]
TOKEN = "w" * 20


@pytest.fixture(scope="module")
def steps():
    """Return the instructions of the file that have a list, by their name."""
    text = (ROOT / "examples/serving/Containerfile").read_text().replace("\\\n", " ")
    found = re.findall(r"^([A-Z]+) .*?(\[.*\])$", text, re.MULTILINE)
    return {name: json.loads(words) for name, words in found}


def test_the_image_takes_all_that_the_package_is_built_from_and_nothing_else():
    text = (ROOT / "examples/serving/Containerfile").read_text()
    copied = [
        name for line in re.findall(r"^COPY (.*) \S+$", text, re.MULTILINE) for name in line.split()
    ]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert all((ROOT / name).exists() for name in copied)
    assert {"pyproject.toml", "src", project["readme"], *project["license-files"]} <= {*copied}
    assert not {".", ".git", ".venv", "tests"} & {*copied}


def can_build():
    """Whether there is a Docker that answers."""
    docker = shutil.which("docker")
    return docker and subprocess.run([docker, "info"], capture_output=True).returncode == 0


@pytest.mark.skipif(not can_build(), reason="needs Docker, and its registry")
def test_the_image_is_built_by_the_command_of_the_page():
    (command,) = re.findall(r"`(docker build .*?)`", (ROOT / "docs/serving.md").read_text())
    subprocess.run(command.split(), cwd=ROOT, check=True, timeout=900)


@pytest.fixture
def port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def test_the_service_of_the_container_starts_is_healthy_and_stops(steps, port, model, tmp_path):
    program, *words = steps["ENTRYPOINT"] + steps["CMD"]
    assert program == "vvm"
    (tmp_path / "tokens").write_text(f"write {TOKEN}\n")
    words = [word.replace("/data", str(tmp_path)) for word in words]
    python, dash_c, code = steps["HEALTHCHECK"]
    assert (python, dash_c) == ("python", "-c")
    with forking.start(COMMAND, *words, "--port", str(port), cwd=tmp_path) as process:

        def is_healthy():
            try:
                exec(code.replace("8750", str(port)), {})
            except OSError:
                return False
            return True

        until(is_healthy, 120)
        rows, labels = rows_of(1)
        address = f"http://127.0.0.1:{port}"
        assert Client(address, TOKEN).learn(rows[0], labels[0]) == "accepted"
        with pytest.raises(ServiceError, match="found no token"):
            Client(address).predict(rows[0])
        process.send_signal(signal.SIGTERM)
        assert process.wait() == 0
    assert (tmp_path / "m.vvm.store").exists()


def test_its_extra_is_one_that_there_is_and_its_model_name_is_the_one_it_serves(steps):
    text = (ROOT / "examples/serving/Containerfile").read_text()
    assert 'pip install --no-cache-dir "/src[serve]"' in text
    assert "\nserve = [\n" in (ROOT / "pyproject.toml").read_text()
    assert steps["CMD"] == ["--model", "/data/m.vvm"]


def test_systemd_finds_nothing_wrong_with_the_unit(tmp_path):
    if not shutil.which("systemd-analyze"):
        pytest.skip("needs systemd")
    unit = (ROOT / "examples/serving/vvm@.service").read_text()
    assert "=/opt/vvm/bin/vvm serve" in unit
    (tmp_path / "vvm@m.service").write_text(unit.replace("/opt/vvm/bin/vvm", str(VVM)))
    verify = ["systemd-analyze", "verify", tmp_path / "vvm@m.service"]
    done = subprocess.run(verify, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
