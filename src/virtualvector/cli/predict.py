"""`vvm predict`: probabilities for rows whose class is not known."""

from __future__ import annotations

import csv
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TextIO

import typer

from virtualvector.cli.errors import say
from virtualvector.cli.option_groups import takes_groups
from virtualvector.cli.options import IdOption, JsonOption, ModelToRead, Reading, Sources, listed
from virtualvector.escaping import cell, printable
from virtualvector.streams.bad_input import BadInput, NothingToLearn
from virtualvector.streams.sources import COMPRESSED, ENDINGS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from virtualvector.streams import Batch

OTHER_DELIMITERS = ";\t|"  # of CSV, where the comma is the sign before decimals


@takes_groups
def predict(
    source: Sources,
    model: ModelToRead,
    *,
    output: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="CSV file to write, by default - for standard output.",
            dir_okay=False,
            allow_dash=True,
        ),
    ] = None,
    proba: Annotated[
        bool, typer.Option("--proba", help="Write the probability of each class, too.")
    ] = False,
    json: JsonOption = None,
    id: IdOption = None,
    reading: Reading,
) -> None:
    r"""Say the most probable class of each row, by a model that stays as it is.

    Writes CSV, a line for each row as it comes. A column of labels is not
    needed, and not looked at if there is one. Columns are found by name.
    Those of --id come first, as they are; so do those that were said when
    it was learned. With --on-error skip, a bad row has an empty prediction.

    A class that a spreadsheet would take for a formula, as it begins with
    = + - or @ and is no number, has an apostrophe in front: '=1+1. On a
    terminal, what cannot be seen of it is written as \x1b.

    For example:

        vvm predict new.csv --model outcome.vvm --proba --output predicted.csv
        tail -f log.csv | vvm predict - --model outcome.vvm
    """
    from virtualvector.cli.console import compilation_notice
    from virtualvector.cli.model_file import trained
    from virtualvector.cli.outputs import STANDARD_OUTPUT, check_outputs, is_standard_output
    from virtualvector.cli.summary import (
        called,
        tell_left_out,
        tell_unseen,
        telling_notes,
        write_json,
    )
    from virtualvector.persistence.disk import written_at_once

    output = output or Path(STANDARD_OUTPUT)
    check_outputs(source, [("--output", output), ("--json", json)], reading.format, model)
    _check_ending(output)
    known = trained(model)
    ids = {"ids": listed(id), "ids_if_there": known.ids if id is None else ()}
    unseen: Counter[str] = Counter()
    with (
        known.open(source, labelled=False, **ids, **reading.options) as reader,
        nullcontext(sys.stdout) if is_standard_output(output) else written_at_once(output) as file,
        telling_notes(reader),
        compilation_notice(),
    ):
        # A terminal obeys what it is sent; any other program is to have the class itself.
        fit = printable if file is sys.stdout and sys.stdout.isatty() else str
        lines = _Lines(file, reader.ids, known.classes.tolist(), proba, fit)
        for batch in reader:
            lines.write(known.probabilities(batch), batch)
            unseen.update(known.unseen(batch))
        tell_left_out(reader.problems, reader.skipped, "no prediction")
        tell_unseen(unseen)
        if reader.skipped:
            have = "has" if reader.skipped == 1 else "have"
            say(f"vvm: {reader.skipped:,} of {lines.n_rows:,} rows {have} an empty prediction.")
    if json is not None:
        counts = {"rows": lines.n_rows, "skipped": reader.skipped}
        write_json({**counts, "classes": known.classes.tolist(), "output": str(output)}, json)
    if lines.n_rows == reader.skipped:
        what = "Every row was left out" if lines.n_rows else f"{called(source)}: found no rows"
        raise NothingToLearn(f"{what}; nothing was predicted.")


def _check_ending(output: Path) -> None:
    """Raise if a name says that something else is written than CSV."""
    ending = output.suffix.lower()
    if ending in COMPRESSED or ENDINGS.get(ending, "csv") != "csv":
        raise BadInput(
            f"--output {printable(str(output))}: predictions are written as CSV; expected a name "
            "that ends in .csv."
        )


class _Lines:
    """Lines of CSV, of which the n-th is about the n-th row, whether it could be read or not."""

    def __init__(
        self,
        file: TextIO,
        ids: Sequence[str],
        classes: list[str],
        proba: bool,
        fit: Callable[[str], str],
    ) -> None:
        self._file, self._proba, self._fit = file, proba, fit
        self._lines = csv.writer(file, lineterminator="\n", quoting=_quoting(classes))
        self._classes = [fit(cell(label)) for label in classes]
        head = ["predicted", *(fit(f"p({label})") for label in classes if proba)]
        self._lines.writerow([*(fit(cell(name)) for name in ids), *head])
        self._file.flush()
        self._empty = [""] * len(head)
        self.n_rows = 0

    def write(self, predicted: NDArray[np.float64], batch: Batch) -> None:
        """Write the predictions of those rows that were kept, and empty ones for the others."""
        lines = [
            [self._classes[best], *(row if self._proba else ())]
            for row, best in zip(predicted.tolist(), predicted.argmax(axis=1).tolist(), strict=True)
        ]
        if batch.kept is not None:
            known = iter(lines)
            lines = [next(known) if is_kept else self._empty for is_kept in batch.kept.tolist()]
        if batch.ids is not None:
            ids = zip(*(column.to_pylist() for column in batch.ids.columns), strict=True)
            lines = [
                [*(self._fit(cell(text or "")) for text in own), *line]
                for own, line in zip(ids, lines, strict=True)
            ]
        self._lines.writerows(lines)
        self._file.flush()  # whoever waits for an answer is not to wait for the next row
        self.n_rows += len(lines)


def _quoting(labels: list[str]) -> Literal[0, 2]:
    """Return whether texts are in quotes: where one of them could be cut where no comma is."""
    cut = any(sign in label for label in labels for sign in OTHER_DELIMITERS)
    return csv.QUOTE_NONNUMERIC if cut else csv.QUOTE_MINIMAL
