"""How to learn: the settings of the engine, whatever learner they are of."""

from __future__ import annotations

import math
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from virtualvector.kernels.likelihood import LEAST_LABEL_NOISE
from virtualvector.types import LARGEST_COUNT

_MOST_PAIRS = 2**20  # memory is set aside for as many


class Strategy(IntEnum):
    """Ways to lose a point."""

    DIVERGENCE = 0  # the one whose factor is closest to a Gaussian
    MARGIN = 1  # the one farthest from the decision boundary
    OLDEST = 2  # the one that came first: window-EP
    NEVER = 3  # none: EP


class Settings(NamedTuple):
    """How to learn."""

    label_noise: float = 0.0  # ε
    margin_noise: float = 0.0  # s², in units of the prior variance
    buffer_size: int = 30  # points kept between rows
    strategy: int = int(Strategy.DIVERGENCE)
    merge_pairs: int = 5  # k, the closest pairs that are tried; 0: never merge
    tolerance: float = 1e-10
    max_sweeps: int = 30
    half_life: float = math.inf  # rows until half is forgotten; infinite: nothing ever is
    rank: int = -1  # of the residual's precision, beside a diagonal; negative: a full covariance
    independent: bool = False  # of rank 0: variances of weights are matched, not precisions added


class CleanSettings(Settings):
    """Settings without label noise, of a type that says so: what it takes is not compiled."""

    __slots__ = ()


def check_settings(settings: Settings) -> None:
    """Raise ValueError unless the engine can work with settings.

    Examples
    --------
    >>> from virtualvector.posterior.settings import Settings, check_settings
    >>> check_settings(Settings(buffer_size=-3))
    Traceback (most recent call last):
    ValueError: found buffer_size = -3; expected 0 or more
    """
    noise = settings.label_noise
    allowed = {
        "label_noise": (
            noise == 0.0 or LEAST_LABEL_NOISE <= noise < 0.5,
            f"0, or {LEAST_LABEL_NOISE:g} to less than 0.5",
        ),
        "margin_noise": (0.0 <= settings.margin_noise < math.inf, "0 or more, and finite"),
        "buffer_size": (0 <= settings.buffer_size < LARGEST_COUNT, "0 or more"),
        "strategy": (settings.strategy in list(Strategy), "one that there is"),
        "merge_pairs": (0 <= settings.merge_pairs <= _MOST_PAIRS, f"0 to {_MOST_PAIRS}"),
        "tolerance": (0.0 <= settings.tolerance < math.inf, "0 or more, and finite"),
        "max_sweeps": (0 <= settings.max_sweeps < LARGEST_COUNT, "0 or more"),
        "half_life": (settings.half_life > 0.0, "more than 0"),
        "rank": (-1 <= settings.rank < LARGEST_COUNT, "0 or more, or -1 for a full covariance"),
        "independent": (
            not settings.independent or settings.rank == settings.buffer_size == 0,
            "it with rank 0 and without points only",
        ),
    }
    for name, (is_allowed, expected) in allowed.items():
        if not is_allowed:
            raise ValueError(f"found {name} = {getattr(settings, name)!r}; expected {expected}")


def in_words(settings: Settings) -> dict[str, float | str]:
    """Return settings by name, for people and for JSON, which knows no infinity."""
    return {
        name: "never" if value == math.inf else value for name, value in settings._asdict().items()
    }


def plain(settings: Settings) -> Settings:
    """Return the same settings as Python numbers: code is compiled for each set of types."""
    kinds = (float, float, int, int, int, float, int, float, int, bool)
    return Settings._make(kind(value) for kind, value in zip(kinds, settings, strict=True))


def most_points(settings: Settings) -> int:
    """How many points there can be while a row is learned."""
    if settings.strategy == Strategy.NEVER:
        return np.iinfo(np.int64).max
    return settings.buffer_size + 1


def may_merge(settings: Settings) -> bool:
    """Whether points may ever be merged."""
    return (
        settings.merge_pairs > 0
        and settings.buffer_size > 0
        and settings.strategy in (Strategy.DIVERGENCE, Strategy.MARGIN)
    )
