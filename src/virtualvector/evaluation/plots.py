"""The picture of a comparison: the error of each learner along the stream."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from virtualvector.escaping import AS_IT_IS, printable
from virtualvector.evaluation.comparison import Outcome

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_POINTS = 400  # along a curve; more cannot be seen
_LONGEST = 100  # characters of a title
_LEAST_ROWS = 10  # before that, and before a fiftieth of all rows, the error jumps too much


class _Pen(NamedTuple):
    """How a curve is drawn: by line and marker no two look alike, so that grey does as well."""

    colour: str
    line: Any  # solid, or the lengths of dashes and gaps
    marker: str
    filled: bool = True
    width: float = 2.0


_PENS = {  # the paper's learners, and the committee
    "AutoVVM": _Pen("#7f0000", "-", "*", width=3.0),
    "VVM": _Pen("black", "-", "o", width=3.0),
    "ADF": _Pen("#0072b2", (0, (5, 1.5)), "s"),
    "window-EP": _Pen("#d55e00", (0, (1.5, 1)), "^"),
    "SOGP": _Pen("#009e73", (0, (6, 1.5, 1.5, 1.5)), "D"),
    "PA": _Pen("#aa3377", "-", "v"),
    "NG": _Pen("#56b4e9", (0, (4, 1.2, 1, 1.2, 1, 1.2)), "P"),
}
_OTHER_MARKERS = "oXs*^<Dp"
_OTHER_LINES = ("-", (0, (6, 2)), (0, (2, 1.5)))


def _other_pen(count: int) -> _Pen:
    """Return the pen of a learner that is not in the paper's figures: thin, grey and hollow."""
    line = _OTHER_LINES[count % len(_OTHER_LINES)]
    return _Pen("0.5", line, _OTHER_MARKERS[count % len(_OTHER_MARKERS)], False, 1.0)


def draw(outcomes: Sequence[Outcome], title: str) -> Figure:
    """Draw the cumulative error along the stream; the legend is ordered by the error at its end.

    Parameters
    ----------
    outcomes : sequence of Outcome
        In the order of the legend. The paper's learners are in colour, all others in grey.
    title : str
        What the stream is.

    Returns
    -------
    Figure
        A figure of matplotlib.

    Examples
    --------
    >>> import numpy as np
    >>> from virtualvector.evaluation import Measures, Outcome, draw
    >>> outcome = Outcome("VVM", Measures(0.5, None, None, None), np.array([1.0, 0.5]), 0.1, 999)
    >>> figure = draw([outcome], "Two rows")
    >>> figure.axes[0].get_ylabel()
    'wrong so far, % of rows'
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.0, 5.2), dpi=200, layout="constrained")
    axes = figure.add_subplot()
    n_rows = len(outcomes[0].error_so_far)
    first = min(max(_LEAST_ROWS, n_rows // 50), n_rows)
    seen = np.unique(np.geomspace(first, n_rows, _POINTS).astype(int))
    others = [o.learner for o in outcomes if o.learner not in _PENS]
    for place, outcome in enumerate(outcomes):
        name = outcome.learner
        pen = _PENS[name] if name in _PENS else _other_pen(others.index(name))
        axes.plot(
            seen,
            100.0 * outcome.error_so_far[seen - 1],
            color=pen.colour,
            linestyle=pen.line,
            linewidth=pen.width,
            marker=pen.marker,
            markersize=6.0,
            markerfacecolor=pen.colour if pen.filled else "white",
            markevery=(7 * place % 50, 50),  # not all at the same place
            zorder=2.0 + pen.filled - 0.1 * pen.width,  # broad below narrow: all can be seen
            label=f"{_percent(outcome)}  {name}",
        )
    axes.set_xscale("log")
    ticks = [m * 10**k for k in range(12) for m in (1, 2, 5) if first <= m * 10**k <= n_rows]
    axes.set_xticks(ticks, [str(n) for n in ticks])
    axes.minorticks_off()
    axes.set_xlabel("rows seen (logarithmic)")
    axes.set_ylabel("wrong so far, % of rows")
    axes.set_title(printable(title, _LONGEST), fontsize=11, **AS_IT_IS)
    axes.grid(alpha=0.3)
    legend = figure.legend(
        loc="outside right upper", title="after the last row", handlelength=4.5, frameon=False
    )
    for text in legend.get_texts():
        text.set(**AS_IT_IS)
    return figure


def _percent(outcome: Outcome) -> str:
    """Return the error at the end, as wide as any other."""
    digit_wide_space = "\u2007"
    return f"{100.0 * outcome.measures.error:.2f} %".rjust(7, digit_wide_space)
