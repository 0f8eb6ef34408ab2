"""What `vvm learn` says before and after."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from virtualvector.cli.console import print_facts
from virtualvector.persistence.disk import written_at_once

if TYPE_CHECKING:
    from virtualvector.cli.checkpoint import Checkpoint
    from virtualvector.streams import Reader

_MOST_CLASSES = 10  # that are named


def introduce(source: list[str], reader: Reader) -> None:
    """Say what will be learned from."""
    n_categorical = sum(column.categorical for column in reader.columns)
    kinds = f", {n_categorical} of them categorical" if n_categorical else ""
    print(
        f"{' '.join(source)}: {len(reader.columns)} columns{kinds}. "
        f"Label: {reader.label!r}, {reader.label_reason}.",
        file=sys.stderr,
        flush=True,
    )


def tell_left_out(problems: list[str], n_skipped: int) -> None:
    """Say on standard error which rows were left out, or the first of them."""
    for problem in problems[:n_skipped]:
        print("vvm: left out:", problem, file=sys.stderr)
    if n_skipped > len(problems):
        print(f"vvm: left out: {n_skipped - len(problems):,} more rows", file=sys.stderr)


def summarise(learned: Checkpoint, n_new: int, seconds: float, n_skipped: int) -> dict[str, Any]:
    """Return what came out, for machines."""
    model, tally = learned.progress.model, learned.progress.tally
    counters = model.counters_
    return {
        "rows": tally.now.n_rows,
        **tally.measures._asdict(),
        "rows_per_second": n_new / seconds,
        "bytes": model.n_bytes_,
        "evicted": counters["evicted"],
        "merged": counters["merged"],
        "divergence_lost": counters["divergence_lost"],
        "seconds": seconds,
        "label": learned.label,
        "classes": [str(label) for label in model.classes_],
        "columns": [column.name for column in learned.columns],
        "missing": int(model.n_missing_.sum()),
        "skipped": n_skipped,
        "experts": len(model.experts_),
        "awake": model.n_awake_,
        "passes": learned.progress.n_passes,
    }


def print_summary(facts: dict[str, Any]) -> None:
    """Print what came out, for people."""
    classes = facts["classes"]
    more = f" and {len(classes) - _MOST_CLASSES} more" if len(classes) > _MOST_CLASSES else ""
    shown = {
        "rows": f"{facts['rows']:,}",
        "classes": ", ".join(classes[:_MOST_CLASSES]) + more,
        "error": f"{facts['error']:.4f}",
        "log-loss": f"{facts['log_loss']:.4f}",
        "Brier score": f"{facts['brier']:.4f}",
        "calibration error": f"{facts['calibration_error']:.4f}  (15 bins)",
        "experts": f"{facts['experts']}, {facts['awake']} awake",
        "points evicted": f"{facts['evicted']:,}",
        "pairs merged": f"{facts['merged']:,}",
        "missing values": f"{facts['missing']:,}",
        "rows left out": f"{facts['skipped']:,}",
        "bytes": f"{facts['bytes']:,}",
        "seconds": f"{facts['seconds']:.1f}  ({facts['rows_per_second']:,.0f} rows per second)",
    }
    seldom = {"missing values": facts["missing"], "rows left out": facts["skipped"]}
    print()
    print_facts({name: text for name, text in shown.items() if seldom.get(name, 1)})


def write_json(facts: dict[str, Any], path: Path) -> None:
    """Write what came out, for machines; - is standard output."""
    text = json.dumps(facts, indent=2, ensure_ascii=False) + "\n"
    if str(path) == "-":
        sys.stdout.write(text)
    else:
        with written_at_once(path) as file:
            file.write(text)


def write_report(learned: Checkpoint, facts: dict[str, Any], title: str, path: Path) -> None:
    """Write a page for any browser."""
    from virtualvector.report import of_model, render

    about = {
        "source": title,
        "label": str(learned.label),
        "seconds": f"{facts['seconds']:.1f}, {facts['rows_per_second']:,.0f} rows per second",
    }
    page = render(of_model(learned.progress.model, learned.progress.tally, title, about))
    with written_at_once(path) as file:
        file.write(page)
