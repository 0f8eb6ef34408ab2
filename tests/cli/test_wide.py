"""Very wide tables, by the real command."""

import json
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from virtualvector import WideVVMClassifier
from virtualvector.cli.run import warm_up
from virtualvector.posterior import engine
from virtualvector.posterior.residual.cut import cut_residual
from virtualvector.streams import Column


@pytest.fixture
def wide(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 900))
    lines = [
        ",".join([*(f"{x:.3g}" for x in row), "yes" if row[:9].sum() > 0 else "no"]) for row in X
    ]
    header = ",".join([*(f"x{k}" for k in range(900)), "label"])
    (tmp_path / "wide.csv").write_text("\n".join([header, *lines]) + "\n")


def test_the_budget_bounds_the_model_and_what_was_given_up_is_said(vvm, wide):
    done = vvm("learn", "wide.csv", "--budget", 100_000, "--model", "m.vvm", "--json", "l.json")
    assert done.code == 0
    assert "given up to keep the budget: 8 of 11 experts" in done.err
    assert "900 inputs are added up in" in done.err
    facts = json.loads(Path("l.json").read_text())
    assert len(facts["given_up"]) == 3  # experts, covariances, and the width
    assert Path("m.vvm").stat().st_size < 3_000_000  # of all experts: 60 MB and more
    assert vvm("evaluate", "wide.csv", "--model", "m.vvm").code == 0
    assert vvm("inspect", "m.vvm").code == 0


def test_a_single_learner_keeps_a_budget_too(vvm, wide):
    done = vvm(
        "learn", "wide.csv", "--learner", "adf", "--budget", 50_000, "--json", "l.json", "-q"
    )
    assert done.code == 0
    facts = json.loads(Path("l.json").read_text())
    assert facts["bytes"] < 1_400_000  # and 13 MB without
    assert facts["given_up"]


@pytest.mark.parametrize(
    "column", [Column("f", False, n_places=2**22), Column("t", False, text=True)]
)
def test_kernels_are_compiled_before_there_is_memory_for_all_places(column, monkeypatch):
    texts = ["t"] if column.text else None
    model = WideVVMClassifier(5, n_places=2**22, n_hashed=2**22, text_features=texts)
    cuts = []
    monkeypatch.setattr(engine, "cut_residual", lambda at: cuts.append(at) or cut_residual(at))
    tracemalloc.start()
    try:
        warm_up(model, [column])
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 8 * 2**22 / 4  # of one number for each place
    assert cuts  # the last kernel that is needed
    assert not hasattr(model, "classes_")
