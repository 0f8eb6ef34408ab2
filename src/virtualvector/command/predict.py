"""`vvm predict`: probabilities for rows whose class is not known."""

from __future__ import annotations

import csv
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from virtualvector.command.options import (
    FormatOption,
    MissingOption,
    ModelToRead,
    OnError,
    OnErrorOption,
    SeedOption,
    Sources,
    reading,
)


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
    """Say the most probable class of each row, by a model that stays as it is.

    Writes CSV, a line for each row. A column of labels is not needed, and
    not looked at if there is one. Columns are found by name.

    For example:

        vvm predict new.csv --model outcome.vvm --proba --output said.csv
        tail -f log.csv | vvm predict - --model outcome.vvm
    """
    from virtualvector.command.checkpoint import check_folder
    from virtualvector.command.compiling import saying_when_compiling
    from virtualvector.command.summary import tell_left_out
    from virtualvector.command.trained import trained
    from virtualvector.storage.disk import written_at_once

    check_folder(output, "--output")
    known = trained(model)
    classes = known.classes.tolist()
    with (
        known.open(source, labelled=False, **reading(missing, format, on_error, seed)) as reader,
        written_at_once(output) if output else nullcontext(sys.stdout) as file,
        saying_when_compiling(),
    ):
        lines = csv.writer(file, lineterminator="\n")
        lines.writerow(["predicted", *(f"p({label})" for label in classes if proba)])
        for batch in reader:
            said = known.probabilities(batch)
            for row, best in zip(said.tolist(), said.argmax(axis=1).tolist(), strict=True):
                lines.writerow([classes[best], *(row if proba else ())])
            file.flush()
        tell_left_out(reader.problems, reader.skipped)
