"""Pictures of how cost and memory grow.

No two curves have the same line and marker, so that they can be told apart in grey as well.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from speed.figures import Figure, Report
from speed.growth import D_OF_BUFFERS, FIRST_B, LAST_B, LEAST_D
from speed.limit import IN_CACHE
from speed.packages import RIVER


class Curve(NamedTuple):
    """Points to be drawn, and what is written beside the last one."""

    label: str
    x: Sequence[float]
    y: Sequence[float]


class _Pen(NamedTuple):
    colour: str
    line: Any  # solid, or the lengths of dashes and gaps
    marker: str


_PENS = (
    _Pen("black", "-", "o"),
    _Pen("#0072b2", (0, (5, 1.5)), "s"),
    _Pen("#d55e00", (0, (1.5, 1)), "^"),
    _Pen("#009e73", (0, (6, 1.5, 1.5, 1.5)), "D"),
    _Pen("#aa3377", "-", "v"),
    _Pen("#56b4e9", (0, (4, 1.2, 1, 1.2, 1, 1.2)), "P"),
)
_LINE_HEIGHT = 0.055  # of a line of text, in heights of the picture
_IN_D = (IN_CACHE, "VVM 0 (ADF)", "VVM 30, merging", "VVM 30, merging, one row", RIVER)


def draw_all(report: Report, folder: Path) -> list[Path]:
    """Draw what was measured; return the files."""
    pictures = {
        "cost_d.png": _cost_in_d(report),
        "cost_b.png": _cost_in_b(report),
        "cost_t.png": _cost_in_t(report),
        "bytes_d.png": _bytes_in_d(report),
        "bytes_b.png": _bytes_in_b(report),
    }
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, figure in pictures.items():
        if figure is not None:
            figure.savefig(folder / name)
            written.append(folder / name)
    return written


def _cost_in_d(report: Report) -> Any:
    curves = []
    for name in _IN_D:
        figures = [f for f in report.of("rows") if f.name == name]
        power = _power(report, name, "in d")
        curves.append(_curve(f"{name}{power and f'  ∝ {power}'}", figures, "d", "µs"))
    title = f"One row, predicted and learned; exponents are fitted from d = {LEAST_D} on"
    return _drawing(curves, title, "weights d", "µs per row")


def _cost_in_b(report: Report) -> Any:
    curves = []
    for name in ("VVM, evicting", "VVM, merging"):
        figures = [f for f in report.of("points") if f.name == name and f.at["B"] > 0]
        whole, beyond = (_power(report, name, f"in B{rest}") for rest in ("", ", beyond B = 0"))
        label = f"{name}\n∝ {whole}; beyond B = 0 ∝ {beyond}"
        curves.append(_curve(label, figures, "B", "µs"))
    title = f"One row at d = 100; exponents are fitted between B = {FIRST_B} and {LAST_B}"
    return _drawing(curves, title, "points B", "µs per row")


def _cost_in_t(report: Report) -> Any:
    names = list(dict.fromkeys(f.name for f in report.of("stream")))
    curves = []
    for name in names:
        figures = [f for f in report.of("stream") if f.name == name]
        label = f"{name}\nall rows ∝ {_power(report, name, 'in T')}"
        curves.append(_curve(label, figures, "T", "µs"))
    title = "One row along a stream, d = 57; exponents are those of the time for all T rows"
    return _drawing(curves, title, "rows learned T", "µs per row", from_zero=True, decades=True)


def _power(report: Report, name: str, unit: str) -> str:
    """Return d, B or T with its exponent, or nothing if that is not known."""
    exponent = report.value("exponents", name, {}, unit)
    return "" if exponent is None else f"${unit[3]}^{{{exponent:.2f}}}$"


def _bytes_in_d(report: Report) -> Any:
    kept = sorted({f.at["B"] for f in report.of("bytes") if f.at["d"] != D_OF_BUFFERS})
    figures = {size: [f for f in report.of("bytes") if f.at["B"] == size] for size in kept}
    curves = [_curve(f"B = {size}", found, "d", "kB") for size, found in figures.items()]
    return _drawing(curves, "What VVM keeps between rows", "weights d", "kB")


def _bytes_in_b(report: Report) -> Any:
    figures = [f for f in report.of("bytes") if f.at["d"] == D_OF_BUFFERS and f.at["B"] > 0]
    curve = _curve(f"d = {D_OF_BUFFERS}", figures, "B", "kB")
    return _drawing([curve], "What VVM keeps between rows", "points B", "kB", from_zero=True)


def _curve(label: str, figures: Sequence[Figure], axis: str, unit: str) -> Curve:
    ordered = sorted(figures, key=lambda figure: figure.at[axis])
    return Curve(label, [f.at[axis] for f in ordered], [f.values[unit] for f in ordered])


def _drawing(
    curves: Sequence[Curve],
    title: str,
    across: str,
    up: str,
    from_zero: bool = False,
    decades: bool = False,
) -> Any:
    """Draw curves on logarithmic axes, each with its label beside its end."""
    from matplotlib.figure import Figure as Drawing
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    curves = [curve for curve in curves if len(curve.x) > 1]
    if not curves:
        return None
    drawing = Drawing(figsize=(9.0, 4.6), dpi=200, layout="constrained")
    axes = drawing.add_subplot()
    for curve, pen in zip(curves, _PENS, strict=False):
        axes.plot(
            curve.x, curve.y, color=pen.colour, linestyle=pen.line, marker=pen.marker, linewidth=2.0
        )
    axes.set_xscale("log")
    places = sorted({x for curve in curves for x in curve.x})
    axes.set_xticks([x for x in places if not decades or math.log10(x).is_integer()])
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    if from_zero:
        axes.set_ylim(0.0, 1.15 * max(max(curve.y) for curve in curves))
    else:
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.yaxis.set_major_formatter(StrMethodFormatter("{x:,g}"))
        axes.yaxis.set_minor_formatter(NullFormatter())
    _label(axes, curves)
    axes.set_xlabel(f"{across} (logarithmic)")
    axes.set_ylabel(up if from_zero else f"{up} (logarithmic)")
    axes.set_title(title, fontsize=11)
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    return drawing


def _label(axes: Any, curves: Sequence[Curve]) -> None:
    """Write each label to the right of its curve's end, none over another."""
    to_axes = (axes.transData + axes.transAxes.inverted()).transform
    order = sorted(range(len(curves)), key=lambda k: curves[k].y[-1])
    ends = [float(to_axes((curves[k].x[-1], curves[k].y[-1]))[1]) for k in order]
    halves = [0.5 * _LINE_HEIGHT * (1 + curves[k].label.count("\n")) for k in order]
    for k, height in zip(order, apart(ends, halves), strict=True):
        colour = _PENS[k].colour
        axes.annotate(
            curves[k].label,
            xy=(curves[k].x[-1], curves[k].y[-1]),
            xytext=(1.03, height),
            textcoords="axes fraction",
            color=colour,
            va="center",
            fontsize=9,
            arrowprops={"arrowstyle": "-", "color": colour, "linewidth": 0.6, "relpos": (0, 0.5)},
        )


def apart(heights: Sequence[float], halves: Sequence[float]) -> list[float]:
    """Move things of some half heights up, and then below 1, until none is over another.

    Heights are given in order, the lowest first.
    """
    moved, free = [], -math.inf
    for height, half in zip(heights, halves, strict=True):
        moved.append(max(height, free + half))
        free = moved[-1] + half
    free = 1.0
    for k in reversed(range(len(moved))):
        moved[k] = min(moved[k], free - halves[k])
        free = moved[k] - halves[k]
    return moved
