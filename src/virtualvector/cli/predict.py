"""`vvm predict`: probabilities for rows whose class is not known."""

from __future__ import annotations

import csv
import io
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import typer

from virtualvector.cli.cluster_options import OnCluster
from virtualvector.cli.errors import say
from virtualvector.cli.option_groups import takes_groups
from virtualvector.cli.options import IdOption, JsonOption, ModelToRead, Reading, Sources, listed
from virtualvector.escaping import cell, printable
from virtualvector.streams.bad_input import BadInput, NothingToLearn
from virtualvector.streams.sources import COMPRESSED, ENDINGS

if TYPE_CHECKING:
    from virtualvector.cli.model_file import Trained
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
    cluster: OnCluster,
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
        vvm predict "new/*.csv" --model outcome.vvm --output predicted.csv --workers 4
        tail -f log.csv | vvm predict - --model outcome.vvm
    """
    from virtualvector.cli.console import compilation_notice
    from virtualvector.cli.model_file import trained
    from virtualvector.cli.outputs import STANDARD_OUTPUT, check_outputs, is_standard_output
    from virtualvector.cli.results import of_each_batch
    from virtualvector.cli.summary import (
        called,
        tell_left_out,
        tell_unseen,
        telling_notes,
        write_json,
    )
    from virtualvector.persistence.disk import written_at_once

    output = output or Path(STANDARD_OUTPUT)
    cluster.check(source)
    check_outputs(source, [("--output", output), ("--json", json)], reading.format, model)
    _check_ending(output)
    known = trained(model)
    ids = {"ids": listed(id), "ids_if_there": known.ids if id is None else ()}
    unseen: Counter[str] = Counter()
    n_rows = 0
    with (
        known.open(source, labelled=False, **ids, **reading.options) as reader,
        nullcontext(sys.stdout) if is_standard_output(output) else written_at_once(output) as file,
        telling_notes(reader),
        compilation_notice(),
    ):
        # A terminal obeys what it is sent; any other program is to have the class itself.
        fit = printable if file is sys.stdout and sys.stdout.isatty() else str
        lines = Lines(reader.ids, known.classes.tolist(), proba, fit)
        file.write(lines.head())
        file.flush()
        with closing(of_each_batch(known, reader, lines, cluster)) as results:
            for found in results:
                file.write(found.text)
                file.flush()  # whoever waits for an answer is not to wait for the next row
                unseen.update(found.unseen)
                n_rows += found.n_rows
        tell_left_out(reader.problems, reader.skipped, "no prediction")
        tell_unseen(unseen)
        if reader.skipped:
            have = "has" if reader.skipped == 1 else "have"
            say(f"vvm: {reader.skipped:,} of {n_rows:,} rows {have} an empty prediction.")
    if json is not None:
        counts = {"rows": n_rows, "skipped": reader.skipped}
        write_json({**counts, "classes": known.classes.tolist(), "output": str(output)}, json)
    if n_rows == reader.skipped:
        what = "Every row was left out" if n_rows else f"{called(source)}: found no rows"
        raise NothingToLearn(f"{what}; nothing was predicted.")


def _check_ending(output: Path) -> None:
    """Raise if a name says that something else is written than CSV."""
    ending = output.suffix.lower()
    if ending in COMPRESSED or ENDINGS.get(ending, "csv") != "csv":
        raise BadInput(
            f"--output {printable(str(output))}: predictions are written as CSV; expected a name "
            "that ends in .csv."
        )


class Predicted(NamedTuple):
    """What is written of a batch."""

    text: str
    n_rows: int  # whether they could be read or not
    unseen: dict[str, int]  # values of each column, of categories that were never learned


@dataclass(frozen=True)
class Lines:
    """Lines of CSV, of which the n-th is about the n-th row, whether it could be read or not."""

    ids: Sequence[str]
    classes: list[str]
    proba: bool
    fit: Callable[[str], str]

    def head(self) -> str:
        """Return the names of the columns."""
        return self._text([[*(self.fit(cell(name)) for name in self.ids), *self._own]])

    def __call__(self, known: Trained, batch: Batch) -> Predicted:
        """Predict those rows that were kept; there are empty lines for the others."""
        predicted = known.probabilities(batch)
        classes = [self.fit(cell(label)) for label in self.classes]
        lines = [
            [classes[best], *(row if self.proba else ())]
            for row, best in zip(predicted.tolist(), predicted.argmax(axis=1).tolist(), strict=True)
        ]
        if batch.kept is not None:
            some, empty = iter(lines), [""] * len(self._own)
            lines = [next(some) if is_kept else empty for is_kept in batch.kept.tolist()]
        if batch.ids is not None:
            ids = zip(*(column.to_pylist() for column in batch.ids.columns), strict=True)
            lines = [
                [*(self.fit(cell(text or "")) for text in own), *line]
                for own, line in zip(ids, lines, strict=True)
            ]
        return Predicted(self._text(lines), len(lines), known.unseen(batch))

    @property
    def _own(self) -> list[str]:
        """The names of the columns that are predicted."""
        return ["predicted", *(self.fit(f"p({label})") for label in self.classes if self.proba)]

    def _text(self, lines: list[list[Any]]) -> str:
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n", quoting=_quoting(self.classes))
        writer.writerows(lines)
        return text.getvalue()


def _quoting(labels: list[str]) -> Literal[0, 2]:
    """Return whether texts are in quotes: where one of them could be cut where no comma is."""
    cut = any(sign in label for label in labels for sign in OTHER_DELIMITERS)
    return csv.QUOTE_NONNUMERIC if cut else csv.QUOTE_MINIMAL
