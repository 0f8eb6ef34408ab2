"""Who is sure by the mean of a margin, and by how wide the row is to another posterior."""

import numpy as np
import pytest

from virtualvector.posterior import Engine, Predictor, Settings, empty_state, gaussian
from virtualvector.posterior.reduction.reduce import WAS_IGNORED, WAS_IGNORED_BY_MEAN
from virtualvector.posterior.reference import COMPUTED_EVERY
from virtualvector.posterior.state import RATIO

HOW, SURE = Settings(label_noise=0.02, margin_noise=0.1, buffer_size=0, max_sweeps=1), 2.0


def problem(n=600, d=5):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(n, d)) * rng.choice([0.3, 1.0, 4.0], size=(n, 1))
    return rows, np.where(rows[:, 0] > 1.5 + 0.3 * rng.normal(size=n), 1.0, -1.0)


def led(rows, signs, cuts=()):
    """Return who has learned rows, in pieces, beside one that leads."""
    reference, powers = np.zeros(len(rows)), np.ones(len(rows))
    leader, other = (
        Engine(
            empty_state(6, HOW), HOW, rows, each, powers, SURE, False, reference, each is not signs
        )
        for each in (-np.ones(len(rows)), signs)
    )
    for start, stop in zip([0, *cuts], [*cuts, len(rows)], strict=True):
        leader.learn(stop - start, start)
        other.learn(stop - start, start)
    return leader, other, reference


def test_margins_by_the_mean_are_those_of_the_formula():
    rows, signs = problem()
    one_by_one = range(1, len(rows))
    _, engine, reference = led(rows, signs, one_by_one)
    n_by_mean, ratio = 0, 0.0
    cut = Engine(empty_state(6, HOW), HOW, rows, signs, np.ones(len(rows)), SURE, False, reference)
    for t, (row, sign) in enumerate(zip(rows, signs, strict=True)):
        known = gaussian(cut.state)
        x = np.append(row, 1.0)
        b = x / np.linalg.norm(x)
        noise = HOW.margin_noise / (x @ x)
        mean, variance = known.mean @ b, b @ known.covariance @ b
        by_mean = mean / np.sqrt(ratio * reference[t] + noise)
        computed = mean / np.sqrt(variance + noise)
        is_sure = ratio > 0.0 and by_mean < -SURE
        cut.learn(1, t)
        said = by_mean if is_sure else computed
        assert sign * cut.events.margin[t] == pytest.approx(said, rel=1e-6, abs=1e-9)
        if is_sure and sign < 0.0 and t % COMPUTED_EVERY:
            assert cut.events.event[t] == WAS_IGNORED_BY_MEAN
            n_by_mean += 1
        elif sign < 0.0 and computed < -SURE:
            assert cut.events.event[t] == WAS_IGNORED
            new = variance / reference[t]
            ratio = ratio + (new - ratio) / 20.0 if ratio > 0.0 else new
        else:
            assert cut.events.event[t] not in (WAS_IGNORED, WAS_IGNORED_BY_MEAN)
    assert n_by_mean > 50
    assert cut.state.sums[RATIO] == pytest.approx(ratio, rel=1e-6)
    assert engine.state.sums[RATIO] == cut.state.sums[RATIO]


def test_pieces_and_predictions_have_the_same_bits():
    rows, signs = problem()
    _, whole, _ = led(rows, signs)
    leader, cut, _ = led(rows, signs, (1, 7, 100, 101, 333))
    for one, other in zip(whole.state, cut.state, strict=True):
        np.testing.assert_array_equal(one, other)
    leader, engine, _ = led(rows[:300], signs[:300])
    reference = np.zeros(200)
    found = [
        Predictor(state, HOW.margin_noise, rows[300:500], SURE, reference, leads).margins(
            rows[300:500]
        )
        for state, leads in ((leader.state, True), (engine.state, False))
    ]
    for t in (300, 301, 350, 499):
        row, space = rows[t : t + 1].copy(), np.zeros(1)
        single = [
            Engine(each.state, HOW, row, np.ones(1), np.ones(1), SURE, False, space, leads)
            for each, leads in ((leader, True), (engine, False))
        ]
        assert [each.predict() for each in single] == [each[t - 300] for each in found]
    assert np.mean(found[1] < -SURE) > 0.2
