import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from sklearn.utils.estimator_checks import parametrize_with_checks

from virtualvector.features import RunningStandardScaler

FINITE = arrays.arrays(
    np.float64,
    st.tuples(st.integers(1, 12), st.just(2)),
    elements=st.floats(allow_nan=False, allow_infinity=False),
)


@parametrize_with_checks([RunningStandardScaler()])
def test_it_keeps_scikit_learns_contract(estimator, check):
    check(estimator)


@pytest.fixture
def rows():
    random = np.random.default_rng(0)
    return random.normal(size=(400, 3)) * [1.0, 1e-6, 300.0] + [0.0, 5.0, 1e6]


def test_each_row_is_scaled_by_the_rows_up_to_it(rows):
    scaled = RunningStandardScaler().learn_then_transform(rows)
    for t in (1, 2, 10, 399):
        so_far = rows[: t + 1]
        by_numpy = (rows[t] - so_far.mean(axis=0)) / so_far.std(axis=0)
        np.testing.assert_allclose(scaled[t], by_numpy, rtol=1e-6, atol=1e-8)


def test_what_is_learned_is_the_mean_and_the_deviation_of_all_rows(rows):
    model = RunningStandardScaler().fit(rows)
    np.testing.assert_allclose(model.mean_, rows.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(model.scale_, rows.std(axis=0), rtol=1e-7)
    assert model.n_seen_ == 400
    np.testing.assert_allclose(model.transform(rows).std(axis=0), 1.0, rtol=1e-7)


@pytest.mark.parametrize("size", [1, 7, 399])
def test_cutting_the_stream_changes_no_bit(rows, size):
    whole, cut = RunningStandardScaler(), RunningStandardScaler()
    at_once = whole.learn_then_transform(rows)
    pieces = [cut.learn_then_transform(rows[k : k + size]) for k in range(0, len(rows), size)]
    assert np.concatenate(pieces).tobytes() == at_once.tobytes()
    learned = RunningStandardScaler()
    for k in range(0, len(rows), size):
        learned.partial_fit(rows[k : k + size])
    for model in (cut, learned):
        assert model.mean_.tobytes() == whole.mean_.tobytes()
        assert model.scale_.tobytes() == whole.scale_.tobytes()


def test_a_row_does_not_depend_on_later_ones(rows):
    start = RunningStandardScaler().learn_then_transform(rows[:50])
    np.testing.assert_array_equal(RunningStandardScaler().learn_then_transform(rows)[:50], start)


def test_a_constant_column_becomes_zero():
    rows = np.column_stack([np.full(50, 0.1), np.arange(50.0)])
    scaled = RunningStandardScaler().learn_then_transform(rows)
    assert not scaled[:, 0].any()
    assert scaled[1:, 1].all()


@given(FINITE)
def test_any_finite_rows_stay_finite_and_within_the_root_of_their_number(rows):
    model = RunningStandardScaler()
    scaled = model.learn_then_transform(rows)
    number = np.arange(len(rows))[:, None]
    assert np.all(np.abs(scaled) <= np.sqrt(number) * (1.0 + 1e-9))
    assert np.isfinite(model.transform(rows)).all()
    assert np.isfinite([model.mean_, model.scale_]).all()
