"""Options that several verbs have."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

READING = "Reading"


class Format(StrEnum):
    """What a source is written in."""

    csv = "csv"
    tsv = "tsv"
    jsonl = "jsonl"
    parquet = "parquet"
    arrow = "arrow"
    svmlight = "svmlight"


class OnError(StrEnum):
    """What to do at a bad row."""

    stop = "stop"
    skip = "skip"


Sources = Annotated[
    list[str],
    typer.Argument(
        metavar="SOURCE...",
        help="A shipped data set (vvm datasets lists them); files: .csv, .tsv, .jsonl, .parquet, "
        ".arrow, .feather, .svm, the texts also with .gz or .zst; a glob; or - for standard input "
        "(CSV or JSON lines).",
        show_default=False,
    ),
]

LabelOption = Annotated[
    str | None,
    typer.Option(
        "--label",
        metavar="NAME",
        help="Column to predict, by default the one called label, class, target or y, or the last.",
        rich_help_panel=READING,
    ),
]

FormatOption = Annotated[
    Format | None,
    typer.Option("--format", help="If the name does not say it.", rich_help_panel=READING),
]

MissingOption = Annotated[
    str | None,
    typer.Option(
        "--missing",
        metavar="TEXT,...",
        help="What stands for a missing value, beside nothing; by default NA, N/A, null and ?.",
        rich_help_panel=READING,
    ),
]

OnErrorOption = Annotated[
    OnError,
    typer.Option(
        "--on-error",
        help="At a bad row: stop, having saved what was learned, or skip and count it.",
        rich_help_panel=READING,
    ),
]

SeedOption = Annotated[
    int | None,
    typer.Option(
        min=0,
        max=2**32 - 1,
        metavar="S",
        help="Of the order of a shipped data set.",
        rich_help_panel=READING,
    ),
]

ModelToRead = Annotated[
    Path,
    typer.Option("--model", metavar="FILE", help="As written by vvm learn or model.save."),
]

JsonOption = Annotated[
    Path | None,
    typer.Option(
        "--json",
        metavar="FILE",
        help="Summary to write, for machines; - for standard output.",
        dir_okay=False,
        allow_dash=True,
    ),
]


def listed(texts: str | None) -> tuple[str, ...]:
    """Return what stands between commas.

    Examples
    --------
    >>> from virtualvector.cli.options import listed
    >>> listed("ham, spam")
    ('ham', 'spam')
    """
    return () if texts is None else tuple(text.strip() for text in texts.split(","))


def missing_texts(missing: str | None) -> tuple[str, ...] | None:
    """Return what stands for a missing value, beside nothing; None if nobody said."""
    return None if missing is None else ("", *listed(missing))


def reading(
    missing: str | None, format: Format | None, on_error: OnError, seed: int | None
) -> dict[str, Any]:
    """Return the options of reading as `virtualvector.streams.open_rows` takes them."""
    from virtualvector.streams import MISSING

    return {
        "missing": missing_texts(missing) or MISSING,
        "format": None if format is None else format.value,
        "on_error": on_error.value,
        "seed": seed or 0,
    }
