"""The programs behind `make picture` and `make bench` run."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def run(script, *arguments):
    command = [sys.executable, str(ROOT / script), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


def test_the_picture_of_the_readme_is_drawn(tmp_path):
    done = run("examples/picture.py", tmp_path / "learning.png")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "learning.png").read_bytes().startswith(b"\x89PNG")


def test_the_benchmark_writes_what_it_measured(tmp_path):
    # Whether the ceiling is kept on a busy machine is for people to judge: exit code 1 is fine.
    out = tmp_path / "speed.json"
    done = run("benchmarks/bench.py", "--quick", "--only", "rows", "--json", out)
    assert done.returncode in (0, 1), done.stderr
    assert "the ceiling is 20" in done.stdout
    assert json.loads(out.read_text())["figures"]
    assert run("benchmarks/compare.py", out, out).returncode == 0
