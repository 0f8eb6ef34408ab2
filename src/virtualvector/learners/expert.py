"""What one expert assumes about a stream, and that in words."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from numbers import Integral
from typing import Any, NamedTuple

from virtualvector.posterior import Settings, presets
from virtualvector.posterior.presets import EVICTION, Noise
from virtualvector.posterior.settings import check_settings

# Kinds of those that `WideVVMClassifier` has beside a learner, in words.
INDEPENDENT, RATES = "independent weights", "rates of places in classes"


class Expert(NamedTuple):
    """What one expert assumes about the stream.

    Parameters
    ----------
    bandwidth : float or None
        Of its Fourier features, in typical distances between rows; None: it has none.
    margin_noise : float
        The variance s² of the noise of a row's margin.
    label_noise : float, default=0.0
        The probability ε that a label is wrong whatever the row.
    buffer_size : int, default=0
        Its virtual points.
    half_life : float, optional
        Rows after which half is forgotten; None: never.
    detail : int, default=1
        How many times as many Fourier features as usual it has.
    merge_pairs : int, default=0
        The closest pairs of points that are tried to merge.
    eviction : {"divergence", "margin", "oldest"}, default="divergence"
        Which point goes.
    columns : int, default=0
        How many columns each Fourier feature sees, taken at random; 0: all.
    squares : bool, default=False
        Whether it sees the squares of numbers too; without Fourier features only.
    reach : float, default=1.0
        Deviations up to which numbers count as they are, in proportion; without Fourier features
        only, and of numbers that were scaled.
    rank : int, optional
        The directions along which it keeps how weights hang together, beside a precision of each;
        None: their full covariance.

    Examples
    --------
    One expert alone is `VVMClassifier`:

    >>> from virtualvector import AutoVVMClassifier, Expert, VVMClassifier
    >>> from virtualvector.datasets import load_ionosphere
    >>> X, y = load_ionosphere(return_X_y=True, random_state=0)
    >>> alone = AutoVVMClassifier(experts=[Expert(None, 0.5, buffer_size=10)], scale=False)
    >>> same = VVMClassifier(10, margin_noise=0.5, merge_pairs=0)
    >>> one, other = (m.fit(X[:300], y[:300]).predict_proba(X[300:]) for m in (alone, same))
    >>> bool((one == other).all())
    True
    """

    bandwidth: float | None
    margin_noise: float
    label_noise: float = 0.0
    buffer_size: int = 0
    half_life: float | None = None
    detail: int = 1
    merge_pairs: int = 0
    eviction: str = "divergence"
    columns: int = 0
    squares: bool = False
    reach: float = 1.0
    rank: int | None = None

    def settings(self) -> Settings:
        """Return how its posterior learns."""
        rank = Settings().rank if self.rank is None else int(self.rank)
        noise = Noise(self.label_noise, self.margin_noise, self.half_life, rank)
        return presets.vvm(
            noise,
            self.buffer_size,
            merge_pairs=self.merge_pairs,
            eviction=self.eviction,
            # Of the only site, the first update is already exact.
            max_sweeps=Settings().max_sweeps if self.buffer_size else 1,
        )


def checked_experts(experts: Iterable[Any]) -> tuple[Expert, ...]:
    """Return experts as such; raise ValueError if there are none, or for one that cannot be.

    Examples
    --------
    >>> from virtualvector.learners.expert import Expert, checked_experts
    >>> checked_experts([Expert(bandwidth=None, margin_noise=-1.0)])
    Traceback (most recent call last):
    ValueError: experts[0]: found margin_noise = -1.0; expected 0 or more, and finite.
    """
    found = []
    for place, each in enumerate(experts):
        try:
            if not isinstance(each, tuple | list):
                raise TypeError(f"found {each!r}; expected an Expert")
            expert = Expert(*each)
            check_expert(expert)
        except (TypeError, ValueError) as error:
            raise ValueError(f"experts[{place}]: {error}.") from error
        found.append(expert)
    if not found:
        raise ValueError("experts: found none; expected one or more.")
    return tuple(found)


def check_expert(expert: Expert) -> None:
    """Raise ValueError unless a posterior can learn as an expert says."""
    bandwidth, detail = expert.bandwidth, expert.detail
    if bandwidth is not None and not 0.0 < bandwidth < math.inf:
        raise ValueError(f"found bandwidth = {bandwidth!r}; expected more than 0, or None")
    if not isinstance(detail, Integral) or detail < 1:
        raise ValueError(f"found detail = {detail!r}; expected 1 or more")
    if expert.eviction not in EVICTION:
        raise ValueError(f"found eviction = {expert.eviction!r}; expected one of {[*EVICTION]}")
    if expert.columns < 0 or (expert.columns and bandwidth is None):
        raise ValueError(
            f"found columns = {expert.columns!r}; expected 0, or 1 or more with a bandwidth"
        )
    if expert.squares and bandwidth is not None:
        raise ValueError(f"found squares with bandwidth = {bandwidth!r}; expected None")
    if not (1.0 <= expert.reach < math.inf and (expert.reach == 1.0 or bandwidth is None)):
        raise ValueError(f"found reach = {expert.reach!r}; expected 1, or more without a bandwidth")
    for name in ("buffer_size", "merge_pairs", "columns", *(["rank"] * (expert.rank is not None))):
        if not isinstance(getattr(expert, name), Integral):
            raise ValueError(f"found {name} = {getattr(expert, name)!r}; expected a whole number")
    if expert.rank is not None and (expert.rank < 0 or expert.margin_noise == 0.0):
        raise ValueError(
            f"found rank = {expert.rank!r} and margin_noise = {expert.margin_noise!r}; expected "
            "neither a rank below 0 nor one without margin noise, or None"
        )
    check_settings(expert.settings())


def describe(expert: Expert) -> str:
    """Return in words what an expert assumes; what is as usual is left out.

    Examples
    --------
    >>> from virtualvector.learners.expert import Expert
    >>> from virtualvector.learners.expert import describe
    >>> describe(Expert(0.5, 0.1, label_noise=0.02, half_life=20000.0, detail=2))
    'rbf ×0.5, s² 0.1, ε 0.02, half-life 20000, detail 2'
    >>> describe(Expert(None, 1.0, buffer_size=10))
    'linear, s² 1, 10 points'
    >>> describe(Expert(None, 1.0, buffer_size=10, eviction="oldest"))
    'linear, s² 1, 10 points, eviction by oldest'
    """
    curved = "squares" if expert.squares else "linear"
    words = [curved if expert.bandwidth is None else f"rbf ×{expert.bandwidth:g}"]
    if expert.columns:
        words.append(f"{expert.columns} column{'s' * (expert.columns > 1)} each")
    if expert.reach != 1.0:
        words.append(f"reach {expert.reach:g}")
    words.append(f"s² {expert.margin_noise:g}")
    if expert.label_noise:
        words.append(f"ε {expert.label_noise:g}")
    if expert.buffer_size:
        words.append(f"{expert.buffer_size} points")
    if expert.merge_pairs:
        words.append(f"{expert.merge_pairs} pairs")
    if expert.buffer_size and expert.eviction != "divergence":
        words.append(f"eviction by {expert.eviction}")
    if expert.half_life is not None:
        words.append(f"half-life {expert.half_life:.10g}")
    if expert.detail != 1:
        words.append(f"detail {expert.detail}")
    if expert.rank is not None:
        words.append(f"rank {expert.rank}")
    return ", ".join(words)


def described(told: Mapping[str, Any]) -> str:
    """Return the same of an expert as ``experts_`` tells of it.

    Examples
    --------
    >>> from virtualvector.learners.expert import Expert, described
    >>> described(Expert(None, 1.0, rank=20)._asdict() | {"weight": 0.5})
    'linear, s² 1, rank 20'
    """
    if told.get("kind") == RATES:
        return RATES
    words = describe(Expert(**{name: told[name] for name in Expert._fields}))
    return f"{words}, {INDEPENDENT}" if told.get("kind") == INDEPENDENT else words
