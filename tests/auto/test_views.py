"""What experts see of rows, against its definition."""

import math

import mpmath
import numpy as np
import pytest

from virtualvector import Expert
from virtualvector.auto.experts import DEFAULT, usual_experts
from virtualvector.auto.feature_space import FeatureSpace
from virtualvector.kernels.views import SQUARE, straighten
from virtualvector.learners.expert import check_expert


def space(n_inputs=7, n_numbers=5, n_frequencies=40):
    return FeatureSpace(n_inputs, 6.0, n_frequencies, 1e6, 3, n_inputs, n_numbers)


def rows(n_inputs=7):
    return np.random.default_rng(0).normal(size=(9, n_inputs))


def test_squares_are_those_of_numbers_less_one_before_the_inputs():
    view = space().view(Expert(None, 1.0, squares=True))
    seen = space().look([view], rows())[view]
    np.testing.assert_allclose(seen[:, :5], SQUARE * (rows()[:, :5] ** 2 - 1))
    np.testing.assert_array_equal(seen[:, 5:], rows())
    assert space().n_weights(Expert(None, 1.0, squares=True)) == seen.shape[1] + 1
    assert space().linear_part(Expert(None, 1.0, squares=True)) == (slice(5, 12), 1.0)


@pytest.mark.parametrize("x", [0.0, 1e-12, 0.3, -2.0, 5.0, -90.0, 99.9, 100.1, 700.0, -1e6])
@pytest.mark.parametrize("reach", [1.0, 3.0, 50.0])
def test_numbers_are_straightened_to_the_asinh_of_a_longer_reach(x, reach):
    with mpmath.workdps(50):
        size = min(abs(x), 1000.0)  # beyond that it is a straight line
        far = reach * (mpmath.asinh(mpmath.sinh(size) / reach) + abs(x) - size)
        expected = float(mpmath.sign(x) * far)
    # Inputs need no more than 14 digits behind the point, as those of `scale_rows`.
    assert straighten(x, reach) == pytest.approx(expected, rel=1e-13, abs=1e-14)


@pytest.mark.parametrize("squares", [False, True])
def test_numbers_that_were_scaled_count_as_they_are_within_the_reach_of_an_expert(squares):
    scaled = space()._replace(n_scaled=4)
    expert = Expert(None, 1.0, squares=squares, reach=3.0)
    deviations = rows()
    inputs = np.hstack([np.arcsinh(deviations[:, :4]), deviations[:, 4:]])
    seen = scaled.look([scaled.view(expert)], inputs)[scaled.view(expert)]
    expected = np.hstack([3.0 * np.arcsinh(deviations[:, :4] / 3.0), deviations[:, 4:]])
    np.testing.assert_allclose(seen[:, 5 * squares :], expected, rtol=1e-12)
    if squares:
        np.testing.assert_allclose(seen[:, :5], SQUARE * (expected[:, :5] ** 2 - 1), rtol=1e-12)


@pytest.mark.parametrize("columns", [1, 2])
@pytest.mark.parametrize("detail", [1, 2])
def test_features_of_few_columns_are_cosines_and_sines_of_these_alone(columns, detail):
    expert = Expert(0.5, 0.1, columns=columns, detail=detail)
    view = space().view(expert)
    seen = space().look([view], rows())[view]
    frequencies = space().frequencies((columns, 0))
    assert np.all(np.count_nonzero(frequencies, axis=1) == columns)
    # The bandwidth is in typical distances along so many columns, each of variance one.
    phases = rows() @ frequencies.T / (0.5 * math.sqrt(2 * space().spread))
    expected = np.hstack([np.cos(phases), np.sin(phases)]) / math.sqrt(40)
    np.testing.assert_allclose(np.sort(seen[0, :80]), np.sort(expected[0]), atol=1e-12)
    np.testing.assert_allclose((seen[:, :80] ** 2).sum(axis=1), 1.0)
    moved = rows()
    moved[:, frequencies[0] == 0] += 1.0
    again = space().look([view], moved)[view]
    one = np.argmin(np.abs(seen[0, :80] - expected[0, 0]))  # the first frequency's cosine
    np.testing.assert_allclose(again[:, one], seen[:, one], atol=1e-12)


@pytest.mark.parametrize("columns", [1, 2])
def test_features_of_few_columns_have_the_kernel_of_a_mean_over_columns(columns):
    """Products of features approach the mean of Gaussian kernels of the columns drawn."""
    n = 20_000
    wide = space(n_inputs=3, n_numbers=3, n_frequencies=n)
    view = wide.view(Expert(0.7, 0.1, columns=columns))
    x = np.random.default_rng(1).normal(size=(2, 3))
    seen = wide.look([view], x)[view][:, : 2 * n]
    squared = (x[0] - x[1]) ** 2
    sets = [(0,), (1,), (2,)] if columns == 1 else [(0, 1), (0, 2), (1, 2)]
    width = 2 * (0.7 * math.sqrt(2 * columns)) ** 2
    expected = np.mean([math.exp(-squared[list(s)].sum() / width) for s in sets])
    assert seen[0] @ seen[1] == pytest.approx(expected, abs=0.02)


def test_all_columns_are_seen_about_equally_often():
    counts = np.count_nonzero(space(n_inputs=5).frequencies((2, 0)), axis=0)
    assert counts.sum() == 80
    assert counts.min() >= 12
    assert counts.max() <= 20
    numbers = np.count_nonzero(space().frequencies((1, 0)), axis=0)
    assert numbers[:5].tolist() == [8] * 5
    assert not numbers[5:].any()


def test_views_do_not_depend_on_who_else_looks():
    views = [space().view(expert) for expert in DEFAULT]
    together = space().look(views, rows())
    for view in views:
        np.testing.assert_array_equal(space().look([view], rows())[view], together[view])


def test_without_numbers_nobody_looks_for_squares():
    assert not any(e.squares or e.columns == 1 for e in usual_experts(0, 4))
    assert usual_experts(4, 0) == DEFAULT


@pytest.mark.parametrize(
    "expert",
    [
        Expert(None, 1.0, columns=1),
        Expert(0.5, 1.0, columns=-1),
        Expert(0.5, 1.0, squares=True),
        Expert(0.5, 1.0, columns=1.5),
    ],
)
def test_views_that_cannot_be_are_refused(expert):
    with pytest.raises(ValueError, match=r"found (columns|squares)"):
        check_expert(expert)
