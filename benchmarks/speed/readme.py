"""The page about speed, written from what was measured."""

from __future__ import annotations

from pathlib import Path

from speed.figures import Report

BEGIN, END = "<!-- speed: begin -->", "<!-- speed: end -->"
_ROWS = (
    "limit",
    "limit, out of cache",
    "VVM 0 (ADF)",
    "VVM 10, evicting",
    "VVM 30, evicting",
    "VVM 30, merging",
    "VVM 0 (ADF), one row",
    "VVM 30, merging, one row",
    "AutoVVM",
    "AROW",
    "SOGP",
    "SGD, one row",
    "SGD, 100 rows",
    "river, LogisticRegression",
    "river, PAClassifier",
    "river, ARFClassifier",
    "Vowpal Wabbit",
)
_PACKAGES = ("python", "numpy", "scipy", "numba", "scikit-learn", "river", "vowpalwabbit")


def with_section(text: str, section: str) -> str:
    """Return a text with a new section between the two marks."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"found no {BEGIN} … {END}; expected both, once, in this order")
    return f"{before}{begin}\n\n{section.strip()}\n\n{end}{after}"


def section(report: Report, pictures: str) -> str:
    """Return the section in Markdown; ``pictures`` is the folder they are in."""
    machine = report.machine
    packages = ", ".join(f"{name} {machine[name]}" for name in _PACKAGES if name in machine)
    return "\n".join(
        [
            f"From `{report.command}` on {machine['cores']} cores of {machine['cpu']} with",
            f"{machine['last-level cache']} of cache, shared with others ({packages}); one BLAS",
            "thread, one process, medians. The limit is one matrix-vector product and one rank-one",
            "update by BLAS, which any method with a full covariance needs.",
            "",
            *_table(report),
            "",
            *_remarks(report),
            "",
            f"![What a row costs against the number of weights]({pictures}/cost_d.png)",
            "",
            f"More pictures: [points]({pictures}/cost_b.png), [rows]({pictures}/cost_t.png),",
            f"memory by [weights]({pictures}/bytes_d.png) and [points]({pictures}/bytes_b.png);",
            f"all numbers: [speed.json]({pictures}/speed.json).",
        ]
    )


def _table(report: Report) -> list[str]:
    dimensions = sorted({figure.at["d"] for figure in report.of("rows")})
    lines = [
        "| µs per row, predicted and learned (× limit, × river's LogisticRegression) | "
        + " | ".join(f"d = {d}" for d in dimensions)
        + " |",
        "|---" * (1 + len(dimensions)) + "|",
    ]
    cells = {(f.name, f.at["d"]): f.values for f in report.of("rows")}
    for name in _ROWS:
        found = [_cell(cells.get((name, d), {})) for d in dimensions]
        if any(found):
            lines.append(f"| {name} | " + " | ".join(found) + " |")
    return lines


def _cell(values: dict[str, float]) -> str:
    if not values:
        return ""
    ratios = ", ".join(_short(values[u]) for u in ("× limit", "× river") if u in values)
    return f"{_short(values['µs'])} ({ratios})"


def _short(number: float) -> str:
    return f"{number:.0f}" if number >= 99.5 else f"{number:.2g}"


def _remarks(report: Report) -> list[str]:
    """Return a line for each of the other measurements."""
    flatness = (
        f"- {figure.name}: of {figure.at['T']:,} rows the last tenth cost "
        f"{figure.values['last tenth / first']:.2f} × the first; memory grew by "
        f"{figure.values['MB more']:.1f} MB."
        for figure in report.of("flatness")
    )
    batches = (
        f"- `predict_proba` on many rows, d = 100: {figure.values['rows/s']:,.0f} rows/s; it "
        f"takes {figure.values['× products']:.2f} × the two matrix products that it needs."
        for figure in report.of("batches")
        if figure.name == "VVM 30, merging" and figure.at["d"] == 100
    )
    starts = (
        f"- {figure.name}: {figure.values['cold, s']:.1f} s after the start of Python the very "
        f"first time, which compiles; {figure.values['warm, s']:.1f} s from then on."
        for figure in report.of("start")
        if "prediction" in figure.name or "x + 1" in figure.name
    )
    return [*flatness, *batches, *starts]


def rewrite(readme: Path, json: Path) -> None:
    """Put the section made from a report into a page; pictures are beside the report."""
    pictures = json.resolve().parent.relative_to(readme.resolve().parent).as_posix()
    text = with_section(readme.read_text("utf-8"), section(Report.read(json), pictures))
    readme.write_text(text, "utf-8")
