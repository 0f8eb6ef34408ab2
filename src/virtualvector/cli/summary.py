"""What `vvm learn` says before and after."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from virtualvector.cli.console import print_facts
from virtualvector.cli.errors import say
from virtualvector.cli.measures import facts_of, in_blocks, lines_of, print_classes
from virtualvector.cli.outputs import is_standard_output
from virtualvector.escaping import as_json, counted, quoted
from virtualvector.persistence.disk import written_at_once
from virtualvector.streams.schema import AS_ASKED
from virtualvector.streams.sources import STANDARD_INPUT

if TYPE_CHECKING:
    from virtualvector.auto.classifier import AutoVVMClassifier
    from virtualvector.cli.checkpoint import Checkpoint
    from virtualvector.streams import Reader
    from virtualvector.streams.shuffle import ShuffledReader
    from virtualvector.wide.classifier import WideVVMClassifier

_MOST_CLASSES = 10  # that are named


def introduce(source: list[str], reader: Reader | ShuffledReader, is_label_asked: bool) -> None:
    """Say what will be learned from."""
    tell_notes(reader.notes)
    is_known = reader.label_reason == AS_ASKED and not is_label_asked
    reason = "as learned before" if is_known else reader.label_reason
    n_categorical = sum(column.categorical for column in reader.columns)
    kinds = f", {n_categorical:,} of them categorical" if n_categorical else ""
    n_texts = sum(column.text for column in reader.columns)
    kinds += f", {n_texts:,} of them texts" if n_texts else ""
    if n_texts == len(reader.columns):
        kinds = ", of texts"
    kinds += ", sparse rows" if any(column.n_places for column in reader.columns) else ""
    if n_categorical == len(reader.columns):
        kinds = ", which is categorical" if n_categorical == 1 else ", all categorical"
    hurry = ""
    if reader.n_in_time is not None:
        came = "the only row" if reader.n_in_time == 1 else f"the {reader.n_in_time} rows"
        hurry = f", by {came} that came within a second"
    say(
        f"{called(source)}: {counted(len(reader.columns), 'column')}{kinds}{hurry}. "
        f"Label: {quoted(str(reader.label))}, {reason}."
    )


def tell_learner(model: AutoVVMClassifier | WideVVMClassifier) -> None:
    """Say what learns, if that is no committee."""
    from virtualvector.wide.classifier import WideVVMClassifier

    if isinstance(model, WideVVMClassifier):
        points = f" with {counted(model.buffer_size, 'point')}" if model.buffer_size else ""
        say(
            f"Learner: linear{points}, with a {model.covariance} covariance of weights"
            + ", mixed with others of rank 0" * model.mix
            + " (--learner, --covariance and --rank choose)."
        )


def called(sources: list[str]) -> str:
    """Return what to call what rows are read from."""
    return " ".join("standard input" if source == STANDARD_INPUT else source for source in sources)


def tell_notes(notes: list[str]) -> None:
    """Say on standard error what was found out about a source, and what is left out of it.

    What is told is taken off the list: of later sources there will be more.
    """
    while notes:
        say(notes.pop(0))


@contextmanager
def telling_notes(reader: Reader | ShuffledReader, quiet: bool = False) -> Iterator[None]:
    """Tell notes of the first source now, and those of later ones in the end."""
    if not quiet:
        tell_notes(reader.notes)
    try:
        yield
    finally:
        if not quiet:
            tell_notes(reader.notes)


def tell_unseen(counts: dict[str, int]) -> None:
    """Say how many values were of categories that a model has never seen, by column."""
    many = [f"{quoted(name)} ({n:,})" for name, n in counts.items() if n]
    if many:
        n_more, total = max(0, len(many) - _MOST_CLASSES), sum(counts.values())
        are = "value is of a category" if total == 1 else "values are of categories"
        say(
            f"{total:,} {are} never seen in learning: {', '.join(many[:_MOST_CLASSES])}"
            + f" and {counted(n_more, 'more column')}" * (n_more > 0)
            + "."
        )


def tell_left_out(problems: list[str], n_skipped: int, fate: str = "left out") -> None:
    """Say on standard error which rows were left out, or the first of them."""
    for problem in problems[:n_skipped]:
        say(f"vvm: {fate}: {problem}")
    if n_skipped > len(problems):
        n_more = n_skipped - len(problems)
        say(f"vvm: {fate}: {counted(n_more, 'more row')}.")


def summarise(learned: Checkpoint, n_new: int, seconds: float, n_skipped: int) -> dict[str, Any]:
    """Return what came out, for machines."""
    model, tally = learned.progress.model, learned.progress.tally
    counters = model.counters_
    return {
        "rows": tally.now.n_rows,
        **facts_of(tally),
        "rows_per_second": n_new / seconds,
        "bytes": model.n_bytes_,
        "evicted": counters["evicted"],
        "merged": counters["merged"],
        "divergence_lost": counters["divergence_lost"],
        "seconds": seconds,
        "label": learned.label,
        "weight": learned.options.weight or None,
        "classes": [str(label) for label in model.classes_],
        "columns": [column.name for column in learned.columns],
        "missing": int(model.n_missing_.sum()),
        "skipped": n_skipped,
        "experts": len(model.experts_),
        "awake": model.n_awake_,
        "given_up": model.given_up_,
        "passes": learned.progress.n_passes,
    }


def print_summary(facts: dict[str, Any]) -> None:
    """Print what came out, for people."""
    classes = facts["classes"]
    more = f" and {len(classes) - _MOST_CLASSES} more" if len(classes) > _MOST_CLASSES else ""
    shown = {
        "rows": f"{facts['rows']:,}",
        "classes": ", ".join(classes[:_MOST_CLASSES]) + more,
        **lines_of(facts),
        "experts": f"{facts['experts']}, {facts['awake']} awake",
        "points evicted": f"{facts['evicted']:,}",
        "pairs merged": f"{facts['merged']:,}",
        "missing values": f"{facts['missing']:,}",
        "rows left out": f"{facts['skipped']:,}",
        "bytes": f"{facts['bytes']:,}",
        "seconds": f"{facts['seconds']:.1f}{_speed(facts)}",
    }
    seldom = {"missing values": facts["missing"], "rows left out": facts["skipped"]}
    print()
    print_facts({name: text for name, text in shown.items() if seldom.get(name, 1)})
    print_classes(facts)


def tell_given_up(facts: dict[str, Any]) -> None:
    """Say on standard error what the budget did not pay for."""
    for each in facts["given_up"]:
        print(f"vvm: given up to keep the budget: {each}. --budget N is for more.", file=sys.stderr)


def tell_blocks(facts: dict[str, Any]) -> None:
    """Say on standard error what labels that come in blocks do to the figures."""
    found = in_blocks(facts)
    if found is not None:
        print(
            f"vvm: {found} The figures are about this order: a model that follows the blocks looks "
            "good, one that has just met a new one looks bad, and rows in another order may be "
            "predicted much worse. --shuffle learns them in a random order.",
            file=sys.stderr,
        )


def _speed(facts: dict[str, Any]) -> str:
    per_second = facts["rows_per_second"]
    return f"  ({per_second:,.0f} rows per second)" if per_second else ""


def write_json(facts: dict[str, Any], path: Path) -> None:
    """Write what came out, for machines; - is standard output."""
    text = as_json(facts) + "\n"
    if is_standard_output(path):
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
