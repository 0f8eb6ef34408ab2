"""The pictures of a report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from markupsafe import Markup

from virtualvector.evaluation.displays import ReliabilityDisplay, WeightsDisplay
from virtualvector.evaluation.tally import Tally
from virtualvector.report.contents import Points
from virtualvector.report.phrases import event, percent, wrong_between
from virtualvector.report.selection import equal_parts
from virtualvector.report.svg import inline_svg, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_ACCENT, _SECOND = "#2f81c1", "#d9822b"  # seen on white and on black
_MOST_PARTS = 24  # of the stream; more, and chance is all that is seen
_WIDTH = 5.4  # inches; text of this size is still read on a phone


def draw_error(tally: Tally) -> Markup:
    """Draw how much was wrong along the stream, so far and in each part of it."""
    ends = equal_parts(tally, _MOST_PARTS)
    n_rows, shares = [end.n_rows for end in ends], wrong_between(ends)

    def draw(figure: Figure) -> None:
        axes = figure.add_subplot()
        axes.stairs(
            [100.0 * share for share in shares],
            [0, *n_rows],
            baseline=None,
            color=_SECOND,
            linewidth=1.5,
            label="in this part",
        )
        so_far = [(m.n_rows, 100.0 * m.wrong / m.n_rows) for m in (*tally.past, tally.now)]
        axes.plot(*zip(*so_far, strict=True), color=_ACCENT, linewidth=2.5, label="so far")
        axes.set_xlim(0, n_rows[-1])
        axes.set_ylim(bottom=0.0)
        axes.locator_params("x", nbins=5, integer=True)
        axes.xaxis.set_major_formatter("{x:,.0f}")
        axes.set_xlabel("rows seen")
        axes.set_ylabel("wrong, % of rows")
        axes.grid(alpha=0.3)
        axes.legend(frameon=False)

    title = (
        f"Error along the stream: {percent(shares[0])} wrong in the first {n_rows[0]:,} rows, "
        f"{percent(tally.recent.error)} in the last {tally.recent.n_rows:,}, "
        f"{percent(tally.so_far.error)} of all {n_rows[-1]:,}."
    )
    return inline_svg("error", title, (_WIDTH, 3.4), draw)


def draw_reliability(tally: Tally) -> Markup:
    """Draw what came against what was predicted."""

    def draw(figure: Figure) -> None:
        of_what = short(event(tally))
        ReliabilityDisplay(*tally.reliability, of_what).plot(figure.add_subplot())

    title = (
        f"Reliability: how often {event(tally)} came against how probable it was said to be; "
        f"on average {tally.measures.calibration_error:.3f} apart."
    )
    return inline_svg("reliability", title, (_WIDTH, 5.4), draw)


def draw_trust(history: Sequence[tuple[int, dict[str, float]]]) -> Markup:
    """Draw how much each expert was trusted along the stream."""

    def draw(figure: Figure) -> None:
        axes = figure.add_subplot()
        WeightsDisplay.from_history(history, axes)
        legend = axes.get_legend()
        assert legend is not None
        legend.set_bbox_to_anchor((0.0, -0.16), axes.transAxes)  # below: phones are narrow

    last = max(history[-1][1].items(), key=lambda item: item[1])
    title = f"Weight of the experts along the stream; at its end {last[0]} has {percent(last[1])}."
    return inline_svg("trust", title, (_WIDTH, 5.2), draw)


def draw_points(points: Points) -> Markup:
    """Draw virtual points: a mark for each entry, as large as it, filled where it is positive."""
    names = [short(name, 22) for name in points.columns]
    largest = abs(points.array).max() or 1.0

    def draw(figure: Figure) -> None:
        axes = figure.add_subplot()
        point, column = np.nonzero(abs(points.array) > 0.02 * largest)  # less cannot be seen
        entries = points.array[point, column]
        for sign, colour, meaning in ((1.0, _ACCENT, "positive"), (-1.0, _SECOND, "negative")):
            here = sign * entries > 0.0
            side = np.sqrt(abs(entries[here]) / largest) * 0.85  # of the room that an entry has
            axes.bar(
                point[here] + 1,
                side,
                side,
                column[here] - side / 2.0,
                facecolor=colour if sign > 0.0 else "none",
                edgecolor=colour,
                label=meaning,
            )
        axes.set_yticks(range(len(names)), names)
        axes.set_ylim(len(names) - 0.5, -0.5)
        axes.set_xlim(0.0, len(points.array) + 1.0)
        _write_classes(axes, points.classes)
        axes.legend(
            loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=2, frameon=False, handlelength=0.8
        )

    title = (
        f"The entries of {len(points.array)} virtual points in {len(names)} columns; "
        f"those of {names[0]} are the largest."
    )
    return inline_svg("points", title, (_WIDTH, 1.3 + 0.27 * len(names)), draw)


def _write_classes(axes: Axes, classes: Sequence[str]) -> None:
    """Write which points are about which class, where there is more than one such class."""
    names = list(dict.fromkeys(classes))
    if len(names) == 1:
        axes.set_xlabel("virtual point")
        return
    ends = np.cumsum([classes.count(name) for name in names]) + 0.5
    for end in ends[:-1]:
        axes.axvline(end, color="0.5", linewidth=0.8)
    middles = (ends + np.append(0.5, ends[:-1])) / 2.0
    axes.set_xticks(middles, [short(name, 60 // len(names)) for name in names])
    axes.tick_params(axis="x", length=0.0)
    axes.set_xlabel("virtual points about class")
