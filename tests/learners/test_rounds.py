"""Rounds: spans that shards learn side by side."""

from copy import copy

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from virtualvector import ADFClassifier, VVMClassifier
from virtualvector.datasets import load_spambase
from virtualvector.learners.rounds import begun, ended, rounds


@given(
    st.integers(0, 10**6),
    st.integers(0, 10**6),
    st.integers(1, 60),
    st.integers(1, 99),
    st.booleans(),
)
def test_every_row_is_in_one_span_and_rounds_grow_with_the_rows_before(
    n_seen, n_rows, shards, fewest, decides
):
    done = 0
    for spans in rounds(n_seen, n_rows, shards, fewest, decides):
        assert 1 <= len(spans) <= shards
        sizes = [span.stop - span.start for span in spans]
        assert max(sizes) - min(sizes) <= 1
        assert min(sizes) >= (fewest if len(spans) > 1 else 1)
        if len(spans) > 1:
            assert n_seen + done >= 256
            before = n_seen + done
            share = 4 if decides or before < 16_384 else 2 if before < 65_536 else 1
            assert sum(sizes) <= before / share
        for span in spans:
            assert span.start == done
            done = span.stop
    assert done == n_rows


@pytest.mark.parametrize(("decides", "n_rounds"), [(False, 9), (True, 20)])
def test_a_million_rows_take_nine_rounds_or_twenty_for_who_decides_at_their_ends(decides, n_rounds):
    plan = list(rounds(0, 10**6, 2, decides=decides))
    assert len(plan) == n_rounds
    assert all(len(spans) == 2 for spans in plan[1:])


@pytest.mark.parametrize("kind", [ADFClassifier, VVMClassifier])
@pytest.mark.parametrize("shards", [2, 8, 32])
def test_rounds_lose_less_than_a_hundredth_of_the_log_loss_of_one_machine(kind, shards):
    X, y = load_spambase(return_X_y=True, random_state=3)
    X = np.log1p(10.0 * X)

    def loss(model):
        return -np.log(model.predict_proba(X[3450:])[np.arange(1151), y[3450:].astype(int)]).mean()

    one = kind(margin_noise=1.0).partial_fit(X[:3450], y[:3450], classes=[0, 1])
    model = kind(margin_noise=1.0)
    for spans in rounds(0, 3450, shards, fewest=1):
        start = model if len(spans) == 1 else begun(model)
        parts = [copy(start).partial_fit(X[a:b], y[a:b], None if a else [0, 1]) for a, b in spans]
        model = ended(model, parts)
    assert model.n_seen_ == one.n_seen_ == 3450
    assert loss(model) < 1.01 * loss(one)
