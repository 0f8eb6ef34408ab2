"""Whether a committee and its inputs that come from outside can have been learned."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from virtualvector.auto.calibration import POWERS
from virtualvector.auto.committee import Committee
from virtualvector.auto.experts import Expert
from virtualvector.auto.record import LONGEST
from virtualvector.features.inputs import SLOTS, RunningInputs
from virtualvector.posterior.validity import check_settings


def check_inputs(inputs: RunningInputs, named: Sequence[bool], n_columns: int) -> None:
    """Raise ValueError unless inputs are those of so many columns."""
    _expect(list(inputs.named) == list(named) and len(named) == n_columns, "the same columns")
    given = {each.name: getattr(inputs, each.name) for each in fields(inputs) if each.init}
    fresh = RunningInputs(**given)
    for each in fields(inputs):
        value, expected = getattr(inputs, each.name), getattr(fresh, each.name)
        if isinstance(expected, np.ndarray):
            _expect(value.shape == expected.shape, f"{each.name} of shape {expected.shape}")
    for name in ("counts", "squares", "gaps"):
        _expect(np.all(getattr(inputs, name) >= 0), f"{name} that are not negative")
    _expect(list(inputs.names) == list(fresh.names), "names of the columns that hold names")
    for slots in inputs.names.values():
        _expect(list(slots.values()) == list(range(min(len(slots), SLOTS))), "a slot for each name")


def check_committee(committee: Committee, n_inputs: int) -> None:
    """Raise ValueError unless a committee can have come about from rows of so many inputs."""
    outlook, experts, classes = committee.outlook, committee.experts, committee.classes_at_start
    n = len(experts)
    _expect(n >= 1 and len(committee.at_start) >= 1, "at least one expert")
    for name in ("posteriors", "weights", "awake", "evidence"):
        _expect(np.shape(getattr(committee, name))[:1] == (n,), f"{name} of {n} experts")
    for name in ("weights", "awake", "evidence"):
        _expect(getattr(committee, name).ndim == 1, f"one list of {name}")
    _expect(committee.awake.any(), "at least one expert awake")
    _expect(
        np.all(committee.weights >= 0) and committee.weights[committee.awake].sum() > 0, "trust"
    )
    _expect(committee.corrections.shape == POWERS.shape, f"{len(POWERS)} corrections")
    _expect(np.all(committee.corrections >= 0) and committee.corrections.sum() > 0, "corrections")
    _expect(outlook.n_inputs == n_inputs, f"{n_inputs} inputs")
    _expect(0.0 < outlook.spread < math.inf and outlook.budget > 0.0, "a spread and a budget")
    _expect(0 <= outlook.seed < 2**32, "a seed")
    n_weights = []
    for expert, posterior in zip(experts, committee.posteriors, strict=True):
        n_weights.append(posterior.check())
        _expect(outlook.n_weights(expert) == n_weights[-1], "as many weights as the expert has")
        _expect(
            posterior.settings == expert.settings(), "an expert's posterior to learn as it does"
        )
        _expect(_same(posterior.classes, committee.classes), "the same classes for all experts")
        _expect((posterior.unseen is None) == (classes is not None), "classes known or not")
    _expect(classes is None or _same(classes, committee.classes), "the classes of the start")
    for expert in {*experts, *committee.at_start}:
        _check_expert(expert, outlook.n_waves)
        # The file has as many numbers, so memory is bounded.
        _expect(outlook.n_weights(expert) <= max(n_weights), f"at most {max(n_weights)} weights")
    _check_history(committee)


def _check_expert(expert: Expert, n_waves: int) -> None:
    check_settings(expert.settings())
    _expect(expert.detail >= 1, "experts that see something")
    if expert.bandwidth is not None:
        _expect(0.0 < expert.bandwidth < math.inf and n_waves >= 1, "waves")


def _check_history(committee: Committee) -> None:
    record, watch = committee.record, committee.watch
    since = (committee.calm_since, committee.grown_at)
    _expect(all(0 <= row <= committee.n_rows for row in since), "rows that have been")
    _expect(record.every >= 1 and record.n_blocks >= 0 and watch.n_blocks >= 0, "counts of blocks")
    _expect(len(record.moments) <= LONGEST, f"at most {LONGEST} moments")
    _expect(all(map(math.isfinite, watch)) and watch.variance >= 0.0, "a watch of finite numbers")


def _same(one: Any, other: Any) -> bool:
    return one.dtype == other.dtype and np.array_equal(one, other)


def _expect(holds: Any, expected: str) -> None:
    if not holds:
        raise ValueError(f"found a committee that cannot be; expected {expected}")
