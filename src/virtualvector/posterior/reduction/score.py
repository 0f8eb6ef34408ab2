"""What the points that are kept tell beyond a Gaussian: E of eq. 13."""

from __future__ import annotations

import math

import numpy as np

from virtualvector.kernels.likelihood import clip_margin, expected_divergence
from virtualvector.posterior.gaussian import gaussian
from virtualvector.posterior.state import POINTS, State


def divergence_score(state: State) -> float:
    """Return the sum of the divergences of all factors from their sites, as points are scored.

    Points whose divergence is not known, because their cavity is improper, are left out.

    Examples
    --------
    >>> import numpy as np
    >>> from virtualvector.posterior import Settings, empty_state, learn
    >>> from virtualvector.posterior.reduction.score import divergence_score
    >>> settings = Settings(buffer_size=5)
    >>> state, _ = learn(empty_state(2, settings), np.ones((1, 2)), np.ones(1), settings)
    >>> round(divergence_score(state), 4)
    0.187
    """
    n = state.counts[POINTS]
    if n == 0:
        return 0.0
    q = gaussian(state)
    variances = np.square(q.factor @ state.points[:n].T).sum(axis=0)
    room = 1.0 - state.site_precisions[:n] * variances
    proper = room > 0.0
    means = (state.points[:n] @ q.mean - state.site_shifts[:n] * variances)[proper] / room[proper]
    variances = variances[proper] / room[proper]  # with the means, those of the cavities: eq. 34
    noises, label_noises = state.margin_noises[:n][proper], state.label_noises[:n][proper]
    return math.fsum(
        expected_divergence(clip_margin(m / math.sqrt(v + noise)), v, noise, label_noise)
        for m, v, noise, label_noise in zip(
            *(array.tolist() for array in (means, variances, noises, label_noises)), strict=True
        )
    )
