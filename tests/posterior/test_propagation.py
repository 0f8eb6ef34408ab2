"""A stand-in is left alone only where matching it again would move its margin by no more than
the tolerance."""

import math

import numpy as np
import pytest

from virtualvector.kernels.likelihood import matched_site
from virtualvector.posterior.propagation import change, reach


@pytest.mark.parametrize("tolerance", [1e-10, 1e-6, 1e-3])
def test_within_its_reach_a_margin_has_nothing_to_gain(tolerance):
    rng = np.random.default_rng(0)
    largest = 0.0
    for _ in range(3000):
        z, noise = rng.uniform(-6, 6), 10 ** rng.uniform(-5, 4) * rng.integers(2)
        _, precision, shift = matched_site(z * math.sqrt(1.0 + noise), 1.0, noise, 0.0)
        variance = 1.0 / (1.0 + precision)
        mean = variance * (z * math.sqrt(1.0 + noise) + shift)
        step = reach(variance, noise, 0.0, tolerance)
        for along, wider in np.ndindex(3, 3):
            movement, *_ = change(
                mean + (along - 1) * step * math.sqrt(variance),
                variance * (1.0 + (wider - 1) * step),
                precision,
                shift,
                noise,
                0.0,  # the smallest variance
                0.0,
                1.0,
            )
            largest = max(largest, movement / tolerance)
    assert 0.5 < largest < 1.02
