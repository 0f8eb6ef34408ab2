import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as limits
from hypothesis import strategies as st

from tests.posterior.dense_low_rank import diagonal_adf
from virtualvector.jit.struct_table import StructTable
from virtualvector.posterior import (
    Settings,
    copy_state,
    empty_low_rank_state,
    empty_state,
    gaussian,
    learn,
    mean_of,
    mirror,
    points_of,
    precision_of,
    predicted_margins,
    with_more_weights,
)
from virtualvector.posterior.drift import drift_rows, rows_per_drift
from virtualvector.posterior.low_rank import columns_of
from virtualvector.posterior.low_rank_state import (
    CUTS,
    RECENT,
    LowRankAddress,
    low_rank_arguments,
    sparse_rows,
)
from virtualvector.posterior.low_rank_validation import check_low_rank_state
from virtualvector.posterior.residual.cut import cut_residual
from virtualvector.posterior.settings import Strategy
from virtualvector.posterior.state import EVICTED, POINTS

LEARNERS = {
    "adf": Settings(margin_noise=0.5, buffer_size=0, merge_pairs=0, max_sweeps=1),
    "vvm": Settings(margin_noise=0.5, buffer_size=6, merge_pairs=0),
    "vvm that merges": Settings(margin_noise=0.05, buffer_size=6, merge_pairs=5),
    "vvm by margin": Settings(margin_noise=0.5, buffer_size=6, strategy=int(Strategy.MARGIN)),
    "window-ep": Settings(margin_noise=0.5, buffer_size=6, strategy=int(Strategy.OLDEST)),
    "label noise": Settings(margin_noise=0.5, buffer_size=6, label_noise=0.05),
    "half-life": Settings(
        margin_noise=0.5, buffer_size=0, merge_pairs=0, max_sweeps=1, half_life=40.0
    ),
}


def stream(n_rows=120, columns=30, share=0.3, seed=0, noise=1.0):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n_rows, columns)) * (rng.random((n_rows, columns)) < share)
    rows[5::17] = rows[3]  # which merging sees, with either label
    signs = np.sign(rows @ rng.normal(size=columns) + noise * rng.normal(size=n_rows))
    return rows, signs


def assert_is_what_it_stands_for(state, rows, noise, within=1e-9):
    """Predictions are those of the dense precision matrix, and of the mean read from the state."""
    precision, mean = precision_of(state), mean_of(state)
    rows_and_bias = np.hstack([rows, np.ones((len(rows), 1))])
    variances = np.einsum("ti,ij,tj->t", rows_and_bias, np.linalg.inv(precision), rows_and_bias)
    exact = rows_and_bias @ mean / np.sqrt(variances + noise)
    assert np.abs(predicted_margins(state, rows, noise) - exact).max() < within * (
        1.0 + np.abs(exact).max()
    )


@pytest.mark.parametrize("name", LEARNERS)
def test_a_rank_of_all_rows_is_the_full_covariance(name):
    rows, signs = stream()
    full, of_full = learn(empty_state(31, LEARNERS[name]), rows, signs, LEARNERS[name])
    settings = LEARNERS[name]._replace(rank=len(rows))
    state, events = learn(empty_low_rank_state(31, settings), rows, signs, settings)
    assert state.counts.tolist() == full.counts.tolist()
    assert np.abs(events.margin - of_full.margin).max() < 1e-8
    assert np.abs(mean_of(state) - gaussian(full).mean).max() < 1e-8
    assert np.abs(np.linalg.inv(precision_of(state)) - gaussian(full).covariance).max() < 1e-8
    assert (
        np.abs(predicted_margins(state, rows, 0.5) - predicted_margins(full, rows, 0.5)).max()
        < 1e-8
    )


@pytest.mark.parametrize("label_noise", [0.0, 0.05])
def test_with_points_the_gaussian_drifts_as_a_whole_and_they_go(label_noise):
    settings = LEARNERS["vvm"]._replace(rank=31, half_life=200.0, label_noise=label_noise)
    every = rows_per_drift(31, 200.0)
    rows, signs = stream(n_rows=every - 1, noise=0.3)
    state, _ = learn(empty_low_rank_state(31, settings), rows, signs, settings)
    assert state.counts[POINTS] > 0
    kept = 0.5 ** (every / 200.0)
    covariance = kept * np.linalg.inv(precision_of(state)) + (1.0 - kept) * np.eye(31)
    mean = np.sqrt(kept) * mean_of(state)
    drifted = copy_state(state)
    table = StructTable(low_rank_arguments(drifted, settings, rows[:0], signs[:0]))
    drift_rows(LowRankAddress(table.address))
    assert drifted.counts[POINTS] == 0
    assert drifted.counts[EVICTED] == state.counts[EVICTED] + state.counts[POINTS]
    check_low_rank_state(drifted, settings)
    assert np.abs(mean_of(drifted) - mean).max() < 1e-8
    assert np.abs(np.linalg.inv(precision_of(drifted)) - covariance).max() < 1e-8
    assert_is_what_it_stands_for(drifted, rows, 0.5)


def test_more_points_than_columns_fit_are_cut_while_they_go():
    settings = LEARNERS["vvm"]._replace(rank=2, half_life=30_000.0, buffer_size=28)
    every = rows_per_drift(31, 30_000.0)
    rows, signs = stream(n_rows=3 * every + 20, noise=0.3)
    state = empty_low_rank_state(31, settings)
    before, _ = learn(state, rows[: 3 * every - 1], signs[: 3 * every - 1], settings)
    assert before.counts[POINTS] == 28 > len(state.recent_starts) - 1
    state, _ = learn(before, rows[3 * every - 1 :], signs[3 * every - 1 :], settings)
    assert state.counts[POINTS] == 20  # those since the drift
    check_low_rank_state(state, settings)
    assert_is_what_it_stands_for(state, rows[:50], 0.5)


def test_a_cut_to_a_rank_of_all_rows_loses_nothing():
    rows, signs = stream(n_rows=200, columns=40)
    settings = LEARNERS["vvm that merges"]._replace(rank=41)
    state, events = learn(empty_low_rank_state(41, settings), rows, signs, settings)
    full, of_full = learn(empty_state(41, settings), rows, signs, settings._replace(rank=-1))
    assert state.extent[RECENT] < 100  # it was cut
    assert state.counts.tolist() == full.counts.tolist()
    assert np.abs(events.margin - of_full.margin).max() < 1e-8


def test_rank_zero_without_points_is_the_diagonal_update():
    rows, signs = stream(n_rows=300)
    settings = LEARNERS["adf"]._replace(rank=0)
    state, events = learn(empty_low_rank_state(30, settings), rows, signs, settings)
    mean, diagonal, evidence = diagonal_adf(rows, signs, 0.5)
    assert np.allclose(mean_of(state), mean, rtol=0, atol=1e-12)
    assert np.allclose(precision_of(state), np.diag(diagonal), rtol=1e-12)
    assert np.isclose(events.log_probability.sum(), evidence, rtol=1e-12)


@pytest.mark.parametrize("rank", [0, 1, 7])
@pytest.mark.parametrize("name", LEARNERS)
def test_predictions_are_those_of_the_matrix_that_the_state_stands_for(name, rank):
    rows, signs = stream(n_rows=1500)
    settings = LEARNERS[name]._replace(rank=rank)
    state, _ = learn(empty_low_rank_state(31, settings), rows, signs, settings)
    assert_is_what_it_stands_for(state, rows[:100], settings.margin_noise)


def test_a_cut_keeps_the_mean_and_the_precision_of_each_weight():
    rows, signs = stream(n_rows=400)
    settings = LEARNERS["adf"]._replace(rank=3)
    state, events = learn(empty_low_rank_state(31, settings), rows, signs, settings)
    assert state.extent[RECENT] < len(rows)
    with_bias = np.hstack([rows, np.ones((len(rows), 1))])
    points = with_bias / np.linalg.norm(with_bias, axis=1, keepdims=True)
    exact = 1.0 + events.precision @ points**2
    assert np.allclose(np.diagonal(precision_of(state)), exact, rtol=1e-10)
    cut = copy_state(state)
    table = StructTable(low_rank_arguments(cut, settings, rows[:0], signs[:0]))
    cut_residual(LowRankAddress(table.address))
    assert cut.extent[RECENT] == 0
    assert np.allclose(mean_of(cut), mean_of(state), atol=1e-12)
    assert np.allclose(np.diagonal(precision_of(cut)), exact, rtol=1e-10)
    assert np.abs(precision_of(cut) - precision_of(state)).max() > 0.1  # off the diagonal


SPARSE = {
    name: LEARNERS[name]._replace(rank=3) for name in ("adf", "vvm that merges", "label noise")
}


def sparse_stream(n_rows=700, columns=2000, non_zeros=4):
    rng = np.random.default_rng(1)
    places = (columns * rng.random((n_rows, non_zeros)) ** 3).astype(int)
    rows = np.zeros((n_rows, columns))
    rows[np.arange(n_rows)[:, np.newaxis], places] = rng.normal(size=places.shape)
    return rows, np.sign(rows @ rng.normal(size=columns) + rng.normal(size=n_rows))


@pytest.mark.parametrize("name", SPARSE)
def test_cuts_of_few_weights_leave_a_matrix_that_predictions_are_of(name):
    rows, signs = sparse_stream()
    state = empty_low_rank_state(2001, SPARSE[name])
    n_cuts = []
    for some in np.array_split(np.arange(len(rows)), 7):
        state, _ = learn(state, rows[some], signs[some], SPARSE[name])
        n_cuts.append(state.extent[CUTS])
    assert max(n_cuts) >= 5
    assert np.any(np.diff(n_cuts) < 0)  # there was one of all weights, too
    assert len(np.unique(state.visits)) > 1
    check_low_rank_state(state, SPARSE[name])
    assert_is_what_it_stands_for(state, rows[:50], SPARSE[name].margin_noise)
    for array, other in zip(
        state, learn(empty_low_rank_state(2001, SPARSE[name]), rows, signs, SPARSE[name])[0],
        strict=True,
    ):  # fmt: skip
        assert np.array_equal(array, other)


def test_a_cut_of_few_weights_keeps_all_means_and_the_precisions_of_those():
    rows, signs = sparse_stream()
    settings = SPARSE["adf"]
    state, events = learn(empty_low_rank_state(2001, settings), rows, signs, settings)
    with_bias = np.hstack([rows, np.ones((len(rows), 1))])
    points = with_bias / np.linalg.norm(with_bias, axis=1, keepdims=True)
    exact = 1.0 + events.precision @ points**2
    known = np.unique(state.recent_places[: state.recent_starts[state.extent[RECENT]]])
    cut = copy_state(state)
    table = StructTable(low_rank_arguments(cut, settings, rows[:0], signs[:0]))
    cut_residual(LowRankAddress(table.address))
    assert cut.extent[RECENT] == 0 < cut.extent[CUTS]
    assert np.allclose(mean_of(cut), mean_of(state), atol=1e-12)
    precisions = np.diagonal(precision_of(cut))
    assert np.allclose(precisions[known], exact[known], rtol=1e-10)
    assert np.all(precisions <= exact * (1.0 + 1e-10))
    assert np.any(precisions < exact - 1e-6)  # what waits
    while cut.extent[CUTS] > 0:
        cut_residual(LowRankAddress(table.address))
    assert np.allclose(np.diagonal(precision_of(cut)), exact, rtol=1e-10)
    assert np.allclose(mean_of(cut), mean_of(state), atol=1e-12)


def test_mirrored_and_wider_states_keep_what_waits():
    rows, signs = sparse_stream()
    settings = SPARSE["adf"]
    state, _ = learn(empty_low_rank_state(2001, settings), rows, signs, settings)
    assert state.extent[CUTS] > 0
    asked = predicted_margins(state, rows[:50], 0.5)
    assert np.array_equal(predicted_margins(mirror(state), rows[:50], 0.5), -asked)
    wider = with_more_weights(state, 2000, 3, settings)
    check_low_rank_state(wider, settings)
    zeros = np.zeros((50, 3))
    found = predicted_margins(wider, np.hstack([rows[:50], zeros]), 0.5)
    assert np.allclose(found, asked, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", LEARNERS)
def test_no_bit_depends_on_how_a_stream_is_cut_or_on_how_rows_are_written(name):
    rows, signs = stream(n_rows=500)
    settings = LEARNERS[name]._replace(rank=4)
    whole, _ = learn(empty_low_rank_state(31, settings), rows, signs, settings)
    parts = empty_low_rank_state(31, settings)
    for some in np.split(np.arange(len(rows)), [1, 2, 77, 300]):
        sparse = _by_non_zeros(rows[some])
        parts, _ = learn(parts, sparse, signs[some], settings)
    for one, other in zip(whole, parts, strict=True):
        assert np.array_equal(one, other)


def _by_non_zeros(rows):
    dense = sparse_rows(rows)
    kept = dense.values != 0.0
    starts = np.concatenate([[0], np.cumsum(np.count_nonzero(rows, axis=1))])
    return dense._replace(starts=starts, places=dense.places[kept], values=dense.values[kept])


def test_rows_with_more_non_zeros_than_there_was_room_for_are_learned_as_others():
    rows, signs = stream(n_rows=60, columns=400, share=0.9)
    rows[:30, 20:] = 0.0  # 64 non-zeros are what there is room for at first
    for name in ("vvm that merges", "adf"):
        settings = LEARNERS[name]._replace(rank=60)
        state, events = learn(empty_low_rank_state(401, settings), rows, signs, settings)
        _, of_full = learn(empty_state(401, settings), rows, signs, settings._replace(rank=-1))
        assert state.points.shape[1] > 64
        assert np.abs(events.margin - of_full.margin).max() < 1e-8


def test_swapped_labels_are_mirrored_weights():
    rows, signs = stream(n_rows=200)
    settings = LEARNERS["vvm"]._replace(rank=3)
    state, _ = learn(empty_low_rank_state(31, settings), rows, signs, settings)
    other, _ = learn(empty_low_rank_state(31, settings), rows, -signs, settings)
    mirrored = mirror(state)
    assert np.array_equal(
        predicted_margins(mirrored, rows, 0.5), -predicted_margins(state, rows, 0.5)
    )
    assert np.allclose(mean_of(mirrored), mean_of(other), atol=1e-10)


def test_more_weights_are_as_zeros_in_all_rows_so_far():
    rows, signs = stream(n_rows=150)
    wide = np.insert(rows, [30, 30], 0.0, axis=1)
    settings = LEARNERS["vvm"]._replace(rank=33)  # nothing is lost, whenever it is cut
    state, _ = learn(empty_low_rank_state(31, settings), rows, signs, settings)
    expected, _ = learn(empty_low_rank_state(33, settings), wide, signs, settings)
    state = with_more_weights(state, 30, 2, settings)
    check_low_rank_state(state, settings)
    assert np.allclose(precision_of(state), precision_of(expected), rtol=1e-9, atol=1e-9)
    assert np.allclose(mean_of(state), mean_of(expected), atol=1e-10)


def test_points_are_unit_vectors_and_columns_are_sites():
    rows, signs = stream(n_rows=40)
    settings = LEARNERS["vvm"]._replace(rank=40)
    state, events = learn(empty_low_rank_state(31, settings), rows, signs, settings)
    assert np.allclose(np.linalg.norm(points_of(state), axis=1), 1.0)
    columns, column_signs = columns_of(state)
    squares = np.square(columns).sum(axis=0)[40:]
    evicted = events.precision[events.event == 1]
    assert np.all(column_signs == 1.0)
    assert np.allclose(squares, evicted)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"margin_noise": 0.0}, "margin_noise = 0 "),
        ({"buffer_size": 40}, "room for 41 points of 31 weights"),
    ],
)
def test_what_a_low_rank_cannot_do_is_refused(change, message):
    settings = LEARNERS["vvm"]._replace(rank=3, **change)
    with pytest.raises(ValueError, match=message):
        empty_low_rank_state(31, settings)


@limits(max_examples=40)
@given(
    seed=st.integers(0, 2**32 - 1),
    name=st.sampled_from(sorted(LEARNERS)),
    rank=st.integers(0, 12),
    scale=st.sampled_from([1e-150, 1e-3, 1.0, 1e3, 1e150]),
    noise=st.sampled_from([0.0, 3.0]),
)
def test_any_stream_leaves_a_state_that_is_one(seed, name, rank, scale, noise):
    rows, signs = stream(n_rows=150, columns=12, seed=seed, noise=noise)
    settings = LEARNERS[name]._replace(rank=rank)
    state, events = learn(empty_low_rank_state(13, settings), scale * rows, signs, settings)
    assert np.isfinite(events.log_probability).all()
    assert all(np.isfinite(array).all() for array in state)
    check_low_rank_state(state, settings)


def test_rows_that_come_a_thousand_times_do_not_wear_out_the_residual():
    rows, signs = stream(n_rows=20)
    rows, signs = np.tile(rows, (1500, 1)), np.tile(signs, 1500)
    settings = LEARNERS["vvm"]._replace(rank=5)
    state, _ = learn(empty_low_rank_state(31, settings), rows, signs, settings)
    check_low_rank_state(state, settings)
    assert_is_what_it_stands_for(state, rows[:20], 0.5)


@pytest.mark.parametrize(
    ("name", "place", "value"),
    [
        ("point_places", (0, 0), 31),
        ("point_places", (0, 1), -1),
        ("point_sizes", (2,), 65),
        ("recent_places", (3,), 10**12),
        ("recent_starts", (1,), 10**9),
        ("extent", (RECENT,), 10**6),
        ("diagonal", (4,), 0.0),
        ("inner", (0, 0), 3.0),
        ("signs", (0,), 0.5),
        ("directions", (0, 0), 9.0),
        ("products", (0, 0), 5.0),
        ("shifts", (1,), 1e200),
        ("mean", (1,), np.nan),
        ("visits", (7,), 1),
        ("visits", (7,), -1),
        ("turns", (0, 0, 0), 2.0),
        ("lags", (0, 0), 1.0),
        ("extent", (CUTS,), 1),
    ],
)
def test_a_forged_state_is_refused(name, place, value):
    rows, signs = stream(n_rows=150)
    settings = LEARNERS["vvm"]._replace(rank=3)
    state, _ = learn(empty_low_rank_state(31, settings), rows, signs, settings)
    check_low_rank_state(state, settings)
    forged = copy_state(state)
    getattr(forged, name)[place] = value
    with pytest.raises(ValueError, match="expected"):
        check_low_rank_state(forged, settings)
