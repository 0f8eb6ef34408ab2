"""The learners of the paper as settings of one engine (section 2)."""

from __future__ import annotations

import math
from typing import NamedTuple

from virtualvector.posterior.settings import Settings, Strategy

# Which point goes, by the words that users have for it.
EVICTION = {
    "divergence": Strategy.DIVERGENCE,
    "margin": Strategy.MARGIN,
    "oldest": Strategy.OLDEST,
}

_DEFAULT = Settings()
_FULL = _DEFAULT.rank


def rank_of(covariance: str, rank: int) -> int:
    """Return the rank that settings have, by the word that users have for the covariance.

    Examples
    --------
    >>> from virtualvector.posterior.presets import rank_of
    >>> [rank_of(word, 20) for word in ("full", "low-rank", "diagonal", "independent")]
    [-1, 20, 0, 0]
    """
    return {"full": _FULL, "low-rank": int(rank)}.get(covariance, 0)


class Noise(NamedTuple):
    """What all learners assume of a stream, and how much of it they keep beside points."""

    label_noise: float = 0.0  # ε
    margin_noise: float = 0.0  # s²
    half_life: float | None = None  # rows until half is forgotten; None: nothing ever is
    rank: int = _FULL  # of the residual beside its diagonal
    independent: bool = False  # of rank 0: variances of weights are matched


def vvm(
    noise: Noise,
    buffer_size: int,
    *,
    merge_pairs: int = _DEFAULT.merge_pairs,
    eviction: str = "divergence",
    tolerance: float = _DEFAULT.tolerance,
    max_sweeps: int = _DEFAULT.max_sweeps,
) -> Settings:
    """Return the settings of the Virtual Vector Machine.

    Examples
    --------
    >>> from virtualvector.posterior.presets import Noise, vvm
    >>> vvm(Noise(margin_noise=0.5), 10).buffer_size
    10
    """
    return _with_noise(noise)._replace(
        buffer_size=int(buffer_size),
        strategy=int(EVICTION[eviction]),
        merge_pairs=int(merge_pairs),
        tolerance=float(tolerance),
        max_sweeps=int(max_sweeps),
    )


def adf(noise: Noise) -> Settings:
    """Return the settings of assumed-density filtering: no points."""
    # With a single factor the first update of its site is already exact.
    return _with_noise(noise)._replace(buffer_size=0, merge_pairs=0, max_sweeps=1)


def window_ep(
    noise: Noise,
    buffer_size: int,
    *,
    tolerance: float = _DEFAULT.tolerance,
    max_sweeps: int = _DEFAULT.max_sweeps,
) -> Settings:
    """Return the settings of window-EP: the points are the last rows."""
    return vvm(
        noise,
        buffer_size,
        merge_pairs=0,
        eviction="oldest",
        tolerance=tolerance,
        max_sweeps=max_sweeps,
    )


def ep(noise: Noise, *, tolerance: float, max_sweeps: int) -> tuple[Settings, Settings]:
    """Return those of EP on all rows: how a row is learned, and how EP runs before it is read."""
    before_reading = _with_noise(noise)._replace(
        strategy=int(Strategy.NEVER),
        merge_pairs=0,
        tolerance=float(tolerance),
        max_sweeps=int(max_sweeps),
    )
    return before_reading._replace(max_sweeps=0), before_reading


def _with_noise(noise: Noise) -> Settings:
    return Settings(
        label_noise=float(noise.label_noise),
        margin_noise=float(noise.margin_noise),
        half_life=math.inf if noise.half_life is None else float(noise.half_life),
        rank=noise.rank,
        independent=noise.independent,
    )
