"""Files of every format that there has been are read, and say what they said then."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from virtualvector import persistence

GOLDEN = sorted((Path(__file__).parent / "golden").glob("*.vvm"))


def test_there_are_some():
    assert len(GOLDEN) >= 21


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_files_written_earlier_are_read(path):
    expected = json.loads(path.with_suffix(".json").read_text())
    model = persistence.read(path).model
    names = getattr(model, "feature_names_in_", None)
    rows = (
        np.array(expected["rows"])
        if names is None
        else pd.DataFrame(expected["rows"], columns=names)
    )
    assert model.n_seen_ == expected["n_seen"]
    assert model.classes_.tolist() == expected["classes"]
    np.testing.assert_allclose(model.predict_proba(rows), expected["probabilities"], rtol=1e-9)
    model.partial_fit(rows, model.predict(rows))  # and they go on
    assert model.n_seen_ == expected["n_seen"] + len(rows)


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_the_processor_is_the_one_that_learned_whichever_reads(path):
    expected = json.loads(path.with_suffix(".json").read_text())
    assert persistence.read_header(path)["processor"] == expected.get("processor", "unknown")
