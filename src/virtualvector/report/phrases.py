"""What the numbers of a stream say, in words."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from virtualvector.evaluation.displays import ReliabilityDisplay
from virtualvector.evaluation.tally import Tally, Totals

CLEARLY = 2.0  # standard errors
_FEWEST = 100  # rows before the recent ones, to compare these with

BUFFER = {  # what is counted, and what that means
    "evicted": ("points evicted", "a Gaussian took over what they carried"),
    "merged": ("pairs merged", "one point stands for both"),
    "ignored": ("rows ignored", "all zeros, or drowned in noise"),
    "sweeps": ("sweeps of EP", "over the points, for all rows together"),
    "unsettled": ("rows unsettled", "they contradicted the points, and EP had no fixed point"),
    "divergence_lost": ("divergence lost", "what a Gaussian could not take over, in nats"),
    "divergence_score": ("divergence kept", "what points carry beyond a Gaussian, in nats"),
    "kept": ("points kept", "by all experts now"),
}


class Tile(NamedTuple):
    """A number that stands out."""

    name: str
    value: str
    meaning: str


def number(value: float) -> str:
    """Return a number as people read it.

    Examples
    --------
    >>> from virtualvector.report.phrases import number
    >>> number(4601), number(-0.51234), number(0.0000123), number(2345.678)
    ('4,601', '−0.512', '1.23e−05', '2,346')
    """
    if float(value).is_integer() or abs(value) >= 1000.0:
        text = f"{value:,.0f}"
    elif abs(value) >= 0.001:
        text = f"{value:.3f}"
    else:
        text = f"{value:.3g}"
    return text.replace("-", "−")


def percent(share: float) -> str:
    r"""Return a share in per cent, of two digits or more.

    Examples
    --------
    >>> from virtualvector.report.phrases import percent
    >>> percent(0.05943), percent(0.000432), percent(0.0)
    ('5.9\xa0%', '0.043\xa0%', '0\xa0%')
    """
    size = 100.0 * share
    digits = f"{size:.1f}" if size >= 1.0 else f"{size:.2g}"
    return f"{digits}\N{NO-BREAK SPACE}%"


def summary(tally: Tally) -> str:
    r"""Return in a sentence how well the stream was predicted.

    Examples
    --------
    >>> import numpy as np
    >>> from virtualvector.evaluation import Tally
    >>> from virtualvector.report.phrases import summary
    >>> predicted = np.array([[0.3, 0.7], [0.9, 0.1], [0.6, 0.4]])
    >>> tally = Tally(("ham", "spam")).with_rows(np.array(["spam", "ham", "spam"]), predicted)
    >>> print(summary(tally).replace("\xa0", " "))
    3 rows, each predicted before it was learned: 33.3 % wrong, where always saying the same class
    is 33.3 % wrong; log-loss 0.459, where the shares of the classes give 0.637; probabilities off
    by 0.333 on average.
    """
    n_rows = tally.now.n_rows
    if n_rows == 0:
        return "No rows were learned: there is nothing to say yet."
    measures = tally.measures
    rows = "1 row" if n_rows == 1 else f"{n_rows:,} rows, each"
    _, error, log_loss = tally.base_rate
    return (
        f"{rows} predicted before it was learned: {percent(measures.error)} wrong, where always "
        f"saying the same class is {percent(error)} wrong; log-loss {measures.log_loss:.3f}, where "
        f"the shares of the classes give {log_loss:.3f}; probabilities off by "
        f"{measures.calibration_error:.3f} on average."
    )


def blocks(tally: Tally) -> str:
    """Return in a sentence that labels came in blocks, if they did, and what that means."""
    n_runs, expected, _ = order = tally.label_order
    if not order.in_blocks:
        return ""
    n_rows = tally.now.n_rows
    return (
        f"Labels came in blocks: one followed its like for {n_rows / n_runs:,.1f} rows on average, "
        f"in a random order for {n_rows / expected:,.1f}. The figures are about this order; rows "
        "in another one may be predicted much worse. Learned with --shuffle, they are in none."
    )


def trend(tally: Tally) -> str:
    """Return in a sentence whether the last rows were predicted better than those before them."""
    now, recent = tally.now, tally.recent
    n_before = now.n_rows - recent.n_rows
    if n_before < _FEWEST:
        return ""
    wrong_before = now.wrong - round(recent.error * recent.n_rows)
    before, overall = wrong_before / n_before, now.wrong / now.n_rows
    standard_error = math.sqrt(overall * (1.0 - overall) * (1.0 / n_before + 1.0 / recent.n_rows))
    change = recent.error - before
    if abs(change) <= CLEARLY * standard_error:
        verdict = f"about as many as before ({percent(before)})"
    elif change < 0.0:
        verdict = f"fewer than before ({percent(before)}): it was still getting better"
    else:
        verdict = f"more than before ({percent(before)}): the stream may have changed"
    return f"Of the last {recent.n_rows:,} rows {percent(recent.error)} were wrong, {verdict}."


def trust(tally: Tally) -> str:
    """Return in a sentence how often what was predicted came true as often as it should."""
    display = ReliabilityDisplay(*tally.reliability, event(tally))
    some = display.n_rows > 0
    far = abs(display.observed - display.predicted)[some] > CLEARLY * display.standard_error[some]
    n_bins, n_near = len(far), int((~far).sum())
    return (
        f"In {n_near} of {n_bins} bins what was observed is within two standard errors of what was "
        f"predicted; if every probability is right, about {number(round(0.95 * n_bins))} are."
    )


def bins(tally: Tally) -> list[tuple[int, float, float]]:
    """Return the rows, the mean prediction and the observed share of each bin that has rows."""
    lines = zip(*(numbers.tolist() for numbers in tally.reliability), strict=True)
    return [line for line in lines if line[0] > 0]


def event(tally: Tally) -> str:
    """Return what the reliability of a stream is about."""
    return f"class {tally.classes[1]}" if len(tally.classes) == 2 else "the most probable class"


def tiles(tally: Tally) -> list[Tile]:
    """Return the numbers that stand out."""
    measures, recent = tally.measures, tally.recent
    n_rows, (_, guessed_wrong, by_guessing) = tally.now.n_rows, tally.base_rate
    found = [
        Tile(
            "wrong",
            percent(measures.error),
            f"{tally.now.wrong:,} of {n_rows:,} rows; {percent(guessed_wrong)} by always saying "
            "the same",
        ),
        Tile("wrong lately", percent(recent.error), f"of the last {recent.n_rows:,} rows"),
        Tile(
            "log-loss",
            f"{measures.log_loss:.3f}",
            f"0 is best, {by_guessing:.3f} the shares of the classes",
        ),
        Tile("Brier score", f"{measures.brier:.3f}", "0 is best, 1 is sure and wrong"),
        Tile(
            "calibration error",
            f"{measures.calibration_error:.3f}",
            "between predicted and observed shares",
        ),
    ]
    return [tile for tile in found if tile.name != "wrong lately" or recent.n_rows < n_rows]


def wrong_between(moments: list[Totals]) -> list[float]:
    """Return the share of wrong rows in each stretch, from the start and from moment to moment.

    Examples
    --------
    >>> from virtualvector.evaluation.tally import Totals
    >>> from virtualvector.report.phrases import wrong_between
    >>> wrong_between([Totals(10, 5), Totals(30, 10)])
    [0.5, 0.25]
    """
    n_rows, wrong = np.diff([[0, 0], *(m[:2] for m in moments)], axis=0).T
    shares: list[float] = (wrong / n_rows).tolist()
    return shares
