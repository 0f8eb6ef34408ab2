"""The picture of figure 1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from virtualvector.paper.experiment import Record
from virtualvector.paper.figure1 import (
    FLIPPED,
    HUGE,
    LABEL_NOISE,
    NEARLY,
    SEPARABLE,
    SIMILAR,
    VARIATIONS,
    by_learner,
    means,
    standard_errors,
)
from virtualvector.paper.mixture import ROWS_PER_CLASS
from virtualvector.types import Array

# Told apart by shape as well as by colour, so that they survive a black-and-white printer.
_STYLES = {
    "EP": ("#d55e00", "s"),
    "VVM-40": ("black", "o"),
    "VVM-10": ("black", "o"),
    "window-EP-40": ("#009e73", "^"),
    "window-EP-10": ("#009e73", "^"),
    "ADF": ("#0072b2", "D"),
}
_RATIOS = {
    "VVM-40 / EP": ("black", "o", "-", SIMILAR),
    "window-EP-40 / VVM-40": ("#009e73", "^", "--", HUGE),
}


def draw(records: Sequence[Record], summary: dict[str, Any]) -> Figure:
    """Draw the errors above, and how they depend on the mixture below."""
    figure = Figure(figsize=(11.0, 8.0), layout="constrained")
    rows: Any = figure.subfigures(2, 1, height_ratios=(1.25, 1.0))
    above, below = rows
    titles = {
        SEPARABLE: "ε = 0, separable rows",
        NEARLY: f"ε = {LABEL_NOISE:g}, 1 to 3 rows on the wrong side",
        FLIPPED: f"ε = {LABEL_NOISE:g}, {LABEL_NOISE:.0%} of labels flipped",
    }
    for axes, (mixture, title) in zip(
        above.subplots(1, 3, sharey=True), titles.items(), strict=True
    ):
        _draw_errors(axes, by_learner(records, mixture, "squared_error"))
        axes.set_title(title)
    above.axes[0].set_ylabel("squared error of the posterior mean\n(per weight, log scale)")
    above.axes[0].legend(fontsize=8, loc="upper left")
    labels = {
        "size": "all lengths × (log scale)",
        "spread": "spread of the centres\n(standard deviation, units of the bias)",
        "separation": "distance of classes from the middle\n(units of the bias)",
    }
    for axes, (what, label) in zip(below.subplots(1, 3, sharey=True), labels.items(), strict=True):
        _draw_ratios(axes, VARIATIONS[what], summary["ratios"])
        axes.set_xlabel(label)
    below.axes[0].set_xscale("log")
    ticks = sorted(VARIATIONS["size"])
    below.axes[0].set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    below.axes[0].minorticks_off()
    below.axes[0].set_ylabel("ratio of mean squared errors\n(ε = 0, log scale)")
    below.axes[2].legend(fontsize=8, loc="upper right")
    figure.suptitle(
        f"Error of the posterior mean after {2 * ROWS_PER_CLASS} rows, {summary['runs']} runs"
    )
    return figure


def _draw_errors(axes: Axes, errors: dict[str, Array]) -> None:
    mean, bar = means(errors), standard_errors(errors)
    for place, (learner, values) in enumerate(errors.items()):
        colour, marker = _STYLES[learner]
        # Side by side, not at random, so that the same records give the same picture.
        beside = place + 0.5 * (np.arange(len(values)) / max(len(values) - 1, 1) - 0.5)
        axes.plot(
            beside, np.sort(values), ".", color=colour, alpha=0.45, markersize=4, zorder=1,
            label="a run" if place == 1 else None,
        )  # fmt: skip
        axes.errorbar(
            place, mean[learner], bar[learner], color=colour, marker=marker,
            markersize=9, capsize=5, lw=1.8, mec="white",
            label="mean ± standard error" if place == 1 else None,
        )  # fmt: skip
    axes.set_yscale("log")
    axes.set_xticks(
        range(len(errors)),
        [f"{name.replace('window', 'W')}\n{1e3 * value:.1f}" for name, value in mean.items()],
    )
    axes.tick_params(axis="x", labelsize=8)
    axes.set_xlabel("learner and its points (W: window),\nand its mean error × 1000")
    axes.grid(axis="y", alpha=0.3)


def _draw_ratios(
    axes: Axes, values: dict[float, str], ratios: dict[str, dict[str, list[float]]]
) -> None:
    places = sorted(values)
    for name, (colour, marker, line, limit) in _RATIOS.items():
        found = np.array([ratios[values[place]][name] for place in places])
        sizes = [11 if values[place] == SEPARABLE else 6 for place in places]
        axes.errorbar(places, found[:, 0], found[:, 1], color=colour, ls=line, capsize=3, lw=1.5)
        for place, ratio, size in zip(places, found[:, 0], sizes, strict=True):
            axes.plot(place, ratio, marker, color=colour, markersize=size, mec="white")
        axes.plot([], [], marker, ls=line, color=colour, label=name)  # for the legend
        axes.axhline(
            limit, color=colour, ls=":", lw=1.0,
            label=f"{'similar: at most' if limit == SIMILAR else 'huge: at least'} {limit:g}",
        )  # fmt: skip
    axes.set_yscale("log")
    axes.set_yticks([0.5, 1, 2, 4, 8], ["0.5", "1", "2", "4", "8"])
    axes.minorticks_off()
    axes.grid(alpha=0.3)
