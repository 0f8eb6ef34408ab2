"""Labels that come in blocks, and rows that are learned in a random order."""

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris

from tests.cli.conftest import lines_of
from virtualvector.cli.checkpoint import ModelFile

FAST = ("--learner", "adf")


@pytest.fixture
def iris(tmp_path):
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    lines = [",".join([*map(str, row), name]) for row, name in zip(X, names, strict=True)]
    (tmp_path / "iris.csv").write_text("\n".join(["a,b,c,d,kind", *lines]) + "\n")


def test_labels_in_blocks_are_noticed_and_it_is_said_what_to_do(vvm, iris):
    done = vvm("learn", "iris.csv", "--json", "sorted.json")
    assert done.code == 0
    assert "labels come in blocks" in done.err
    assert "--shuffle" in done.err
    assert json.loads(Path("sorted.json").read_text())["label_runs"]["observed"] == 3
    assert "in blocks" not in vvm("learn", "iris.csv", "--shuffle").err


def test_shuffled_iris_is_learned_as_well_as_fit_does(vvm, iris):
    for seed in (0, 1):
        learn = ("learn", "iris.csv", "--model", "m.vvm", "--shuffle", "--seed", seed, "-q")
        assert vvm(*learn).code == 0
        vvm("evaluate", "iris.csv", "--model", "m.vvm", "--json", "e.json")
        assert json.loads(Path("e.json").read_text())["error"] < 0.06


def test_a_class_that_comes_too_late_is_met_by_shuffling(vvm, tmp_path):
    rows = [f"{k % 7},{kind}" for kind in "abc" for k in range(1200)]
    (tmp_path / "late.csv").write_text("\n".join(["x,kind", *rows]) + "\n")
    done = vvm("learn", "late.csv", *FAST, "-q")
    assert done.code == 2
    assert "labels come in blocks, and --shuffle mixes them" in done.err
    assert vvm("learn", "late.csv", "--shuffle", *FAST, "-q").code == 0


def test_a_shuffled_run_that_was_cut_short_goes_on_to_the_same_bytes(vvm, tmp_path, monkeypatch):
    lines = list(lines_of(600))
    (tmp_path / "rows.csv").write_text("\n".join(lines) + "\n")
    learn = ("learn", "rows.csv", "--shuffle", "--seed", 3, "-q", "--checkpoint-every", 100)
    assert vvm(*learn, *FAST, "--model", "whole.vvm").code == 0
    whole = (tmp_path / "whole.vvm").read_bytes()
    save, saved = ModelFile.save, []

    def save_twice(self, checkpoint):
        if len(saved) == 2:
            raise MemoryError
        save(self, checkpoint)
        saved.append(checkpoint.progress.n_rows)

    with monkeypatch.context() as patch:
        patch.setattr(ModelFile, "save", save_twice)
        assert vvm(*learn, *FAST, "--model", "m.vvm").code != 0
    assert saved == [100, 200]
    assert vvm("learn", "rows.csv", "--resume", "-q", "--model", "m.vvm").code == 0  # as it began
    assert (tmp_path / "m.vvm").read_bytes() == whole
    # Without a bit of the order it is another run.
    done = vvm("learn", "rows.csv", "--resume", "--seed", 4, "--model", "m.vvm")
    assert done.code == 2
    (tmp_path / "rows.csv").write_text("\n".join([*lines, lines[1]]) + "\n")
    done = vvm("learn", "rows.csv", "--resume", "--model", "m.vvm")
    assert done.code == 2
    assert "or none with --shuffle" in done.err


def test_what_comes_through_a_pipe_is_shuffled_as_a_file_is(vvm, tmp_path):
    text = "\n".join(lines_of(300)) + "\n"
    (tmp_path / "rows.csv").write_text(text)
    assert vvm("learn", "rows.csv", "--shuffle", "--model", "file.vvm", "-q", *FAST).code == 0
    assert vvm("learn", "-", "--shuffle", "--model", "pipe.vvm", "-q", *FAST, stdin=text).code == 0
    assert (tmp_path / "file.vvm").read_bytes() == (tmp_path / "pipe.vvm").read_bytes()


def test_appended_rows_are_shuffled_only_if_asked(vvm, rows):
    vvm("learn", rows(200), "--shuffle", "--model", "m.vvm", "-q", *FAST)
    done = vvm("learn", rows(100, "more.csv", seed=1), "--append", "--model", "m.vvm", *FAST)
    assert done.code == 0
    assert "to shuffle them" not in done.err
