"""What a committee has learned, in numbers for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from virtualvector.auto.committee import Committee
from virtualvector.auto.sketch import Sketch
from virtualvector.posterior import State
from virtualvector.types import Array


def n_bytes(committee: Committee) -> int:
    """Return the memory that everything learned takes; what is shared counts once."""
    arrays = {id(array): array.nbytes for state in states_of(committee) for array in state}
    unseen = [each.unseen for each in committee.posteriors if each.unseen is not None]
    arrays |= {id(array): array.nbytes for state in unseen for array in state}
    weights = (committee.weights, committee.awake, committee.evidence, committee.corrections)
    trust = [*weights, *committee.pool, *committee.recalibration]
    first_rows = 0 if committee.first_rows is None else committee.first_rows.n_bytes
    return sum(arrays.values()) + sum(array.nbytes for array in trust) + first_rows


def weight_table(
    committee: Committee, labels: Sequence[str], sketch: Sketch | None = None
) -> list[dict[str, Any]]:
    """Return the weights of inputs for the most trusted expert, one posterior after the other."""
    best = int(np.argmax(committee.weights))
    posterior = committee.posteriors[best]
    part, scale = committee.feature_space.linear_part(committee.experts[best])
    found = []
    for k, positive in enumerate(posterior.positives.tolist()[: len(posterior.states)]):
        mean = scale * posterior.means[k][part]
        deviation = scale * posterior.deviations(k, part)
        if sketch is not None:
            mean, deviation = sketch.widened(mean), abs(sketch.widened(deviation))
        found += [
            {"column": label, "class": positive, "mean": float(m), "deviation": float(d)}
            for label, m, d in zip(labels, mean, deviation, strict=False)  # there may be more room
        ]
    return found


def virtual_points(
    committee: Committee, n_inputs: int, sketch: Sketch | None = None
) -> list[Array]:
    """Return the points of each posterior of the most trusted expert, along so many inputs."""
    best = int(np.argmax(committee.weights))
    part, scale = committee.feature_space.linear_part(committee.experts[best])
    found = []
    for weights in committee.posteriors[best].points():
        points = weights[:, part] / scale
        found.append((points if sketch is None else sketch.widened(points))[:, :n_inputs])
    return found


def states_of(committee: Committee) -> list[State]:
    """Return all posteriors of the experts there are now, awake or asleep."""
    return [state for each in committee.posteriors for state in each.states]
