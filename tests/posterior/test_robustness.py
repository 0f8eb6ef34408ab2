"""Any finite data, any settings: a proper posterior, and no nan."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from virtualvector.posterior import (
    Settings,
    Strategy,
    empty_state,
    gaussian,
    learn,
    log_probabilities,
    standardised_margins,
)


def assert_proper(state, rows, how):
    for name, array in zip(state._fields, state, strict=True):
        assert np.all(np.isfinite(array)), name
    found = gaussian(state)
    covariance = found.covariance
    assert np.array_equal(covariance, covariance.T)
    assert np.linalg.eigvalsh(covariance).min() > 0
    assert np.all(np.diag(found.factor) > 0)
    residual = state.factor.T @ state.factor
    assert np.linalg.eigvalsh(residual).min() > 0
    margins = standardised_margins(found, rows, how.margin_noise)
    assert np.all(np.isfinite(margins))
    probabilities = np.empty_like(margins)
    for sign in (1.0, -1.0):
        log_probabilities(sign * margins, how.label_noise, probabilities)
        assert np.all(probabilities <= 0)
        assert not np.any(np.isnan(probabilities))


entries = st.one_of(
    st.floats(-3, 3),
    st.sampled_from([0.0, 1.0, -1.0, 1e-9]),
    st.floats(allow_nan=False, allow_infinity=False),
)


@st.composite
def streams(draw):
    d = draw(st.integers(1, 6))
    distinct = draw(st.lists(st.lists(entries, min_size=d, max_size=d), min_size=1, max_size=12))
    chosen = draw(st.lists(st.integers(0, len(distinct) - 1), min_size=1, max_size=40))
    rows = np.array(distinct)[chosen]
    scales = draw(st.lists(st.sampled_from([0.0, -100.0, 100.0, 1.0]), min_size=d, max_size=d))
    with np.errstate(over="ignore"):
        rows = np.clip(rows * 10.0 ** np.array(scales), -1e300, 1e300)
    kind = draw(st.sampled_from(["random", "one class", "linear"]))
    if kind == "one class":
        signs = np.ones(len(rows))
    elif kind == "linear":
        signs = np.where(rows[:, 0] >= 0, 1.0, -1.0)
    else:
        flips = draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows)))
        signs = np.where(flips, 1.0, -1.0)
    return rows, signs


hows = st.builds(
    Settings,
    label_noise=st.sampled_from([0.0, 1e-300, 1e-12, 1e-3, 0.1, 0.3, 0.4999]),
    margin_noise=st.sampled_from([0.0, 1e-300, 1e-12, 1e-3, 1.0, 1e6, 1e300]),
    buffer_size=st.sampled_from([0, 1, 2, 3, 5, 8, 20]),
    strategy=st.sampled_from([int(s) for s in Strategy]),
    merge_pairs=st.sampled_from([0, 1, 3, 10]),
    tolerance=st.sampled_from([1e-10, 1e-2, 0.0]),
    max_sweeps=st.sampled_from([0, 1, 5, 50]),
    half_life=st.just(math.inf),
    rank=st.just(-1),
    independent=st.just(False),
)


@settings(max_examples=400, deadline=None)
@given(stream=streams(), how=hows, bias=st.booleans())
def test_any_finite_stream_gives_a_proper_posterior(stream, how, bias):
    rows, signs = stream
    state, events = learn(empty_state(rows.shape[1] + bias, how), rows, signs, how)
    assert_proper(state, rows, how)
    assert np.all(events.log_probability <= 0)
    assert np.all(np.isfinite(events.log_probability))


@pytest.mark.parametrize("strategy", list(Strategy))
@pytest.mark.parametrize("label_noise", [0.0, 0.02])
@pytest.mark.parametrize("d", [2, 12])
def test_hundreds_of_contradictions_without_margin_noise(d, label_noise, strategy):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(10, d))[rng.integers(10, size=600)]
    signs = rng.choice([-1.0, 1.0], 600)
    how = Settings(buffer_size=8, label_noise=label_noise, strategy=int(strategy))
    state, _ = learn(empty_state(d, how), rows, signs, how)
    assert_proper(state, rows, how)


@pytest.mark.parametrize("buffer_size", [0, 5, 30])
def test_the_hardest_rows_of_double_precision(buffer_size):
    tiny, huge = np.finfo(float).smallest_subnormal, np.finfo(float).max
    rows = np.array([[huge, huge], [tiny, 0], [-huge, tiny], [tiny, tiny], [0, 0], [1, huge]] * 10)
    signs = np.where(np.arange(60) % 3 == 0, 1.0, -1.0)
    for bias in (0, 1):
        for margin_noise in (0.0, 1.0):
            how = Settings(buffer_size=buffer_size, margin_noise=margin_noise)
            state, _ = learn(empty_state(2 + bias, how), rows, signs, how)
            assert_proper(state, rows, how)


@pytest.mark.parametrize("merge_pairs", [0, 5])
@pytest.mark.parametrize(("buffer_size", "margin_space"), [(10, True), (10, False), (30, False)])
def test_labels_at_random_are_not_believed_too_much(buffer_size, margin_space, merge_pairs):
    """Without noise in the model, nothing fits; predictions stay of the quality of ADF."""
    rng = np.random.default_rng(0)
    rows, signs = rng.normal(size=(1000, 12)), rng.choice([-1.0, 1.0], 1000)
    how = Settings(buffer_size=buffer_size, merge_pairs=merge_pairs)
    start = empty_state(12, how, capacity=buffer_size + 1, margin_space=margin_space)
    _, events = learn(start, rows, signs, how)
    adf = how._replace(buffer_size=0)
    _, reference = learn(empty_state(12, adf), rows, signs, adf)
    assert events.log_probability.mean() > 1.2 * reference.log_probability.mean()
    assert events.log_probability.min() > 1.2 * reference.log_probability.min()
