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
from virtualvector.auto.outlook import Outlook
from virtualvector.auto.record import LONGEST
from virtualvector.features.inputs import RunningInputs
from virtualvector.features.names import SLOTS
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
    places = sorted(place for known in inputs.names.values() for place in known.values())
    first = len(inputs.counts)
    _expect(places == list(range(first, first + len(places))), "an input for each name")
    most = max(map(len, inputs.names.values()), default=0)
    _expect(most <= SLOTS, f"at most {SLOTS} inputs for a column")


def check_committee(committee: Committee, inputs: RunningInputs) -> None:
    """Raise ValueError unless a committee can have come about from rows of such inputs."""
    n = len(committee.experts)
    _expect(n >= 1 and len(committee.at_start) >= 1, "at least one expert")
    _expect(len(committee.posteriors) == n, f"posteriors of {n} experts")
    for name in ("weights", "awake", "evidence"):
        _expect(getattr(committee, name).shape == (n,), f"{name} of {n} experts")
    _expect(committee.awake.any(), "at least one expert awake")
    _expect(np.all(committee.weights >= 0), "weights that are not negative")
    _expect(committee.weights[committee.awake].sum() > 0, "trust in who is awake")
    _expect(committee.corrections.shape == POWERS.shape, f"{len(POWERS)} corrections")
    _expect(np.all(committee.corrections >= 0), "corrections that are not negative")
    _expect(committee.corrections.sum() > 0, "trust in some correction")
    _check_outlook(committee.outlook, inputs)
    _check_posteriors(committee)
    _check_history(committee)


def _check_outlook(outlook: Outlook, inputs: RunningInputs) -> None:
    least, most = inputs.n_inputs, inputs.most_inputs
    _expect(least <= outlook.n_inputs <= most == outlook.most_inputs, f"{least} to {most} inputs")
    _expect(0.0 < outlook.spread < math.inf and outlook.budget > 0.0, "a spread and a budget")
    _expect(0 <= outlook.seed < 2**32, "a seed")


def _check_posteriors(committee: Committee) -> None:
    outlook, classes = committee.outlook, committee.classes
    most = 0
    each = zip(committee.experts, committee.posteriors, committee.awake.tolist(), strict=True)
    for expert, posterior, awake in each:
        n_weights, expected = posterior.check(), outlook.n_weights(expert)
        most = max(most, n_weights)
        # Who is asleep does not know of inputs that came since.
        fits = n_weights == expected if awake else n_weights <= expected
        _expect(fits, "as many weights as experts have")
        _expect(posterior.settings == expert.settings(), "posteriors that learn as experts do")
        _expect(_same(posterior.classes, classes), "the same classes for all experts")
        _expect(
            (posterior.unseen is not None) == committee.takes_new_classes,
            "something known of classes that may come, if any may",
        )
    at_start = committee.classes_at_start
    _expect(at_start is None or _same(at_start, classes), "the classes of the start")
    for expert in (*committee.experts, *committee.at_start):
        _check_expert(expert, outlook.n_waves)
        # A factor of so many weights is in the file: memory is bounded by what it holds. That of
        # who is asleep may lack some inputs.
        _expect(outlook.n_weights(expert) <= most + outlook.n_inputs, f"at most {most} weights")


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
        raise ValueError(f"found what cannot have been learned; expected {expected}")
