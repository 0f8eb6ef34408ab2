"""What was measured, as tables to be printed."""

from __future__ import annotations

from speed.figures import Figure, Report, in_order
from speed.limit import IN_CACHE, OUT_OF_CACHE
from speed.rows import everybody

_WIDTH = 34


def print_rows(report: Report, part: str, title: str) -> None:
    """Print a line for each learner and a column for each dimension, in groups."""
    figures = report.of(part)
    groups = {IN_CACHE: title, OUT_OF_CACHE: title} | {c.name: c.group for c in everybody()}
    dimensions = sorted({figure.at["d"] for figure in figures})
    cells = {(figure.name, figure.at["d"]): figure.values for figure in figures}
    print(f"\n{title}\n")
    print("d".rjust(_WIDTH) + "".join(f"{d:>24}" for d in dimensions))
    last = title
    for name in in_order(figure.name for figure in figures):
        if groups[name] != last:
            last = groups[name]
            print(f"\n  {last}")
        found = (_cell(cells.get((name, d))) for d in dimensions)
        print(f"    {name}".ljust(_WIDTH) + "".join(found).rstrip())
    print("\n  µs per row (× limit, × river's LogisticRegression)")
    sweeping = [f for f in figures if f.at["d"] == 100 and "sweeps" in f.values]
    if sweeping:
        most = max(f.values["merged"] for f in figures if "merged" in f.values)
        counted = ", ".join(f"{f.name}: {f.values['sweeps']:.1f}" for f in sweeping)
        print(f"  Sweeps of EP per row at d = 100: {counted}.")
        print(f"  Merging tries pairs at every row; at most {most:.1%} of the rows merged one.")


def _cell(values: dict[str, float] | None) -> str:
    if values is None:
        return " " * 24
    ratios = [f"{values[unit]:.3g}" for unit in ("× limit", "× river") if unit in values]
    return f"{_microseconds(values['µs']):>9} {'(' + ', '.join(ratios) + ')':<14}"


def _microseconds(cost: float) -> str:
    return f"{cost:,.0f}" if cost >= 1000.0 else f"{cost:.4g}"


def print_figures(report: Report, part: str, title: str) -> None:
    """Print a line for each figure and a column for each unit."""
    figures = report.of(part)
    if not figures:
        return
    units = in_order(unit for figure in figures for unit in figure.values)
    print(f"\n{title}\n")
    print(" " * (_WIDTH + 16) + "".join(f"{unit:>22}" for unit in units))
    for figure in figures:
        numbers = (_number(figure.values.get(unit)) for unit in units)
        print(f"    {figure.name}".ljust(_WIDTH) + f"{_place(figure):<16}" + "".join(numbers))


def _place(figure: Figure) -> str:
    return ", ".join(f"{name} = {number}" for name, number in figure.at.items())


def _number(value: float | None) -> str:
    if value is None:
        return " " * 22
    return f"{value:>22,.0f}" if value >= 1e4 else f"{value:>22.3g}"
