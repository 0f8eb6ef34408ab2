"""What a committee has learned, in numbers for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from virtualvector.auto.committee import Committee
from virtualvector.kernels.triangular import Array
from virtualvector.posterior import State
from virtualvector.posterior.state import DIVERGENCE_LOST, EVICTED, MERGED, POINTS


def counters(committee: Committee) -> dict[str, float]:
    """Return what was lost, summed over all posteriors of the experts there are now."""
    states = _states(committee)
    return {
        "evicted": int(sum(state.counts[EVICTED] for state in states)),
        "merged": int(sum(state.counts[MERGED] for state in states)),
        "divergence_lost": float(sum(state.sums[DIVERGENCE_LOST] for state in states)),
    }


def n_bytes(committee: Committee) -> int:
    """Return the memory that everything learned takes; what is shared counts once."""
    arrays = {id(array): array.nbytes for state in _states(committee) for array in state}
    unseen = [each.unseen for each in committee.posteriors if each.unseen is not None]
    arrays |= {id(array): array.nbytes for state in unseen for array in state}
    trust = (committee.weights, committee.awake, committee.evidence, committee.corrections)
    return sum(arrays.values()) + sum(array.nbytes for array in trust)


def coefficients(committee: Committee, labels: Sequence[str]) -> list[dict[str, Any]]:
    """Return the weights of inputs for the most trusted expert, one posterior after the other."""
    best = int(np.argmax(committee.weights))
    posterior = committee.posteriors[best]
    part, scale = committee.outlook.linear_part(committee.experts[best])
    found = []
    for positive, gaussian in zip(posterior.positives.tolist(), posterior.gaussians, strict=False):
        mean = scale * gaussian.mean[part]
        deviation = scale * np.linalg.norm(gaussian.factor[:, part], axis=0)
        found += [
            {"column": label, "class": positive, "mean": float(m), "deviation": float(d)}
            for label, m, d in zip(labels, mean, deviation, strict=False)  # there may be more room
        ]
    return found


def virtual_points(committee: Committee, n_inputs: int) -> list[Array]:
    """Return the points of each posterior of the most trusted expert, along so many inputs."""
    best = int(np.argmax(committee.weights))
    part, scale = committee.outlook.linear_part(committee.experts[best])
    return [
        state.points[: state.counts[POINTS], part][:, :n_inputs] / scale
        for state in committee.posteriors[best].states
    ]


def _states(committee: Committee) -> list[State]:
    return [state for each in committee.posteriors for state in each.states]
