"""One table in every format, learned and predicted by the command: the same answers, all pairs."""

import csv
import io
import warnings

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from tests.streams.test_any_way_in import (
    FORMATS,
    LIBRARIES,
    ONCE,
    categorical_of,
    classes,
    labels_for,
    names,
    tables,
    write_all,
)
from virtualvector import load


def quoted(names):
    """Return names as an option takes them that have commas and quotes."""
    return ",".join('"' + name.replace('"', '""') + '"' for name in names)


@settings(
    max_examples=2,
    deadline=None,
    phases=ONCE,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(tables, tables, names, classes, st.randoms(use_true_random=False))
def test_the_command_learns_and_predicts_the_same_bits(
    vvm, tmp_path, table, other, names, pair, random
):
    labels = labels_for(table, pair, random)
    for name, rows, known in (("seen", table, labels), ("new", other, [pair[0]] * len(other))):
        (tmp_path / name).mkdir(exist_ok=True)
        write_all(rows, names, known, tmp_path / name)
    outputs = set()
    probabilities = []
    for name in FORMATS:
        chosen = f"--categorical={quoted(categorical_of(names))}"
        learning = vvm("learn", f"seen/{name}", "--model", f"{name}.vvm", "--learner", "adf", "-q",
                       "--label", "label", chosen)  # fmt: skip
        assert learning.code == 0, learning.err
        # All files are asked about in one go, and each after another.
        done = vvm("predict", *(f"new/{each}" for each in FORMATS), "--model", f"{name}.vvm",
                   "--proba")  # fmt: skip
        assert done.code == 0, done.err
        outputs.add(done.out)
        model = load(tmp_path / f"{name}.vvm")
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "X (has|does not have) (valid )?feature names")
            probabilities += [
                model.predict_proba(make(other, names)) for make in LIBRARIES.values()
            ]
    [text] = outputs
    _, *lines = csv.reader(io.StringIO(text))
    assert lines == lines[: len(other)] * len(FORMATS)
    # What Python learns is what the command has learned.
    for make in LIBRARIES.values():
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "X (has|does not have) (valid )?feature names")
            again = clone(model).partial_fit(make(table, names), np.array(labels))
            probabilities.append(again.predict_proba(typed_rows(other, names)))
    for each in probabilities:
        np.testing.assert_array_equal(each, probabilities[0])


def typed_rows(table, names):
    return LIBRARIES["Arrow"](table, names)
