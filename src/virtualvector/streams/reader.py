"""Labelled rows from anywhere, in batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, Self

from virtualvector.streams.bad_input import BadInput
from virtualvector.streams.batches import Batch, clean
from virtualvector.streams.columns import MISSING, Column, Plan
from virtualvector.streams.formats import Options, Rows, open_source
from virtualvector.streams.schema import check_columns, check_labels, choose_label, with_categorical
from virtualvector.streams.sources import Source, find_sources
from virtualvector.streams.svmlight import indices_in, indices_of

TOLD = 10  # bad rows whose messages are kept


def open_rows(
    sources: Sequence[str],
    *,
    label: str | None = None,
    labelled: bool = True,
    columns: Sequence[Column] | None = None,
    categorical: Sequence[str] = (),
    missing: Sequence[str] = MISSING,
    format: str | None = None,
    on_error: Literal["stop", "skip"] = "stop",
    seed: int = 0,
) -> Reader:
    """Open files, a pipe or a shipped data set, and look at the first rows.

    Parameters
    ----------
    sources : sequence of str
        "spambase", "thyroid" or "ionosphere", whose rows are shuffled because the files are sorted
        by class; paths or patterns of files; "-" for standard input. What comes from several is
        read in their order. All have the same columns, in any order.
    label : str, optional
        The column that has the classes; by default the only one with a usual name ("label",
        "class", "target" or "y"), otherwise the last one.
    labelled : bool, default=True
        Whether labels are read. If not, the column ``label`` is left out if it is there.
    columns : sequence of Column, optional
        What a model expects. By default the first rows decide which columns hold numbers.
    categorical : sequence of str, default=()
        Columns that are categorical even if they look like numbers.
    missing : sequence of str
        Texts that mean that there is no value.
    format : str, optional
        "csv", "tsv", "parquet", "arrow", "jsonl" or "svmlight"; by default the file's name says it.
    on_error : {"stop", "skip"}, default="stop"
        What to do with a bad row: stop behind the good ones before it, or count it and go on.
    seed : int, default=0
        Seed of the order of a shipped data set.

    Returns
    -------
    Reader
        Yields batches.

    Raises
    ------
    BadInput
        Now if the sources cannot be read as tables of such columns, later if a row is bad.

    Examples
    --------
    >>> from virtualvector.streams import open_rows
    >>> with open_rows(["ionosphere"]) as reader:
    ...     for batch in reader:
    ...         print(batch.table.shape, batch.labels[:3], batch.place(0, "x1"))
    (351, 34) ['g' 'g' 'b'] ionosphere, row 1, column 'x1'
    """
    found = find_sources(sources, format)
    sparse = [source for source in found if source.format == "svmlight"]
    indices = range(0)
    if sparse:
        indices = indices_in(sparse) if columns is None else indices_of(columns)
    options = Options(
        missing=tuple(missing),
        least=1 if columns is not None and not labelled else 2,
        seed=seed,
        indices=indices,
    )
    return Reader(found, options, label, labelled, columns, categorical, stop=on_error == "stop")


class Reader:
    """Rows in batches, and what they are called; made by `open_rows`.

    May be gone through again unless the rows come from a pipe.

    Attributes
    ----------
    columns : tuple of Column
        The columns of each batch.
    label : str or None
        The column that has the labels, if these are read.
    label_reason : str
        Why it is that column.
    classes : tuple of str or None
        All classes, where they are known beforehand.
    first_classes : tuple of str
        The classes of the first rows.
    n_rows : int or None
        How many rows there are, where that is known beforehand.
    skipped : int
        Bad rows left out of this pass so far.
    problems : list of str
        What is wrong with the first of them.
    """

    def __init__(
        self,
        sources: list[Source],
        options: Options,
        label: str | None,
        labelled: bool,
        columns: Sequence[Column] | None,
        categorical: Sequence[str],
        stop: bool,
    ) -> None:
        self._sources, self._options, self._stop = sources, options, stop
        self._ignored = None if labelled else label
        self._begun = False
        self.skipped = 0
        self.problems: list[str] = []
        source = sources[0].name
        rows = open_source(sources[0], options)
        self._ahead: Rows | None = rows  # whose first rows were looked at, not handed out
        self.label, self.label_reason = None, ""
        if labelled:
            present = [column.name for column in rows.columns]
            self.label, self.label_reason = choose_label(source, present, label)
        outside = (self.label, self._ignored)
        found = tuple(column for column in rows.columns if column.name not in outside)
        self.columns = (
            with_categorical(source, found, categorical) if columns is None else tuple(columns)
        )
        if not self.columns:
            raise BadInput(f"{source}: found no column to learn from; expected one or more.")
        self._plan = Plan(self.columns, self.label, options.missing, learned=columns is not None)
        check_columns(source, rows.columns, self._plan, self._ignored)
        first = [] if self.label is None else rows.first(self.label)
        if self.label is not None and columns is None:
            check_labels(source, self.label, first)
        self.first_classes = tuple(sorted(set(first)))
        self.classes = rows.classes if len(sources) == 1 else None
        self.n_rows = self._count(rows)

    def __iter__(self) -> Iterator[Batch]:
        """Yield the good rows in order."""
        for source in self._sources:
            if self._begun and not source.rereadable:
                raise BadInput(f"{source.name} can be read only once.")
        self._begun = True
        self.skipped, self.problems = 0, []
        some = False
        for source in self._sources:
            for piece in self._rows(source).pieces(self._plan):
                batches, bad = clean(piece, self._plan, self._stop)
                for batch in batches:
                    some = True
                    yield batch
                if bad and self._stop:
                    raise BadInput(bad[0].why())
                self.skipped += len(bad)
                self.problems += [one.why() for one in bad[: TOLD - len(self.problems)]]
        if self.label is not None and not some and not self.skipped:
            raise BadInput(f"{self._sources[0].name}: found no rows; expected some.")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of what was opened to look at the first rows."""
        self._ahead = None

    def _rows(self, source: Source) -> Rows:
        if self._ahead is not None:
            rows, self._ahead = self._ahead, None
        else:
            rows = open_source(source, self._options)
            check_columns(source.name, rows.columns, self._plan, self._ignored)
        return rows

    def _count(self, first: Rows) -> int | None:
        """Return the number of rows of all sources, where these say it."""
        total = first.n_rows
        for source in self._sources[1:]:
            more = None if total is None else open_source(source, self._options).n_rows
            total = None if total is None or more is None else total + more
        return total
