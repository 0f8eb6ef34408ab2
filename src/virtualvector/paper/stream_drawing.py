"""The picture of figures 2 to 4."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from virtualvector.types import Array

Curves = dict[str, tuple[Array, Array]]

# Told apart by shape as well as by colour, so that they survive a black-and-white printer.
STYLES: dict[str, dict[str, Any]] = {
    "VVM": {"color": "black", "linestyle": "-", "linewidth": 2.4},
    "ADF": {"color": "#0072b2", "linestyle": "--", "marker": "o"},
    "window-EP": {"color": "#009e73", "linestyle": "-.", "marker": "^"},
    "SOGP": {"color": "#d55e00", "linestyle": "-", "marker": "s"},
    "PA": {"color": "#cc79a7", "linestyle": ":", "marker": "v"},
    "NG": {"color": "#7f7f7f", "linestyle": "-", "marker": "D"},
    "VVM, s² = 0": {"color": "0.35", "linestyle": "--", "marker": "*"},
    "VVM, columns": {"color": "0.35", "linestyle": ":", "marker": "P"},
    "Perceptron": {"color": "#e69f00", "linestyle": ":", "marker": "<"},
    "logistic": {"color": "#56b4e9", "linestyle": "--", "marker": ">"},
    "Kalman": {"color": "#8c564b", "linestyle": "-.", "marker": "d"},
    "second-order perceptron": {"color": "#17becf", "linestyle": "-", "marker": "x"},
    "CW": {"color": "#bcbd22", "linestyle": "--", "marker": "+"},
    "AROW": {"color": "#9467bd", "linestyle": "-.", "marker": "h"},
    "budget perceptron": {"color": "#a0522d", "linestyle": ":", "marker": "1"},
}
LEARNERS_OF_THE_PAPER = ("VVM", "ADF", "window-EP", "SOGP", "PA", "NG")
FIRST_SHARE = 0.05  # of the stream: before that the mean jumps about and says nothing


def draw(title: str, curves: Curves, summary: dict[str, Any]) -> Figure:
    """Draw the learners of the paper on the left, with bands, and all of them on the right."""
    figure = Figure(figsize=(12.0, 5.2), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    _draw(left, {k: v for k, v in curves.items() if k in LEARNERS_OF_THE_PAPER}, bands=True)
    _draw(right, curves, bands=False)
    # Sorted as the curves end, from top to bottom.
    left.legend(title="% wrong at the end", fontsize=9)
    right.legend(
        title="% wrong at the end", fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5)
    )
    left.set_ylabel("wrong so far, % of rows (log scale)")
    left.set_title("The learners of the paper")
    right.set_title("All learners")
    figure.suptitle(
        f"{title} ({summary['rows']} rows, {summary['orders']} orders, "
        f"{summary['buffer_size']} virtual points)"
    )
    return figure


def _draw(axes: Axes, curves: Curves, *, bands: bool) -> None:
    by_error = sorted(curves, key=lambda learner: -curves[learner][1][:, -1].mean())
    for k, learner in enumerate(by_error):
        seen, errors = curves[learner]
        shown = seen >= max(2.0, FIRST_SHARE * seen[-1])
        mean = errors[:, shown].mean(axis=0)
        style = {"linewidth": 1.3, "markersize": 5.0} | STYLES[learner]
        if "marker" in style:
            style["markevery"] = (k % 4, 4)
        axes.plot(
            seen[shown],
            mean,
            label=f"{learner}  {mean[-1]:.2f}",
            zorder=3 if learner == "VVM" else 2,
            **style,
        )
        if bands and len(errors) > 1:
            band = 2.0 * errors[:, shown].std(axis=0, ddof=1) / np.sqrt(len(errors))
            axes.fill_between(
                seen[shown], mean - band, mean + band, color=style["color"], alpha=0.13, lw=0.0
            )
    axes.set_xscale("log")
    axes.set_yscale("log")
    for axis, ticks in (
        (axes.yaxis, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 20, 25, 30, 40, 50]),
        (axes.xaxis, [10, 20, 50, 100, 200, 500, 1000, 2000, 5000]),
    ):
        axis.set_major_locator(FixedLocator(ticks))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_minor_locator(NullLocator())
    axes.set_xlabel("rows seen (log scale)")
    axes.grid(alpha=0.3)
