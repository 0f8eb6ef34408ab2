"""The programs behind `make picture` and `make bench` run."""

import json
import runpy
import sys
from pathlib import Path

import pytest

import bench
import compare

ROOT = Path(__file__).parent.parent


def test_the_picture_of_the_readme_is_drawn(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["picture.py", str(tmp_path / "learning.png")])
    runpy.run_path(str(ROOT / "examples/picture.py"), run_name="__main__")
    assert (tmp_path / "learning.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.processes
def test_the_benchmark_writes_what_it_measured(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(bench, "QUICK", bench.QUICK._replace(dimensions=(100,), rounds=1))
    out = tmp_path / "speed.json"
    # Whether the ceiling is kept on a busy machine is for people to judge: exit code 1 is fine.
    assert bench.main(["--quick", "--only", "rows", "--json", str(out)]) in (0, 1)
    assert "the ceiling is 20" in capsys.readouterr().out
    assert json.loads(out.read_text())["figures"]
    assert compare.main([str(out), str(out)]) == 0
