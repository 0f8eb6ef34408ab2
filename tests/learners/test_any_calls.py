"""Whatever is called with whatever: a learner has learned all of a call, or is what it was."""

import copy
import datetime as dt
import math

import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError

from virtualvector import ADFClassifier, AutoVVMClassifier, Expert, VVMClassifier
from virtualvector.persistence.mixin import contents_of

FEW = (Expert(None, 1.0, buffer_size=2), Expert(0.5, 0.1))
LEARNERS = {
    "committee": lambda how: AutoVVMClassifier(experts=FEW, n_frequencies=3, new_columns=how),
    "one expert": lambda how: AutoVVMClassifier(experts=FEW[:1], scale=False, new_columns=how),
    "vvm": lambda how: VVMClassifier(3, margin_noise=0.5, new_columns=how),
    "adf": lambda how: ADFClassifier(margin_noise=0.5, new_columns=how),
}

names = st.sampled_from(["a", "b", "c", "d", "e"])
usual = st.floats(-3, 3).map(lambda x: round(x, 1))
odd = st.sampled_from([None, math.nan, math.inf, "red", "blue", "2.5", "03/04/2021", True, [1.0],
                       dt.date(2026, 11, 17), 10**400, 1j, np.float32(0.1)])  # fmt: skip
cells = st.one_of(usual, usual, usual, odd)
rows = st.one_of(
    st.dictionaries(names, usual, min_size=1),
    st.dictionaries(names, cells),
    st.lists(cells, max_size=4),
    st.lists(usual, min_size=2, max_size=3).map(np.array),
)
labels = st.one_of(st.integers(0, 1), st.integers(0, 2), st.sampled_from(["no", None, 0.5]))


def tables_of(n):
    """Tables of so many rows, and labels."""
    columns = st.dictionaries(names, st.lists(cells, min_size=n, max_size=n), min_size=1)
    return st.tuples(columns.map(pd.DataFrame), st.lists(labels, min_size=n, max_size=n))


tables = st.integers(1, 3).flatmap(tables_of)
weights = st.sampled_from([1.0, 1.0, 2.0, 0.5, 0.0, -1.0, math.nan])
calls = st.one_of(
    st.tuples(st.just("learn_one"), rows, labels, weights),
    st.tuples(st.just("learn_one"), rows, st.integers(0, 1), st.just(1.0)),
    st.tuples(st.just("partial_fit"), tables),
    st.tuples(st.just("predict_then_learn"), tables),
    st.tuples(st.just("predict_proba_one"), rows),
    st.tuples(st.just("predict_one"), rows),
    st.tuples(st.just("predict_proba"), tables),
)
# A warning, of rows without names or of labels in a column, is an error in tests.
REFUSALS = (ValueError, TypeError, OverflowError, NotFittedError, AttributeError, Warning)


def state_of(model):
    """Every bit of a model, or that it has none."""
    return contents_of(model) if hasattr(model, "classes_") else None


def done(model, call):
    """Do it; return how many rows it learned, None if it was refused."""
    name, *given = call
    if name in ("partial_fit", "predict_then_learn"):
        getattr(model, name)(*given[0])
        return len(given[0][1])
    if name == "learn_one":
        x, y, weight = given
        model.learn_one(x, y, sample_weight=weight)
        return math.ceil(weight)
    getattr(model, name)(given[0][0] if name == "predict_proba" else given[0])
    return 0


@settings(max_examples=25, deadline=None)
@given(
    st.sampled_from(list(LEARNERS)),
    st.sampled_from(["add", "add", "error"]),
    st.booleans(),
    st.lists(calls, min_size=1, max_size=6),
)
def test_a_call_learns_all_of_its_rows_or_none_and_a_prediction_changes_nothing(
    name, how, begun, sequence
):
    model = LEARNERS[name](how)
    if begun:
        first = pd.DataFrame({"a": [1.0, -1.0, 0.5], "b": [0.0, 1.0, 2.0]})
        model.partial_fit(first, [0, 1, 0]).learn_one({"a": 0.3, "b": 1.0}, 1)
    for call in sequence:
        before = state_of(model)
        n_before = 0 if before is None else model.n_seen_
        twin = copy.copy(model)
        try:
            n_learned = done(model, call)
        except REFUSALS:
            assert state_of(model) == before
            continue
        if before is None and not hasattr(model, "classes_"):
            assert n_learned == 0
            continue
        assert model.n_seen_ == n_before + n_learned
        if n_learned == 0 and before is not None:
            assert state_of(model) == before
        # What was learned is what any copy would have learned, and can be saved.
        done(twin, call)
        assert state_of(twin) == state_of(model)
