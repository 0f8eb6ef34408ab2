"""`vvm compare`: all learners on the same stream."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from virtualvector.cli.console import progress
from virtualvector.cli.scoreboard import FILES, print_scores, write_files
from virtualvector.escaping import printable, quoted

if TYPE_CHECKING:
    from virtualvector.streams import Stream


MOST_CLASSES = 20  # that are named


def compare(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE",
            help="spambase, thyroid or ionosphere; or a file of numbers in named columns: CSV, TSV "
            "or JSON lines, perhaps .gz or .zst, Parquet or Arrow; or - for standard input.",
        ),
    ],
    label: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Column to predict, by default the last one, or label, class, target or y.",
        ),
    ] = None,
    buffer_size: Annotated[
        int, typer.Option(min=0, metavar="B", help="Points of VVM, and rows of window-EP.")
    ] = 30,
    seed: Annotated[
        int, typer.Option(min=0, max=2**32 - 1, metavar="S", help="Order of a shipped data set.")
    ] = 0,
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
) -> None:
    """Let all learners predict and then learn the same rows, side by side.

    Each row is predicted before it is learned, once: every row is a test.
    Prints a table; writes it as CSV and JSON, and draws the error along
    the stream.

    For example:

        vvm compare spambase
        vvm compare rows.csv --label outcome --out results
    """
    from virtualvector.evaluation import all_learners, side_by_side
    from virtualvector.features import RunningStandardScaler
    from virtualvector.streams import read

    stream = read(source, label, seed)
    _introduce(stream)
    folder = out or Path(f"compare-{stream.name}")
    folder.mkdir(parents=True, exist_ok=True)
    rows = RunningStandardScaler().learn_then_transform(stream.rows) if standardise else stream.rows
    n_rows, n_inputs = rows.shape
    learners = all_learners(n_inputs, buffer_size, seed, len(stream.classes))
    with progress(len(learners) * n_rows, "Comparing") as advance:
        result = side_by_side(learners, rows, stream.labels, stream.classes, advance)
    print_scores(result)
    about = {
        "source": source,
        "label": stream.label_column,
        "rows": n_rows,
        "inputs": n_inputs,
        "classes": stream.classes.tolist(),
        "buffer_size": buffer_size,
        "seed": seed,
        "standardised": standardise,
    }
    write_files(folder, result, about, f"{stream.name}: each row predicted, then learned")
    print(f"Written to {printable(str(folder))}: {', '.join(FILES)}")


def _introduce(stream: Stream) -> None:
    n_rows, n_inputs = stream.rows.shape
    classes = stream.classes.tolist()
    counts = [f"{printable(c, 60)} ({(stream.labels == c).sum()})" for c in classes[:MOST_CLASSES]]
    more = f" and {len(classes) - len(counts)} more" if len(classes) > len(counts) else ""
    print(f"{printable(stream.name)}: {n_rows} rows, {n_inputs} inputs.")
    print(
        f"Label: {quoted(stream.label_column)}, {stream.label_reason}; "
        f"classes: {', '.join(counts)}{more}.",
        flush=True,
    )
