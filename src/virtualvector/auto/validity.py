"""Whether a committee and its inputs that come from outside can have been learned."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from virtualvector.auto import calibration
from virtualvector.auto.committee import SHARE, Committee
from virtualvector.auto.experts import Expert
from virtualvector.auto.outlook import Outlook
from virtualvector.auto.record import LONGEST
from virtualvector.features.inputs import LARGEST, LONGEST_MEMORY, RunningInputs
from virtualvector.features.names import SLOTS
from virtualvector.posterior.state import ROWS
from virtualvector.posterior.validity import check_settings

_ROUNDING = 1e-9  # of sums of weights, which every row makes anew
_MOST_LOSS = 700.0  # −log of the smallest probability that counts is 691
_LARGEST_COUNT = 2**53


def check_inputs(inputs: RunningInputs, named: Sequence[bool], n_columns: int, n_rows: int) -> None:
    """Raise ValueError unless inputs are those of so many columns and rows."""
    _expect(list(inputs.named) == list(named) and len(named) == n_columns, "the same columns")
    _expect(n_columns >= 1 and 0 <= n_rows <= _LARGEST_COUNT, "columns and rows")
    given = {each.name: getattr(inputs, each.name) for each in fields(inputs) if each.init}
    fresh = RunningInputs(**given)
    for each in fields(inputs):
        value, expected = getattr(inputs, each.name), getattr(fresh, each.name)
        if isinstance(expected, np.ndarray):
            _expect(value.shape == expected.shape, f"{each.name} of shape {expected.shape}")
    _expect(list(inputs.names) == list(fresh.names), "names of the columns that hold names")
    places = sorted(place for known in inputs.names.values() for place in known.values())
    first = len(inputs.counts)
    _expect(places == list(range(first, first + len(places))), "an input for each name")
    most = max(map(len, inputs.names.values()), default=0)
    _expect(most <= min(SLOTS, n_rows), f"at most {SLOTS} inputs for a column, each from a row")
    _expect(np.all((inputs.gaps >= 0) & (inputs.gaps <= n_rows)), "no more gaps than rows")
    _check_scales(inputs, n_rows)


def _check_scales(inputs: RunningInputs, n_rows: int) -> None:
    """Check what is known of columns of numbers: every row that had no gap counted once."""
    counts, means, squares = inputs.counts, inputs.means, inputs.squares
    numbers = ~np.array(inputs.named, bool)
    came = n_rows - inputs.gaps[numbers] if inputs.scaling else np.zeros(len(counts))
    _expect(np.array_equal(counts, np.minimum(came, LONGEST_MEMORY)), "counts of rows")
    largest = LARGEST * (1.0 + _ROUNDING)
    _expect(np.all(np.abs(means) <= np.where(counts > 0, largest, 0.0)), "means of what came")
    widest = np.where(counts > 1, np.square(2.0 * largest), 0.0)
    _expect(np.all((squares >= 0) & (squares <= widest)), "squares of what came")


def check_parameters(
    committee: Committee,
    *,
    experts: Sequence[Expert] | None,
    n_waves: int | None,
    budget: float | None,
    random_state: int,
) -> None:
    """Raise ValueError unless a committee is one that parameters, if given, lead to."""
    outlook = committee.outlook
    found = {
        "experts": experts is None or committee.at_start == tuple(Expert(*e) for e in experts),
        "n_waves": n_waves is None or outlook.n_waves == n_waves,
        "budget": budget is None or outlook.budget == float(budget),
        "random_state": outlook.seed == random_state,
    }
    for name, fits in found.items():
        if not fits:
            raise ValueError(
                f"found {name} other than what was learned with; expected the same: set it back, "
                "or fit anew"
            )


def check_committee(committee: Committee, inputs: RunningInputs) -> None:
    """Raise ValueError unless a committee can have come about from rows of such inputs."""
    n = len(committee.experts)
    _expect(n >= 1 and len(committee.at_start) >= 1, "at least one expert")
    _expect(len(committee.posteriors) == n, f"posteriors of {n} experts")
    for name in ("weights", "awake", "evidence"):
        _expect(getattr(committee, name).shape == (n,), f"{name} of {n} experts")
    _check_outlook(committee.outlook, inputs)
    _check_experts(committee)
    _check_trust(committee)
    _check_posteriors(committee)
    _check_history(committee)


def _check_outlook(outlook: Outlook, inputs: RunningInputs) -> None:
    least, most = inputs.n_inputs, inputs.most_inputs
    _expect(least <= outlook.n_inputs <= most == outlook.most_inputs, f"{least} to {most} inputs")
    # Frequencies of waves are drawn for all inputs that may come.
    _expect(most <= SLOTS * outlook.n_inputs, "room for some names of each column")
    _expect(outlook.spread == inputs.spread, f"a spread of {inputs.spread}")
    _expect(outlook.budget > 0.0, "a budget")
    _expect(0 <= outlook.seed < 2**32, "a seed")


def _check_experts(committee: Committee) -> None:
    """Check that all experts came from those of the start: they may forget, or see more."""
    at_start, experts = committee.at_start, committee.experts
    _expect(experts[: len(at_start)] == at_start, "the experts of the start first")
    known = {_assumed(expert) for expert in at_start}
    later = [*experts, *(e for moment in committee.record.moments for e in moment.weights)]
    _expect(all(_assumed(expert) in known for expert in later), "heirs of those of the start")
    for expert in {*at_start, *later}:
        check_settings(expert.settings())
        _expect(expert.detail >= 1, "experts that see something")
        if expert.bandwidth is not None:
            waves = 0.0 < expert.bandwidth < math.inf and committee.outlook.n_waves >= 1
            _expect(waves, "waves")


def _assumed(expert: Expert) -> Expert:
    return expert._replace(half_life=None, detail=1)


def _check_trust(committee: Committee) -> None:
    """Check weights, which `mix` and `correct` leave summing to one, and none of them near zero."""
    weights, awake = committee.weights, committee.awake
    _expect(awake.any() and not np.any(weights[~awake]), "trust in none but who is awake")
    if committee.alone:
        start = calibration.first_weights()
        _expect(len(weights) == 1 and weights[0] == 1.0, "all trust in the only expert")
        _expect(np.array_equal(committee.corrections, start), "the corrections of the start")
    _expect(_sums_to_one(weights, awake.sum(), SHARE), "weights that sum to one")
    corrections, n_ways = committee.corrections, len(calibration.POWERS)
    _expect(corrections.shape == (n_ways,), f"{n_ways} corrections")
    _expect(_sums_to_one(corrections, n_ways, calibration.SHARE), "corrections that sum to one")
    # Of a log-probability for each row: rounding may make a probability more than one.
    evidence, most = committee.evidence, _MOST_LOSS * committee.n_rows
    _expect(np.all((evidence <= _ROUNDING * most) & (evidence >= -most)), "evidence of the rows")


def _sums_to_one(weights: Any, n: int, share: float) -> bool:
    """Whether weights sum to one, and as many as there should be have got their share."""
    shared = np.count_nonzero(weights >= 0.01 * share / n) == n
    return bool(np.all(weights >= 0.0)) and shared and abs(weights.sum() - 1.0) < _ROUNDING


def _check_posteriors(committee: Committee) -> None:
    outlook, classes = committee.outlook, committee.classes
    most, calm = 0, committee.n_rows - committee.calm_since
    each = zip(committee.experts, committee.posteriors, committee.awake.tolist(), strict=True)
    for expert, posterior, awake in each:
        n_weights, expected = posterior.check(), outlook.n_weights(expert)
        most = max(most, n_weights)
        # Who is asleep does not know of inputs that came since.
        fits = n_weights == expected if awake else n_weights <= expected
        _expect(fits, "as many weights as experts have")
        rows = int(posterior.states[0].counts[ROWS])
        _expect(rows <= committee.n_rows, "experts that learned no more rows than came")
        _expect(rows >= calm or not awake, "experts awake that learned all rows since an alarm")
        _expect(posterior.settings == expert.settings(), "posteriors that learn as experts do")
        _expect(posterior.settling is None, "posteriors that need no settling")
        _expect(_same(posterior.classes, classes), "the same classes for all experts")
        _expect(
            (posterior.unseen is not None) == committee.takes_new_classes,
            "something known of classes that may come, if any may",
        )
    at_start = committee.classes_at_start
    _expect(at_start is None or _same(at_start, classes), "the classes of the start")
    for expert in committee.experts:
        # A factor of so many weights is in the file: memory is bounded by what it holds. That of
        # who is asleep may lack some inputs.
        _expect(outlook.n_weights(expert) <= most + outlook.n_inputs, f"at most {most} weights")


def _check_history(committee: Committee) -> None:
    record, watch, n_rows = committee.record, committee.watch, committee.n_rows
    since = (committee.calm_since, committee.grown_at)
    _expect(all(0 <= row <= n_rows for row in since), "rows that have been")
    _expect(0 <= watch.n_blocks <= record.n_blocks <= n_rows, "no more blocks than rows")
    _expect(1 <= record.every <= max(1, record.n_blocks), "blocks between two moments")
    _expect(len(record.moments) <= LONGEST, f"at most {LONGEST} moments")
    at = [moment.n_rows for moment in record.moments]
    _expect(at == sorted(set(at)) and all(0 < row <= n_rows for row in at), "moments in order")
    _expect(all(_is_mixed(m.weights.values()) for m in record.moments), "weights that sum to one")
    most = _MOST_LOSS * (n_rows + 1.0)
    _expect(abs(watch.excess) <= most and abs(watch.usual) <= most, "losses of the rows")
    _expect(0.0 <= watch.variance <= _MOST_LOSS * most, "a variance of losses of the rows")


def _is_mixed(weights: Iterable[float]) -> bool:
    weights = list(weights)
    return min(weights, default=-1.0) >= 0.0 and abs(math.fsum(weights) - 1.0) < _ROUNDING


def _same(one: Any, other: Any) -> bool:
    return one is other or (one.dtype == other.dtype and np.array_equal(one, other))


def _expect(holds: Any, expected: str) -> None:
    if not holds:
        raise ValueError(f"found what cannot have been learned; expected {expected}")
