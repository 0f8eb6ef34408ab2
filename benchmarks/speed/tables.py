"""What was measured, as tables to be printed."""

from __future__ import annotations

from speed.figures import Figure, Report, in_order
from speed.limit import IN_CACHE, OUT_OF_CACHE
from speed.rows import everybody

_NAME, _PLACE, _COLUMN = 32, 22, 22  # characters


def print_rows(report: Report, part: str, title: str) -> None:
    """Print a line for each learner and a column for each dimension, in groups."""
    figures = report.of(part)
    groups = {IN_CACHE: title, OUT_OF_CACHE: title} | {c.name: c.group for c in everybody()}
    dimensions = sorted({figure.at["d"] for figure in figures})
    cells = {(figure.name, figure.at["d"]): figure.values for figure in figures}
    print(f"\n{title}\n")
    heads = (f"{d:>7}".ljust(_COLUMN) for d in dimensions)
    print("d".rjust(_NAME) + "".join(heads).rstrip())
    last = title
    for name in in_order(figure.name for figure in figures):
        if groups[name] != last:
            last = groups[name]
            print(f"\n  {last}")
        found = (_cell(cells.get((name, d))) for d in dimensions)
        print(f"    {name}".ljust(_NAME) + "".join(found).rstrip())
    print("\n  µs per row (× limit, × river's LogisticRegression)")
    sweeping = [f for f in figures if f.at["d"] == 100 and "sweeps" in f.values]
    if sweeping:
        most = max(f.values["merged"] for f in figures if "merged" in f.values)
        counted = ", ".join(f"{f.name}: {f.values['sweeps']:.1f}" for f in sweeping)
        print(f"  Sweeps of EP per row at d = 100: {counted}.")
        print(f"  Merging tries pairs at every row; at most {most:.1%} of the rows merged one.")


def _cell(values: dict[str, float] | None) -> str:
    if values is None:
        return " " * _COLUMN
    ratios = [_short(values[unit]) for unit in ("× limit", "× river") if unit in values]
    return f"{_short(values['µs']):>7} {'(' + ', '.join(ratios) + ')':<{_COLUMN - 8}}"


def print_figures(report: Report, part: str, title: str) -> None:
    """Print a line for each thing that was measured and a column for each unit."""
    lines: dict[tuple[str, str], dict[str, float]] = {}
    for figure in report.of(part):
        lines.setdefault((figure.name, _place(figure)), {}).update(figure.values)
    if not lines:
        return
    units = in_order(unit for values in lines.values() for unit in values)
    print(f"\n{title}\n")
    print(" " * (_NAME + _PLACE) + "".join(f"{unit:>20}" for unit in units))
    for (name, place), values in lines.items():
        numbers = (f"{_short(values[unit]) if unit in values else '':>20}" for unit in units)
        print(f"    {name}".ljust(_NAME) + place.ljust(_PLACE) + "".join(numbers).rstrip())


def _place(figure: Figure) -> str:
    return ", ".join(f"{name} = {number:,}" for name, number in figure.at.items())


def _short(number: float) -> str:
    return f"{number:,.0f}" if number >= 999.5 else f"{number:.3g}"
