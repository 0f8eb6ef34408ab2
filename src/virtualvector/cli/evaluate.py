"""`vvm evaluate`: how good a model is on labelled rows, without learning them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from virtualvector.cli.console import print_facts, print_table
from virtualvector.cli.options import (
    FormatOption,
    JsonOption,
    LabelOption,
    MissingOption,
    ModelToRead,
    OnError,
    OnErrorOption,
    SeedOption,
    Sources,
    reading,
)
from virtualvector.escaping import quoted
from virtualvector.streams.bad_input import BadInput
from virtualvector.streams.columns import listed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from virtualvector.evaluation import Measures
    from virtualvector.streams import Batch

MOST_CLASSES = 12  # in a confusion matrix that fits the screen


def evaluate(
    source: Sources,
    model: ModelToRead,
    label: LabelOption = None,
    json: JsonOption = None,
    missing: MissingOption = None,
    format: FormatOption = None,
    on_error: OnErrorOption = OnError.stop,
    seed: SeedOption = 0,
) -> None:
    """Measure a model on labelled rows. It stays as it is.

    Prints the error, the log-loss, the Brier score, the calibration error
    and the confusion matrix.

    For example:

        vvm evaluate test.csv --model outcome.vvm
    """
    from virtualvector.cli.console import compilation_notice
    from virtualvector.cli.model_file import trained
    from virtualvector.cli.summary import tell_left_out, write_json
    from virtualvector.evaluation import Tally

    known = trained(model)
    classes = known.classes
    tally = Tally(tuple(classes.tolist()))
    confusion = np.zeros((len(classes), len(classes)), np.int64)
    options = reading(missing, format, on_error, seed)
    with (
        known.open(source, labelled=True, label=label or known.label, **options) as reader,
        compilation_notice(),
    ):
        for batch in reader:
            _check_known(batch, classes, reader.label)
            predicted = known.probabilities(batch)
            tally = tally.with_rows(batch.labels, predicted)
            observed = np.searchsorted(classes, batch.labels)
            np.add.at(confusion, (observed, predicted.argmax(axis=1)), 1)
        tell_left_out(reader.problems, reader.skipped)
    _print(tally.now.n_rows, tally.measures, classes.tolist(), confusion)
    if json is not None:
        result = {
            "rows": tally.now.n_rows,
            **tally.measures._asdict(),
            "classes": classes.tolist(),
            "confusion": confusion.tolist(),
            "skipped": reader.skipped,
        }
        write_json(result, json)


def _check_known(batch: Batch, classes: NDArray[np.str_], label: str | None) -> None:
    strange = ~np.isin(batch.labels, classes)
    if strange.any():
        row = int(np.argmax(strange))
        raise BadInput(
            f"{batch.place(row, label)}: found the class {quoted(str(batch.labels[row]))}; "
            f"expected one that the model knows: {listed(classes.tolist())}."
        )


def _print(n_rows: int, measures: Measures, classes: list[str], confusion: Any) -> None:
    facts = {
        "rows": f"{n_rows:,}",
        "error": f"{measures.error:.4f}",
        "log-loss": f"{measures.log_loss:.4f}",
        "Brier score": f"{measures.brier:.4f}",
        "calibration error": f"{measures.calibration_error:.4f}  (15 bins)",
    }
    print_facts(facts)
    print()
    if len(classes) > MOST_CLASSES:
        print(f"Confusion matrix of {len(classes)} classes: see --json")
    else:
        rows = zip(classes, confusion.tolist(), strict=True)
        table = [[name, *map(str, counts)] for name, counts in rows]
        print_table(("observed, predicted", *classes), table)
