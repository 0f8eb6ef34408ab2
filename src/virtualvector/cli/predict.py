"""`vvm predict`: probabilities for rows whose class is not known."""

from __future__ import annotations

import csv
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Literal

import typer

from virtualvector.cli.options import (
    FormatOption,
    MissingOption,
    ModelToRead,
    OnError,
    OnErrorOption,
    SeedOption,
    Sources,
    reading,
)
from virtualvector.escaping import cell, printable

OTHER_DELIMITERS = ";\t|"  # of CSV, where the comma is the sign before decimals


def predict(
    source: Sources,
    model: ModelToRead,
    output: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="CSV file to write, by default standard output.",
            dir_okay=False,
        ),
    ] = None,
    proba: Annotated[
        bool, typer.Option("--proba", help="Write the probability of each class, too.")
    ] = False,
    missing: MissingOption = None,
    format: FormatOption = None,
    on_error: OnErrorOption = OnError.stop,
    seed: SeedOption = 0,
) -> None:
    r"""Say the most probable class of each row, by a model that stays as it is.

    Writes CSV, a line for each row. A column of labels is not needed, and
    not looked at if there is one. Columns are found by name.

    A class that a spreadsheet would take for a formula, as it begins with
    = + - or @ and is no number, has an apostrophe in front: '=1+1. On a
    terminal, what cannot be seen of it is written as \x1b.

    For example:

        vvm predict new.csv --model outcome.vvm --proba --output said.csv
        tail -f log.csv | vvm predict - --model outcome.vvm
    """
    from virtualvector.cli.checkpoint import check_folder
    from virtualvector.cli.console import compilation_notice
    from virtualvector.cli.model_file import trained
    from virtualvector.cli.summary import tell_left_out
    from virtualvector.persistence.disk import written_at_once

    check_folder(output, "--output")
    known = trained(model)
    classes = known.classes.tolist()
    with (
        known.open(source, labelled=False, **reading(missing, format, on_error, seed)) as reader,
        written_at_once(output) if output else nullcontext(sys.stdout) as file,
        compilation_notice(),
    ):
        # A terminal obeys what it is sent; any other program is to have the class itself.
        fit = printable if output is None and sys.stdout.isatty() else str
        shown = [fit(cell(label)) for label in classes]
        lines = csv.writer(file, lineterminator="\n", quoting=_quoting(classes))
        lines.writerow(["predicted", *(fit(f"p({label})") for label in classes if proba)])
        for batch in reader:
            predicted = known.probabilities(batch)
            for row, best in zip(
                predicted.tolist(), predicted.argmax(axis=1).tolist(), strict=True
            ):
                lines.writerow([shown[best], *(row if proba else ())])
            file.flush()
        tell_left_out(reader.problems, reader.skipped)


def _quoting(labels: list[str]) -> Literal[0, 2]:
    """Return whether texts are in quotes: where one of them could be cut where no comma is."""
    cut = any(sign in label for label in labels for sign in OTHER_DELIMITERS)
    return csv.QUOTE_NONNUMERIC if cut else csv.QUOTE_MINIMAL
