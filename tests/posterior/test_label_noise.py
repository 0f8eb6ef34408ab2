"""Label noise: more memory does no harm. The whole of it is benchmarks/label_noise.py."""

import math

import numpy as np
import pytest

from tests.posterior.reducing import merge_closest, merges_despite, table_of
from virtualvector.posterior import Settings, empty_state, gaussian, learn
from virtualvector.posterior.validation import check_state


def log_posterior(state, weights):
    """log r ∏ f, up to a constant, directly from its definition."""
    n = state.counts[0]
    precision = np.linalg.inv(state.factor.T @ state.factor)
    off = weights - state.mean
    steps = weights @ state.points[:n].T > 0
    factors = np.where(steps, np.log1p(-state.label_noises[:n]), np.log(state.label_noises[:n]))
    return -0.5 * np.einsum("ij,jk,ik->i", off, precision, off) + factors.sum(axis=1)


@pytest.mark.parametrize("label_noise", [1e-6, 0.02, 0.1, 0.3, 0.45])
@pytest.mark.parametrize("d", [2, 6])
def test_merging_equal_rows_is_exact(d, label_noise):
    rng = np.random.default_rng(d)
    rows = rng.normal(size=(4, d))
    rows[3] = rows[2]
    settings = Settings(buffer_size=8, merge_pairs=1, label_noise=label_noise)
    state, _ = learn(empty_state(d, settings), rows, np.array([1.0, -1.0, 1.0, 1.0]), settings)
    weights = rng.normal(size=(50, d))
    before = log_posterior(state, weights)
    assert merge_closest(state, settings)
    assert state.counts[0] == 3
    odds = 2 * (math.log(label_noise) - math.log1p(-label_noise))
    merged = state.label_noises[:3].min()
    assert math.log(merged) - math.log1p(-merged) == pytest.approx(odds, rel=1e-12)
    changed = log_posterior(state, weights) - before
    np.testing.assert_allclose(changed - changed.mean(), 0.0, atol=1e-10)


def stream(seed, d, label_noise, n_rows=300):
    rng = np.random.default_rng([seed, d])
    rows = rng.normal(size=(n_rows, d))
    signs = np.sign(rows @ rng.normal(size=d))
    turned = rng.random(n_rows) < label_noise
    return rows, np.where(turned, -signs, signs), turned


@pytest.mark.parametrize("merge_pairs", [0, 5])
@pytest.mark.parametrize(("d", "label_noise"), [(2, 0.1), (2, 0.2), (3, 0.1)])
def test_wrong_labels_do_not_pile_up(d, label_noise, merge_pairs):
    """By their divergence alone, up to 30 of the 40 points would have wrong labels."""
    how = Settings(buffer_size=40, label_noise=label_noise, merge_pairs=merge_pairs)
    adf = Settings(buffer_size=0, merge_pairs=0, max_sweeps=1, label_noise=label_noise)
    for seed in range(6):
        rows, signs, turned = stream(seed, d, label_noise)
        state, events = learn(empty_state(d, how), rows, signs, how)
        _, plain = learn(empty_state(d, adf), rows, signs, adf)
        assert turned[state.row_numbers[: state.counts[0]]].sum() <= 20
        assert events.log_probability.mean() > plain.log_probability.mean() - 0.05
        q = gaussian(state)
        assert q.mean @ q.mean + np.trace(q.covariance) == pytest.approx(d, rel=0.5)


@pytest.mark.parametrize("margin_noise", [0.0, 0.5])
def test_without_label_noise_points_leave_by_their_divergence(margin_noise):
    from virtualvector.kernels.likelihood import expected_divergence, weight_divergence

    for z in np.linspace(-9.0, 9.0, 37):
        assert expected_divergence(z, 0.7, margin_noise, 0.0) == weight_divergence(
            z, 0.7, margin_noise, 0.0
        )


@pytest.mark.parametrize("margin_noise", [0.0, 0.1])
@pytest.mark.parametrize("label_noise", [0.01, 0.1, 0.3])
def test_margins_that_often_differ_in_sign_could_not_have_been_merged(label_noise, margin_noise):
    how = Settings(
        buffer_size=12, merge_pairs=20, label_noise=label_noise, margin_noise=margin_noise
    )
    total = 0
    for d in (2, 5):
        rows, signs, _ = stream(1, d, label_noise, n_rows=60)
        state, _ = learn(empty_state(d, how), rows, signs, how)
        table = table_of(state, how)
        for limit in (1e-3, 1e-2, 0.1, 1.0):
            passed, merged = merges_despite(table.address, limit)
            assert passed == 0
            total += merged
    assert total > 0


def exact_direction(points, label_noise):
    """The posterior mean of three weights, on a grid of directions; |w| is as under the prior."""
    n = 40_000
    height = 1.0 - (2.0 * np.arange(n) + 1.0) / n
    angle = math.pi * (1.0 + math.sqrt(5.0)) * np.arange(n)
    radius = np.sqrt(1.0 - height**2)
    grid = np.column_stack([radius * np.cos(angle), radius * np.sin(angle), height])
    odds = math.log1p(-label_noise) - math.log(label_noise)
    log_weights = odds * (grid @ points.T > 0.0).sum(axis=1)
    weights = np.exp(log_weights - log_weights.max())
    return 2.0 * math.sqrt(2.0 / math.pi) * (weights @ grid) / weights.sum()


@pytest.mark.parametrize("merge_pairs", [0, 5])
@pytest.mark.parametrize("label_noise", [0.01, 0.1])
def test_the_posterior_mean_is_closer_to_the_exact_one_than_that_of_adf(label_noise, merge_pairs):
    """The label noise is stated too small or too large: one label in twenty is turned."""
    adf = Settings(buffer_size=0, merge_pairs=0, max_sweeps=1, label_noise=label_noise)
    errors = {"ADF": [], 5: [], 20: []}
    for seed in range(8):
        rows, signs, _ = stream(seed, 3, 0.05, n_rows=80)
        exact = exact_direction(rows * signs[:, None], label_noise)
        for name, found in errors.items():
            how = adf
            if name != "ADF":
                how = adf._replace(buffer_size=name, merge_pairs=merge_pairs, max_sweeps=30)
            state, _ = learn(empty_state(3, how), rows, signs, how)
            found.append(np.sum((gaussian(state).mean - exact) ** 2))
    for size in (5, 20):
        assert np.mean(errors[size]) < 0.5 * np.mean(errors["ADF"])
        assert max(errors[size]) < 10.0 * np.median(errors["ADF"])


@pytest.mark.parametrize("label_noise", [0.02, 0.1])
def test_the_mean_is_as_long_as_the_prior_says(label_noise):
    """Steps say nothing of |w|: the mean is E|w| times that of the direction."""
    how = Settings(buffer_size=10, merge_pairs=0, label_noise=label_noise)
    for d in (2, 3, 4):
        rows, signs, _ = stream(3, d, label_noise, n_rows=400)
        state, _ = learn(empty_state(d, how), rows, signs, how)
        q = gaussian(state)
        length = math.sqrt(2.0) * math.gamma(0.5 * (d + 1)) / math.gamma(0.5 * d)
        assert np.linalg.norm(q.mean) == pytest.approx(length, rel=0.01)
        assert np.trace(q.covariance) < d - length**2 + 0.05


@pytest.mark.parametrize("buffer_size", [5, 10, 20])
def test_turned_labels_in_a_row_do_not_turn_the_weights_round(buffer_size):
    """A traced stream: three of its last six labels are turned.

    With 10 points q̃ once reached past zero, where all of them are explained.
    """
    rng = np.random.default_rng([0, 48])
    rows, truth = rng.normal(size=(300, 3)), rng.normal(size=3)
    signs = np.sign(rows @ truth)
    signs[rng.random(300) < 0.05] *= -1.0
    exact = exact_direction(rows * signs[:, None], 0.01)
    how = Settings(buffer_size=buffer_size, merge_pairs=0, label_noise=0.01)
    state, _ = learn(empty_state(3, how), rows, signs, how)
    np.testing.assert_allclose(gaussian(state).mean, exact, atol=0.05)


@pytest.mark.parametrize("buffer_size", [10, 40])
def test_turned_labels_of_rows_that_repeat_do_not_add_up(buffer_size):
    """Rows of whole numbers: merging once made one point of all turned labels of a row."""
    for seed in (4, 10, 22, 31, 39):
        rng = np.random.default_rng(seed)
        rows = np.column_stack([np.round(rng.normal(size=300)), np.ones(300)])
        signs = np.sign(rows @ rng.normal(size=2))
        signs[rng.random(300) < 0.2] *= -1.0
        adf = Settings(buffer_size=0, merge_pairs=0, max_sweeps=1, label_noise=0.2)
        _, plain = learn(empty_state(2, adf), rows, signs, adf)
        how = Settings(buffer_size=buffer_size, merge_pairs=5, label_noise=0.2)
        _, events = learn(empty_state(2, how), rows, signs, how)
        assert events.log_probability.mean() > plain.log_probability.mean() - 0.03


@pytest.mark.parametrize("buffer_size", [5, 20])
def test_a_direction_that_no_row_has_a_part_in_keeps_its_prior(buffer_size):
    """All categories of a column add up to the bias: of their weights less its own nothing is said.

    Two labels of ten are turned where one of a hundred is expected, which pushes all others to
    zero. Restoring the length once gave it all to this direction, a variance of 6.5.
    """
    unseen = np.array([0.0, 0.0, 1.0, 1.0, 1.0, 1.0, -1.0]) / math.sqrt(5.0)
    for seed in range(3):
        rng = np.random.default_rng(seed)
        categories = np.eye(4)[rng.integers(4, size=400)]
        rows = np.column_stack([rng.normal(size=(400, 2)), categories, np.ones(400)])
        signs = np.sign(rows @ rng.normal(size=7))
        signs[rng.random(400) < 0.2] *= -1.0
        how = Settings(buffer_size=buffer_size, merge_pairs=5, label_noise=0.01)
        state, _ = learn(empty_state(7, how), rows, signs, how)
        q = gaussian(state)
        assert 0.6 < unseen @ q.covariance @ unseen < 1.6
        assert unseen @ q.mean == pytest.approx(0.0, abs=0.05)


@pytest.mark.parametrize("empty_columns", [0, 1])
@pytest.mark.parametrize("seed", range(4))
def test_the_length_does_not_collapse_between_two_looks(seed, empty_columns):
    """Two weights, one point, four labels of ten turned where one of a hundred is expected."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(250, 2))
    signs = np.sign(rows @ rng.normal(size=2))
    signs[rng.random(250) < 0.4] *= -1.0
    rows = np.column_stack([rows, np.zeros((250, empty_columns))])
    d = rows.shape[1]
    how = Settings(buffer_size=1, label_noise=0.01)
    for n_rows in (100, 175, 250):
        state, _ = learn(empty_state(d, how), rows[:n_rows], signs[:n_rows], how)
        check_state(state, how)
        q = gaussian(state)
        assert 0.5 * d < q.mean @ q.mean + np.trace(q.covariance) < 1.25 * d
        assert q.covariance[2:, 2:] == pytest.approx(np.eye(empty_columns))


@pytest.mark.parametrize(
    "more",
    [{"margin_noise": 0.1}, {"half_life": 200.0}, {"margin_noise": 0.1, "half_life": 200.0}],
    ids=lambda more: "+".join(more),
)
@pytest.mark.parametrize("label_noise", [0.02, 0.2])
def test_points_do_no_harm_beside_other_noises(label_noise, more):
    """With margin noise, with forgetting, with both: never far above ADF with the same."""
    adf = Settings(buffer_size=0, merge_pairs=0, max_sweeps=1, label_noise=label_noise, **more)
    for seed in range(4):
        rows, signs, _ = stream(seed, 3, label_noise)
        _, plain = learn(empty_state(3, adf), rows, signs, adf)
        for size in (10, 40):
            how = adf._replace(buffer_size=size, merge_pairs=5, max_sweeps=30)
            _, events = learn(empty_state(3, how), rows, signs, how)
            assert events.log_probability.mean() > plain.log_probability.mean() - 0.05


def test_points_do_no_harm_with_several_classes():
    from virtualvector import ADFClassifier, VVMClassifier

    rng = np.random.default_rng(0)
    rows = rng.normal(size=(400, 2))
    labels = np.argmax(rows @ np.array([[1.0, 0.0], [-0.5, 0.9], [-0.5, -0.9]]).T, axis=1)
    turned = rng.random(400) < 0.1
    labels = np.where(turned, rng.integers(3, size=400), labels)
    losses = {}
    for learner in (ADFClassifier(label_noise=0.1), VVMClassifier(20, label_noise=0.1)):
        predicted = []
        learner.partial_fit(rows[:10], labels[:10], classes=[0, 1, 2])
        for t in range(10, 400, 10):
            batch = slice(t, t + 10)
            predicted.append(learner.predict_proba(rows[batch])[np.arange(10), labels[batch]])
            learner.partial_fit(rows[batch], labels[batch])
        losses[type(learner).__name__] = -np.log(np.concatenate(predicted)).mean()
    assert losses["VVMClassifier"] < losses["ADFClassifier"] + 0.01


@pytest.mark.parametrize("margin_noise", [0.0, 0.1])
def test_on_real_rows_points_predict_no_worse_than_adf_or_ep(margin_noise):
    """Ionosphere, in part: what is worse than ADF here is the model's fault, and EP's as well."""
    from virtualvector.datasets import load_ionosphere

    X, y = load_ionosphere(return_X_y=True, random_state=0)
    rows, signs = X[:150], np.where(y[:150] > 0, 1.0, -1.0)
    noise = {"label_noise": 0.05, "margin_noise": margin_noise, "merge_pairs": 0}
    how = {
        "ADF": Settings(buffer_size=0, max_sweeps=1, **noise),
        "EP": Settings(buffer_size=150, **noise),
        "VVM": Settings(buffer_size=10, **noise),
    }
    loss = {}
    for name, settings in how.items():
        _, events = learn(empty_state(rows.shape[1], settings), rows, signs, settings)
        loss[name] = -events.log_probability.mean()
    assert loss["VVM"] < 1.01 * max(loss["ADF"], loss["EP"])


def test_the_bound_of_disagreement_is_one():
    from scipy.stats import multivariate_normal

    from virtualvector.kernels.merge_divergence import least_disagreement

    rng = np.random.default_rng(2)
    for _ in range(60):
        v1, v2 = np.exp(rng.normal(size=2))
        c = math.tanh(2.0 * rng.normal()) * math.sqrt(v1 * v2)
        mean = 1.5 * rng.normal(size=2)
        turn = np.array([[1.0, -1.0], [-1.0, 1.0]])  # P(x > 0 > y) = P(−x < 0, y < 0)
        differ = sum(
            multivariate_normal.cdf([0.0, 0.0], mean * s, np.array([[v1, c], [c, v2]]) * turn)
            for s in ([-1.0, 1.0], [1.0, -1.0])
        )
        assert 0.0 <= least_disagreement(mean[0], mean[1], v1, c, v2) <= differ + 1e-9
