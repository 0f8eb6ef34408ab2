import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.utils.estimator_checks import parametrize_with_checks

from virtualvector.features import RandomFourierFeatures

BOTH = ["orthogonal", "independent"]
both_kinds = pytest.mark.parametrize("frequencies", BOTH)


def standard_rows(n_rows, n_inputs, seed=0):
    return np.random.default_rng(seed).normal(size=(n_rows, n_inputs))


def squared_errors(X, n_frequencies, bandwidth, frequencies, n_seeds):
    """Return the squared error of every kernel value, averaged over seeds."""
    exact = rbf_kernel(X, gamma=1 / (2 * bandwidth**2))
    total = np.zeros_like(exact)
    for seed in range(n_seeds):
        Z = RandomFourierFeatures(
            n_frequencies, bandwidth=bandwidth, frequencies=frequencies, random_state=seed
        ).fit_transform(X)
        total += (Z @ Z.T - exact) ** 2
    return total / n_seeds


@parametrize_with_checks([RandomFourierFeatures()])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


# --- the kernel ---------------------------------------------------------------------------------


@both_kinds
@pytest.mark.parametrize("n_inputs", [1, 3, 10])
def test_kernel_values_are_unbiased(frequencies, n_inputs):
    X = standard_rows(12, n_inputs)
    bandwidth = np.sqrt(2 * n_inputs)
    values = []
    for seed in range(300):
        Z = RandomFourierFeatures(
            n_inputs, bandwidth=bandwidth, frequencies=frequencies, random_state=seed
        ).fit_transform(X)
        values.append((Z @ Z.T)[np.triu_indices(12, 1)])
    exact = rbf_kernel(X, gamma=1 / (2 * bandwidth**2))[np.triu_indices(12, 1)]
    standard_error = np.std(values, axis=0) / np.sqrt(len(values))
    assert np.max(np.abs(np.mean(values, axis=0) - exact) / standard_error) < 5


@pytest.mark.parametrize("n_frequencies", [5, 50, 500])
def test_error_of_independent_frequencies_is_the_variance_of_a_cosine_over_their_number(
    n_frequencies,
):
    # Var cos(ωᵀδ) = (1 − k²)²/2 for ω ~ N(0, I) and k = exp(−|δ|²/2).
    X = standard_rows(30, 4)
    exact = rbf_kernel(X, gamma=1 / (2 * 2.0**2))
    measured = squared_errors(X, n_frequencies, 2.0, "independent", n_seeds=200).mean()
    expected = np.mean((1 - exact**2) ** 2 / (2 * n_frequencies))
    assert measured == pytest.approx(expected, rel=0.15)


def test_error_of_orthogonal_frequencies_falls_as_one_over_their_number():
    X = standard_rows(30, 5)
    few = squared_errors(X, 10, 3.0, "orthogonal", n_seeds=300).mean()
    many = squared_errors(X, 160, 3.0, "orthogonal", n_seeds=300).mean()
    assert few / many == pytest.approx(16, rel=0.25)


@pytest.mark.parametrize("n_inputs", [3, 10, 30])
@pytest.mark.parametrize("blocks", [1, 3, 10.5])
def test_orthogonal_frequencies_approximate_the_kernel_better(n_inputs, blocks):
    X = standard_rows(40, n_inputs)
    n_frequencies = int(blocks * n_inputs)
    for bandwidth in np.sqrt(2 * n_inputs) * np.array([0.5, 1.0, 2.0]):
        orthogonal, independent = (
            squared_errors(X, n_frequencies, bandwidth, kind, n_seeds=30).mean() for kind in BOTH
        )
        assert orthogonal < 0.9 * independent
    assert RandomFourierFeatures().frequencies == "orthogonal"


@both_kinds
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rows_have_unit_length(frequencies, dtype):
    X = (100 * standard_rows(50, 3)).astype(dtype)
    Z = RandomFourierFeatures(7, frequencies=frequencies, random_state=0).fit_transform(X)
    assert Z.dtype == dtype
    np.testing.assert_allclose(np.linalg.norm(Z, axis=1), 1.0, rtol=4 * np.finfo(dtype).eps)


def test_features_are_cosines_then_sines_of_the_scaled_phases():
    X = standard_rows(20, 3)
    features = RandomFourierFeatures(8, bandwidth=0.7, random_state=0).fit(X)
    phases = X @ features.frequencies_.T / 0.7
    expected = np.hstack([np.cos(phases), np.sin(phases)]) / np.sqrt(8)
    np.testing.assert_allclose(features.transform(X), expected, atol=1e-14)


# --- the frequencies ----------------------------------------------------------------------------


@pytest.mark.parametrize(("n_frequencies", "n_inputs"), [(4, 4), (10, 4), (3, 7), (5, 1)])
def test_frequencies_of_a_block_are_orthogonal(n_frequencies, n_inputs):
    features = RandomFourierFeatures(n_frequencies, random_state=0)
    frequencies = features.fit(np.zeros((1, n_inputs))).frequencies_
    assert frequencies.shape == (n_frequencies, n_inputs)
    for start in range(0, n_frequencies, n_inputs):
        block = frequencies[start : start + n_inputs]
        block = block / np.linalg.norm(block, axis=1, keepdims=True)
        np.testing.assert_allclose(block @ block.T, np.eye(len(block)), atol=1e-14)


@both_kinds
@pytest.mark.parametrize("n_inputs", [1, 2, 9])
def test_frequencies_are_marginally_standard_normal(frequencies, n_inputs):
    drawn = (
        RandomFourierFeatures(6000, frequencies=frequencies, random_state=1)
        .fit(np.zeros((1, n_inputs)))
        .frequencies_
    )
    lengths = np.linalg.norm(drawn, axis=1)
    assert stats.kstest(lengths, stats.chi(n_inputs).cdf).pvalue > 0.01
    for column in drawn.T:
        assert stats.kstest(column, "norm").pvalue > 0.001


def test_lengths_within_a_block_are_uncorrelated():
    lengths = np.linalg.norm(
        RandomFourierFeatures(8000, random_state=0).fit(np.zeros((1, 4))).frequencies_, axis=1
    ).reshape(-1, 4)
    correlations = np.corrcoef(lengths.T)[np.triu_indices(4, 1)]
    assert np.abs(correlations).max() < 4 / np.sqrt(len(lengths))


@both_kinds
def test_a_seed_fixes_the_features(frequencies):
    X = standard_rows(1500, 3)
    first, again, other = (
        RandomFourierFeatures(9, frequencies=frequencies, random_state=seed).fit(X)
        for seed in (0, 0, 1)
    )
    assert first.bandwidth_ == again.bandwidth_
    np.testing.assert_array_equal(first.transform(X), again.transform(X))
    assert not np.array_equal(first.frequencies_, other.frequencies_)


def test_frequencies_depend_on_the_seed_and_the_number_of_columns_only():
    median = RandomFourierFeatures(9, random_state=0).fit(standard_rows(1500, 3))
    given_bandwidth = RandomFourierFeatures(9, bandwidth=5, random_state=0).fit([[1, 2, 3]])
    np.testing.assert_array_equal(median.frequencies_, given_bandwidth.frequencies_)


# --- the bandwidth ------------------------------------------------------------------------------


def median_by_brute_force(X):
    rows = X.tolist()
    distances = [
        sum((a - b) ** 2 for a, b in zip(x, y, strict=True)) ** 0.5
        for i, x in enumerate(rows)
        for y in rows[:i]
        if x != y
    ]
    return np.median(distances)


def test_median_bandwidth_is_the_median_distance():
    X = standard_rows(60, 4) * [1, 10, 0.1, 3] + [5, 0, -100, 2]
    fitted = RandomFourierFeatures().fit(X)
    assert fitted.bandwidth_ == pytest.approx(median_by_brute_force(X), rel=1e-12)


def test_median_bandwidth_of_standardised_inputs_is_near_the_root_of_twice_their_number():
    fitted = RandomFourierFeatures(random_state=0).fit(standard_rows(5000, 50))
    assert fitted.bandwidth_ == pytest.approx(10, rel=0.02)


def test_repeated_rows_do_not_pull_the_median_bandwidth_to_zero():
    X = np.vstack([np.zeros((80, 2)), standard_rows(20, 2)])
    fitted = RandomFourierFeatures().fit(X)
    assert fitted.bandwidth_ == pytest.approx(median_by_brute_force(X), rel=1e-12)
    assert fitted.bandwidth_ > 0.5


@pytest.mark.parametrize("X", [np.full((5, 2), 1e200), np.zeros((5, 2)), [[3.0, 4.0]]])
def test_bandwidth_is_one_where_all_rows_are_the_same(X):
    assert RandomFourierFeatures().fit(X).bandwidth_ == 1.0


@pytest.mark.parametrize("scale", [1e-300, 1e-200, 1e200, 1e300])
def test_median_bandwidth_scales_with_the_rows(scale):
    X = standard_rows(30, 3)
    fitted, scaled = (RandomFourierFeatures(random_state=0).fit(rows) for rows in (X, scale * X))
    assert scaled.bandwidth_ == pytest.approx(scale * fitted.bandwidth_, rel=1e-12)
    np.testing.assert_allclose(scaled.transform(scale * X), fitted.transform(X), atol=1e-12)


@pytest.mark.parametrize(
    ("edge", "bandwidth"),
    [
        (np.finfo(float).max, np.finfo(float).max),
        (np.finfo(float).smallest_subnormal * 2, np.finfo(float).tiny),
    ],
)
def test_median_bandwidth_stays_a_normal_number_at_the_edges_of_double_precision(edge, bandwidth):
    X = np.array([[-edge], [edge]])
    features = RandomFourierFeatures().fit(X)
    assert features.bandwidth_ == bandwidth
    assert np.isfinite(features.transform(X)).all()


def test_a_large_constant_column_does_not_hide_the_distances_of_the_others():
    X = standard_rows(30, 3)
    shifted = np.column_stack([X, np.full(30, 1e200)])
    without, within = (RandomFourierFeatures().fit(rows).bandwidth_ for rows in (X, shifted))
    assert within == pytest.approx(without, rel=1e-12)


# --- streams ------------------------------------------------------------------------------------


def test_the_first_partial_fit_is_a_fit_and_later_ones_change_nothing():
    X = standard_rows(100, 3)
    fitted = RandomFourierFeatures(random_state=0).fit(X[:20])
    stream = RandomFourierFeatures(random_state=0)
    for start in range(0, 100, 20):
        stream.partial_fit(X[start : start + 20])
    assert stream.bandwidth_ == fitted.bandwidth_
    np.testing.assert_array_equal(stream.transform(X), fitted.transform(X))


def test_partial_fit_refuses_rows_that_do_not_fit():
    stream = RandomFourierFeatures().partial_fit([[1.0, 2.0]])
    with pytest.raises(ValueError, match="3 features, but RandomFourierFeatures is expecting 2"):
        stream.partial_fit([[1.0, 2.0, 3.0]])
    with pytest.raises(ValueError, match="NaN"):
        stream.partial_fit([[1.0, np.nan]])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("n_frequencies", "n_inputs"), [(1, 1), (7, 3), (101, 57)])
def test_a_row_has_the_same_features_to_the_bit_alone_and_in_a_batch(
    n_frequencies, n_inputs, dtype
):
    X = standard_rows(64, n_inputs).astype(dtype)
    features = RandomFourierFeatures(n_frequencies, random_state=0).fit(X)
    together = features.transform(X)
    for size in (1, 5):
        parts = [features.transform(X[i : i + size]) for i in range(0, len(X), size)]
        np.testing.assert_array_equal(np.vstack(parts), together)
    np.testing.assert_array_equal(features.transform(np.asfortranarray(X)), together)


# --- extremes -----------------------------------------------------------------------------------

finite_rows = arrays(float, (4, 3), elements=st.floats(allow_nan=False, allow_infinity=False))
bandwidths = st.one_of(
    st.just("median"),
    st.floats(min_value=0, exclude_min=True, allow_infinity=False),
)


@settings(deadline=None)
@given(X=finite_rows, bandwidth=bandwidths)
def test_any_finite_rows_and_bandwidth_give_rows_of_unit_length(X, bandwidth):
    Z = RandomFourierFeatures(5, bandwidth=bandwidth, random_state=0).fit_transform(X)
    np.testing.assert_allclose(np.linalg.norm(Z, axis=1), 1.0, rtol=1e-12)


def test_columns_of_very_different_sizes_give_finite_features():
    X = standard_rows(30, 3) * [1e100, 1.0, 1e-100]
    for bandwidth in ("median", 1.0, 1e-100):
        Z = RandomFourierFeatures(bandwidth=bandwidth, random_state=0).fit_transform(X)
        np.testing.assert_allclose(np.linalg.norm(Z, axis=1), 1.0, rtol=1e-12)


def test_single_precision_rows_match_double_precision_ones():
    X = (1e4 * standard_rows(30, 3)).astype(np.float32)
    features = RandomFourierFeatures(bandwidth=1.0, random_state=0).fit(X)
    np.testing.assert_allclose(
        features.transform(X), features.transform(X.astype(float)), atol=1e-7
    )


# --- living with scikit-learn -------------------------------------------------------------------


@pytest.mark.parametrize(("library", "frame"), [("pandas", pd.DataFrame), ("polars", pl.DataFrame)])
def test_set_output_gives_named_frames(library, frame):
    X = pd.DataFrame(standard_rows(10, 2), columns=["height", "width"])
    features = RandomFourierFeatures(2, random_state=0).fit(X)
    expected = features.transform(X)
    Z = features.set_output(transform=library).transform(X)
    assert isinstance(Z, frame)
    assert list(Z.columns) == [f"randomfourierfeatures{i}" for i in range(4)]
    assert list(features.get_feature_names_out()) == list(Z.columns)
    assert list(features.feature_names_in_) == ["height", "width"]
    np.testing.assert_array_equal(Z.to_numpy(), expected)


def test_a_clone_has_the_parameters_and_nothing_else():
    features = RandomFourierFeatures(
        7, bandwidth=2.0, frequencies="independent", random_state=3
    ).fit([[1.0]])
    copy = clone(features)
    assert copy.get_params() == features.get_params()
    assert not hasattr(copy, "frequencies_")


def test_pickling_keeps_the_features():
    X = standard_rows(10, 2)
    features = RandomFourierFeatures(random_state=0).fit(X)
    copy = pickle.loads(pickle.dumps(features))
    np.testing.assert_array_equal(copy.transform(X), features.transform(X))


@pytest.mark.parametrize("method", ["fit", "partial_fit", "fit_transform"])
@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({"n_frequencies": 0}, r"an int in the range \[1, inf\). Got 0 instead"),
        ({"n_frequencies": 2.5}, r"an int in the range \[1, inf\). Got 2.5 instead"),
        ({"bandwidth": 0.0}, r"a float in the range \(0.0, inf\). Got 0.0 instead"),
        ({"bandwidth": np.inf}, r"a float in the range \(0.0, inf\). Got inf instead"),
        ({"bandwidth": np.nan}, r"a float in the range \(0.0, inf\). Got nan instead"),
        ({"bandwidth": "mean"}, r"a str among {'median'} or .*. Got 'mean' instead"),
        ({"frequencies": "sobol"}, r"a str among {.*}. Got 'sobol' instead"),
        ({"random_state": "seed"}, r"Got 'seed' instead"),
    ],
)
def test_bad_parameters_are_named_with_what_was_found_and_expected(method, parameters, expected):
    (name,) = parameters
    message = f"The '{name}' parameter of RandomFourierFeatures must be .*{expected}"
    with pytest.raises(ValueError, match=message):
        getattr(RandomFourierFeatures(**parameters), method)([[1.0, 2.0]])
