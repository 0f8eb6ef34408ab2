"""Two learners, hedged: against mpmath, and against the theorem."""

import math

import mpmath
import numpy as np
import pytest

from virtualvector.kernels.hedge import log_probability_of, write_gains, write_hedged
from virtualvector.kernels.likelihood import write_probabilities

MARGINS = [[0.0], [1.3], [-2.0], [40.0], [-1e120], [0.2, -0.4, 1.0], [9.0, -9.0, 30.0, -40.0]]


def exact(margins, label_noise):
    """The probabilities of classes, with fifty digits."""
    mpmath.mp.dps = 50
    noise = mpmath.mpf(label_noise)

    def right(z):
        return noise + (1 - 2 * noise) * mpmath.ncdf(mpmath.mpf(max(min(z, 1e100), -1e100)))

    if len(margins) == 1:
        return [right(-margins[0]), right(margins[0])]
    odds = [right(z) / right(-z) for z in margins]
    return [each / mpmath.fsum(odds) for each in odds]


@pytest.mark.parametrize("margins", MARGINS)
@pytest.mark.parametrize("label_noise", [1e-12, 0.01, 0.2])
def test_the_log_probability_of_a_class_is_exact(margins, label_noise):
    for place, probability in enumerate(exact(margins, label_noise)):
        found = log_probability_of(np.array(margins), place, label_noise)
        assert found == pytest.approx(float(mpmath.log(probability)), rel=1e-11, abs=1e-13)


def test_it_is_finite_with_the_least_label_noise_and_the_largest_margins():
    for margins in ([1e300, -1e300, 1e300], [-1e300]):
        for place in range(2):
            assert math.isfinite(log_probability_of(np.array(margins), place, 1e-300))


def test_a_single_class_is_not_the_one_that_comes_next():
    assert log_probability_of(np.array([0.7]), 0, 0.1) == pytest.approx(
        float(mpmath.log(exact([0.7], 0.1)[0])), rel=1e-14
    )


@pytest.mark.parametrize("lead", [-1e4, -800.0, -3.0, -1e-9, 0.0, 0.4, 3.0, 800.0, 1e4])
def test_the_average_is_exact_for_any_lead(lead):
    own, beside = np.array([[0.3, -1.0, 2.0]]), np.array([[-2.0, 1.5, 0.1]])
    found = np.empty((1, 3))
    write_hedged(own, beside, np.array([lead]), 0.05, np.empty(3), found)
    trust = 1 / (1 + mpmath.exp(-lead))
    both = zip(exact(own[0], 0.05), exact(beside[0], 0.05), strict=True)
    expected = [float(trust * p + (1 - trust) * q) for p, q in both]
    np.testing.assert_allclose(found[0], expected, rtol=1e-12)
    assert found.sum() == pytest.approx(1.0, abs=1e-15)


def test_where_both_agree_the_lead_changes_no_bit():
    margins, alone, found = np.array([[0.3, -1.0, 2.0]]), np.empty(3), np.empty((1, 3))
    write_probabilities(margins[0], 0.1, alone)
    for lead in (-5.0, 0.0, 0.3):
        write_hedged(margins, margins, np.array([lead]), 0.1, np.empty(3), found)
        np.testing.assert_array_equal(found[0], alone)


@pytest.mark.parametrize("n_posteriors", [1, 3])
def test_the_total_loss_is_that_of_the_bayesian_average(n_posteriors):
    # Σ −log p(yₜ) = −log(½ e^{Σ log p₁} + ½ e^{Σ log p₂}), for any predictions at all.
    rng = np.random.default_rng(0)
    own, beside = 3.0 * rng.normal(size=(2, 400, n_posteriors))
    n_classes = max(2, n_posteriors)
    observed = rng.integers(n_classes, size=400)
    gains = np.empty(400)
    write_gains(own, beside, observed, 0.05, gains)
    leads = np.concatenate([[0.0], np.cumsum(gains)[:-1]])
    mixed = np.empty((400, n_classes))
    write_hedged(own, beside, leads, 0.05, np.empty(n_classes), mixed)
    total = -np.log(mixed[np.arange(400), observed]).sum()
    each = [
        float(mpmath.fsum(mpmath.log(exact(m, 0.05)[y]) for m, y in zip(ms, observed, strict=True)))
        for ms in (own, beside)
    ]
    average = -np.logaddexp(*each) + math.log(2.0)
    assert total == pytest.approx(average, rel=1e-10)
    assert total <= -max(each) + math.log(2.0) + 1e-9
