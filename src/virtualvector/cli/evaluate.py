"""`vvm evaluate`: how good a model is on labelled rows, without learning them."""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from virtualvector.cli.cluster_options import OnCluster
from virtualvector.cli.console import print_facts
from virtualvector.cli.measures import amount, facts_of, lines_of, print_classes, print_cutoffs
from virtualvector.cli.option_groups import takes_groups
from virtualvector.cli.options import (
    EvaluationWeightOption,
    JsonOption,
    LabelOption,
    ModelToRead,
    Reading,
    Sources,
)
from virtualvector.cli.outputs import check_outputs, leaving_room_for
from virtualvector.escaping import quoted
from virtualvector.streams.bad_input import BadInput, NothingToLearn
from virtualvector.streams.columns import listed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from virtualvector.cli.model_file import Trained
    from virtualvector.streams import Batch


@takes_groups
def evaluate(
    source: Sources,
    model: ModelToRead,
    *,
    label: LabelOption = None,
    weight: EvaluationWeightOption = None,
    json: JsonOption = None,
    reading: Reading,
    cluster: OnCluster,
) -> None:
    """Measure a model on labelled rows. It stays as it is.

    Prints the error and the log-loss beside those of guessing, the Brier
    score, the calibration error, recall, precision, ROC-AUC and average
    precision of each class, the confusion matrix and, for two classes,
    where to cut if one kind of error costs more than the other.
    With --weight, a row of weight 2 counts as two rows in all of them.

    For example:

        vvm evaluate test.csv --model outcome.vvm
        vvm evaluate test.csv --model outcome.vvm --weight w
        vvm evaluate test.csv --model outcome.vvm --workers 4
    """
    from virtualvector.cli.console import compilation_notice
    from virtualvector.cli.model_file import trained
    from virtualvector.cli.results import of_each_batch
    from virtualvector.cli.summary import tell_left_out, tell_unseen, telling_notes, write_json
    from virtualvector.evaluation import Tally

    cluster.check(source)
    check_outputs(source, [("--json", json)], reading.format, model)
    known = trained(model)
    classes = known.classes
    tally = Tally(tuple(classes.tolist()))
    options = {**reading.options, "weight": weight or None}
    unseen: Counter[str] = Counter()
    n_rows = 0
    with (
        known.open(source, labelled=True, label=label or known.label, **options) as reader,
        telling_notes(reader),
        compilation_notice(),
    ):
        measure = partial(_measured, label=reader.label)
        with closing(of_each_batch(known, reader, measure, cluster)) as results:
            for found in results:
                unseen.update(found.unseen)
                n_rows += len(found.labels)
                tally = tally.with_rows(found.labels, found.probabilities, weights=found.weights)
        tell_left_out(reader.problems, reader.skipped)
        tell_unseen(unseen)
    if n_rows == 0:
        raise NothingToLearn(
            "Every row was left out"
            f"{' or has a weight of 0' if weight else ''}; nothing was measured."
        )
    facts = {"rows": n_rows, **facts_of(tally, weighted=bool(weight))}
    lines = {"rows": f"{n_rows:,}"}
    if weight:
        facts |= {"weight": weight, "total_weight": tally.now.n_rows}
        lines["weight"] = (
            f"{amount(tally.now.n_rows)}  (rows below are counted so, by {quoted(weight)})"
        )
    with leaving_room_for(json):
        print_facts(lines | lines_of(facts))
        print_classes(facts)
        print_cutoffs(facts)
    if json is not None:
        write_json(facts | {"classes": classes.tolist(), "skipped": reader.skipped}, json)


class Measured(NamedTuple):
    """What is measured of a batch."""

    labels: NDArray[np.str_]
    probabilities: NDArray[np.float64]
    weights: NDArray[np.float64] | None
    unseen: dict[str, int]  # values of each column, of categories that were never learned


def _measured(known: Trained, batch: Batch, label: str | None) -> Measured:
    """Predict the rows of a batch, of which those without weight are not counted."""
    labels = known.labels(batch)
    _check_known(batch, labels, known.classes, label)
    found = Measured(labels, known.probabilities(batch), batch.weights, known.unseen(batch))
    if batch.weights is None:
        return found
    some = batch.weights > 0.0
    return Measured(labels[some], found.probabilities[some], batch.weights[some], found.unseen)


def _check_known(
    batch: Batch, labels: NDArray[np.str_], classes: NDArray[np.str_], label: str | None
) -> None:
    strange = ~np.isin(labels, classes)
    if strange.any():
        row = int(np.argmax(strange))
        raise BadInput(
            f"{batch.place(row, label)}: found the class {quoted(str(batch.labels[row]))}; "
            f"expected one that the model knows: {listed(classes.tolist())}."
        )
