"""A comparison as a table on the screen and as files."""

from __future__ import annotations

import csv
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from virtualvector.cli.console import print_table
from virtualvector.escaping import as_json, printable

if TYPE_CHECKING:
    from virtualvector.evaluation import Comparison, Outcome

FILES = ("errors.png", "errors.svg", "table.csv", "table.json")

_NOTES = """\
Calibration error: mean distance of probabilities from frequencies, 15 bins.
–: states no probabilities. Seconds: of processor time, to predict and learn.
Bytes: of the pickled model."""


def print_scores(result: Comparison) -> None:
    """Print what came out, the lowest error first."""
    print()
    print_table(
        ("learner", "error %", "log-loss", "Brier", "calibration error", "seconds", "bytes"),
        [_cells(outcome) for outcome in result.outcomes],
        bold=("AutoVVM", "VVM"),
    )
    print(f"\n{_NOTES}")
    for learner, reason in result.left_out.items():
        print(printable(f"Left out: {learner}, because {reason}"))


def _cells(outcome: Outcome) -> list[str]:
    error, *others = outcome.measures
    texts = ["–" if number is None else f"{number:.4f}" for number in others]
    return [
        outcome.learner, f"{100.0 * error:.2f}", *texts, f"{outcome.seconds:.2f}",
        str(outcome.n_bytes),
    ]  # fmt: skip


def summarise(result: Comparison, about: dict[str, Any]) -> dict[str, Any]:
    """Return what came out, for machines; errors are shares."""
    records = [_record(outcome) for outcome in result.outcomes]
    return {**about, "learners": records, "left_out": result.left_out}


def write_files(folder: Path, result: Comparison, summary: dict[str, Any], title: str) -> None:
    """Write the picture as PNG and SVG and the table as CSV and JSON.

    But for the seconds, the same numbers give the same bytes.
    """
    records = summary["learners"]
    with (folder / "table.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, records[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(records)
    (folder / "table.json").write_text(as_json(summary) + "\n", encoding="utf-8")
    _write_picture(folder, result, title)


def _record(outcome: Outcome) -> dict[str, Any]:
    return {
        "learner": outcome.learner,
        **outcome.measures._asdict(),
        "seconds": round(outcome.seconds, 3),
        "bytes": outcome.n_bytes,
    }


def _write_picture(folder: Path, result: Comparison, title: str) -> None:
    import matplotlib

    from virtualvector.evaluation import draw

    # Without a date, a program and random names inside, the same curves give the same bytes.
    with matplotlib.rc_context({"svg.hashsalt": "virtualvector"}), warnings.catch_warnings():
        # A title may have letters that matplotlib's font lacks.
        warnings.filterwarnings("ignore", message=r"Glyph \d+")
        figure = draw(result.outcomes, title)
        figure.savefig(folder / "errors.png", metadata={"Software": None})
        figure.savefig(folder / "errors.svg", metadata={"Date": None})
