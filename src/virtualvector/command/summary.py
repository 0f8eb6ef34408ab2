"""What `vvm learn` says before and after."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from virtualvector.command.tables import print_facts
from virtualvector.storage.disk import written_at_once

if TYPE_CHECKING:
    from virtualvector.command.checkpoint import Checkpoint
    from virtualvector.streams import Reader

_MOST_CLASSES = 10  # that are named


def introduce(source: list[str], reader: Reader) -> None:
    """Say what will be learned from."""
    n_named = sum(column.named for column in reader.columns)
    kinds = f", {n_named} of them names" if n_named else ""
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
        "gaps": int(model.gaps_.sum()),
        "skipped": n_skipped,
        "experts": len(model.weights_),
        "awake": model.n_awake_,
        "passes": learned.progress.n_passes,
    }


def print_summary(said: dict[str, Any]) -> None:
    """Print what came out, for people."""
    classes = said["classes"]
    more = f" and {len(classes) - _MOST_CLASSES} more" if len(classes) > _MOST_CLASSES else ""
    facts = {
        "rows": f"{said['rows']:,}",
        "classes": ", ".join(classes[:_MOST_CLASSES]) + more,
        "error": f"{said['error']:.4f}",
        "log-loss": f"{said['log_loss']:.4f}",
        "Brier score": f"{said['brier']:.4f}",
        "calibration error": f"{said['calibration_error']:.4f}  (15 bins)",
        "experts": f"{said['experts']}, {said['awake']} awake",
        "points evicted": f"{said['evicted']:,}",
        "pairs merged": f"{said['merged']:,}",
        "missing values": f"{said['gaps']:,}",
        "rows left out": f"{said['skipped']:,}",
        "bytes": f"{said['bytes']:,}",
        "seconds": f"{said['seconds']:.1f}  ({said['rows_per_second']:,.0f} rows per second)",
    }
    seldom = {"missing values": said["gaps"], "rows left out": said["skipped"]}
    print()
    print_facts({name: text for name, text in facts.items() if seldom.get(name, 1)})


def write_json(said: dict[str, Any], path: Path) -> None:
    """Write what came out, for machines; - is standard output."""
    text = json.dumps(said, indent=2, ensure_ascii=False) + "\n"
    if str(path) == "-":
        sys.stdout.write(text)
    else:
        with written_at_once(path) as file:
            file.write(text)


def write_report(learned: Checkpoint, said: dict[str, Any], title: str, path: Path) -> None:
    """Write a page for any browser."""
    from virtualvector.report import of_model, render

    about = {
        "source": title,
        "label": str(learned.label),
        "seconds": f"{said['seconds']:.1f}, {said['rows_per_second']:,.0f} rows per second",
    }
    page = render(of_model(learned.progress.model, learned.progress.tally, title, about))
    with written_at_once(path) as file:
        file.write(page)
