"""`vvm compare`: learners on the same stream."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from virtualvector.cli.console import compile_engine, progress
from virtualvector.cli.option_groups import takes_groups
from virtualvector.cli.options import Columns, JsonOption, Reading, Sources, listed
from virtualvector.cli.outputs import check_outputs, leaving_room_for
from virtualvector.cli.scoreboard import FILES, print_scores, summarise, write_files
from virtualvector.cli.signals import Signals, Stopped
from virtualvector.escaping import counted, printable, quoted
from virtualvector.streams.bad_input import BadInput

if TYPE_CHECKING:
    from virtualvector.evaluation import LeftOut, Outcome
    from virtualvector.streams.table import LabelledTable


MOST_CLASSES = 20  # that are named


@takes_groups
def compare(
    source: Sources,
    *,
    columns: Columns,
    reading: Reading,
    learners: Annotated[
        str | None,
        typer.Option(metavar="NAME,...", help="Learners to compare, by default all fourteen."),
    ] = None,
    buffer_size: Annotated[
        int, typer.Option(min=0, metavar="B", help="Points of VVM, and rows of window-EP.")
    ] = 30,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            file_okay=False,
            help="Folder for the picture and the table, by default compare-NAME.",
        ),
    ] = None,
    standardise: Annotated[
        bool,
        typer.Option(help="Scale each column by its mean and deviation up to each row."),
    ] = True,
    json: JsonOption = None,
) -> None:
    """Let learners predict and then learn the same rows, side by side.

    Each row is predicted before it is learned, once: every row is a test.
    Prints a table; writes it as CSV and JSON, and draws the error along
    the stream. AutoVVM takes the table as it is; the others have inputs
    for categories, and the mean so far where a number is missing.

    Stopped by Ctrl-C, it shows those that have finished.

    For example:

        vvm compare spambase
        vvm compare rows.csv --label outcome --out results
        vvm compare rows.csv --learners AutoVVM,VVM,logistic
    """
    from virtualvector.cli.summary import tell_left_out, tell_notes, write_json
    from virtualvector.evaluation import Comparison
    from virtualvector.streams.table import name_of, read_table

    names = _chosen(learners)
    folder = out or Path(f"compare-{name_of(source[0])}")
    files = [("--out", folder / name) for name in FILES]
    check_outputs(source, [*files, ("--json", json)], reading.format, folder=folder)
    ignore = (*listed(columns.ignore), *listed(columns.id))
    categorical = listed(columns.categorical)
    stream = read_table(
        source, label=columns.label, categorical=categorical, ignore=ignore, **reading.options
    )
    task = _Task(stream, names, buffer_size, reading.seed or 0, standardise)
    with leaving_room_for(json):
        tell_notes(stream.notes)
        _introduce(stream)
        tell_left_out(stream.problems, stream.n_skipped)
        results, stopped = task.results()
        if results:
            result = Comparison.of(results)
            for learner, reason in result.left_out.items():
                if not result.outcomes:
                    raise BadInput(f"No learner can learn these rows; {learner}: {reason}")
            summary = summarise(result, {"source": " ".join(source), **task.about})
            print_scores(result)
            folder.mkdir(parents=True, exist_ok=True)
            write_files(folder, result, summary, f"{stream.name}: each row predicted, then learned")
            print(f"Written to {printable(str(folder))}: {', '.join(FILES)}")
    if results and json is not None:
        write_json(summary, json)
    if stopped is not None:
        raise stopped.saying(f"{len(results)} of {counted(len(names), 'learner')} had finished.")


class _Task:
    """What is to be compared, and how."""

    def __init__(
        self,
        stream: LabelledTable,
        names: list[str],
        buffer_size: int,
        seed: int,
        standardise: bool,
    ) -> None:
        from virtualvector.evaluation import all_learners, inputs_of

        is_categorical = [column.categorical for column in stream.columns]
        self._stream = stream
        self._rows = inputs_of(stream.table, is_categorical, standardise)
        n_rows, n_inputs = self._rows.shape
        every = all_learners(n_inputs, buffer_size, seed, len(stream.classes))
        categorical = [k for k, is_text in enumerate(is_categorical) if is_text]
        every["AutoVVM"].set_params(
            categorical_features=categorical, n_classes=len(stream.classes), random_state=seed
        )
        self._learners = {name: every[name] for name in names}
        self.about: dict[str, Any] = {
            "label": stream.label_column,
            "rows": n_rows,
            "skipped": stream.n_skipped,
            "columns": len(stream.columns),
            "inputs": n_inputs,
            "classes": stream.classes.tolist(),
            "buffer_size": buffer_size,
            "seed": seed,
            "standardised": standardise,
        }

    def results(self) -> tuple[list[Outcome | LeftOut], Stopped | None]:
        """Return what came out for each learner that has finished, and what stopped the rest."""
        from virtualvector.evaluation import one_by_one

        labels, classes = self._stream.labels, self._stream.classes
        total = len(self._learners) * len(labels)
        results: list[Outcome | LeftOut] = []
        compile_engine()
        rows, table = self._rows, self._stream.table
        try:
            with Signals(), progress(total, "Comparing") as advance:
                # Extended as they come: those that have finished stay if it is stopped.
                results.extend(one_by_one(self._learners, rows, labels, classes, advance, table))
        except Stopped as stopped:
            return results, stopped
        return results, None


def _chosen(learners: str | None) -> list[str]:
    """Return the learners that were asked for, by default all, or raise if there is no such one."""
    from virtualvector.evaluation import all_learners

    known = {name.lower(): name for name in all_learners(n_inputs=1)}
    asked = list(known) if learners is None else [name.lower() for name in listed(learners)]
    for name in asked:
        if name not in known:
            raise typer.BadParameter(
                f"--learners: found {name!r}; expected some of {', '.join(known.values())}."
            )
    return [known[name] for name in dict.fromkeys(asked)]


def _introduce(stream: LabelledTable) -> None:
    n_rows, n_columns = stream.table.shape
    n_categorical = sum(column.categorical for column in stream.columns)
    kinds = f", {n_categorical:,} of them categorical" if n_categorical else ""
    classes = stream.classes.tolist()
    counts = [f"{printable(c, 60)} ({(stream.labels == c).sum()})" for c in classes[:MOST_CLASSES]]
    more = f" and {len(classes) - len(counts)} more" if len(classes) > len(counts) else ""
    print(
        f"{printable(stream.name)}: {counted(n_rows, 'row')}, "
        f"{counted(n_columns, 'column')}{kinds}."
    )
    print(
        f"Label: {quoted(stream.label_column)}, {stream.label_reason}; "
        f"classes: {', '.join(counts)}{more}.",
        flush=True,
    )
