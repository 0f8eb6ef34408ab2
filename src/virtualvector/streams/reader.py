"""Labelled rows from anywhere, in batches."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from copy import copy
from typing import Literal, Self

from virtualvector.escaping import quoted
from virtualvector.prose import is_plain_prose
from virtualvector.streams.asked import Asked, options_for
from virtualvector.streams.bad_input import BadInput, NothingToLearn
from virtualvector.streams.batches import Batch, clean
from virtualvector.streams.columns import Column, Plan, listed
from virtualvector.streams.description import alike, described
from virtualvector.streams.dialect import Dialect
from virtualvector.streams.formats import Options, Rows, open_source
from virtualvector.streams.passing import Passing
from virtualvector.streams.schema import (
    check_columns,
    check_labels,
    check_plain,
    choose_label,
    chosen,
    with_categorical,
    with_text,
)
from virtualvector.streams.sources import Source, find_sources
from virtualvector.values import Marks, category

USUAL_DIALECT = Dialect()
TOLD = 10  # bad rows whose messages are kept


def open_rows(
    sources: Sequence[str],
    *,
    label: str | None = None,
    labelled: bool = True,
    columns: Sequence[Column] | None = None,
    categorical: Sequence[str] = (),
    text: Sequence[str] = (),
    find_text: bool = False,
    sparse: bool | None = False,
    ignore: Sequence[str] = (),
    ids: Sequence[str] = (),
    ids_if_there: Sequence[str] = (),
    weight: str | None = None,
    missing: Sequence[str] = (),
    format: str | None = None,
    dialect: Dialect = USUAL_DIALECT,
    on_error: Literal["stop", "skip"] = "stop",
    seed: int = 0,
) -> Reader:
    """Open files, a pipe or a shipped data set, and look at the first rows.

    Parameters
    ----------
    sources : sequence of str
        "spambase", "thyroid" or "ionosphere", whose rows are shuffled because the files are sorted
        by class; paths or patterns of files; "-" for standard input. What comes from several is
        read in their order. All have the same columns, in any order; what one has beside these is
        left out.
    label : str, optional
        The column that has the classes; by default the only one with a usual name ("label",
        "class", "target" or "y"), otherwise the last one.
    labelled : bool, default=True
        Whether labels are read. If not, the column ``label`` is left out if it is there.
    columns : sequence of Column, optional
        What a model expects. By default most of the first rows decide what a column holds.
    categorical, text, find_text, sparse, ignore, ids, ids_if_there, weight
        What was asked for; see `Asked`.
    missing : sequence of str, default=()
        Texts that stand for a missing value, beside the usual ones.
    format : str, optional
        "csv", "tsv", "parquet", "arrow", "jsonl" or "svmlight"; by default the file's name says it.
    dialect : Dialect
        How text is written, where that is not to be found out.
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
    dialect.check()
    asked = Asked(label, labelled, tuple(categorical), tuple(ignore), tuple(ids))
    asked = asked._replace(ids_if_there=tuple(ids_if_there), weight=weight)
    asked = asked._replace(text=tuple(text), find_text=find_text, sparse=sparse)
    asked.check(columns)
    found = find_sources(sources, format)
    options = options_for(found, asked, columns)
    options = options._replace(marks=Marks(missing), dialect=dialect, seed=seed)
    return Reader(found, options, asked, columns, stop=on_error == "stop")


class Reader:
    """Rows in batches, and what they are called; made by `open_rows`.

    May be gone through again unless the rows come from a pipe.

    Attributes
    ----------
    columns : tuple of Column
        The columns of each batch.
    label : str or None
        The column that has the labels, if these are read.
    weight : str or None
        The column that has the weights of rows.
    ids : tuple of str
        The columns that are handed on.
    label_reason : str
        Why it is that column.
    classes : tuple of str or None
        All classes, where they are known beforehand.
    first_classes : tuple of str
        The classes of the first rows.
    n_rows : int or None
        How many rows there are, where that is known beforehand.
    n_in_time : int or None
        How many rows decided what the columns hold, if no more of a pipe came within a second.
    skipped : int
        Bad rows left out of this pass so far.
    problems : list of str
        What is wrong with the first of them.
    notes : list of str
        What columns were taken for, what was left out, and how it is written: for people. Of
        later sources there are more when these are read.
    """

    def __init__(
        self,
        sources: list[Source],
        options: Options,
        asked: Asked,
        columns: Sequence[Column] | None = None,
        stop: bool = True,
    ) -> None:
        self._sources, self._options, self._stop = sources, options, stop
        self._asked, self.weight = asked, asked.weight
        self._begun = False
        self._noted = {sources[0].name}  # sources of which notes are there
        self.skipped = 0
        self.problems: list[str] = []
        rows = open_source(sources[0], options)
        self._ahead: Rows | None = rows  # whose first rows were looked at, not handed out
        self.notes = list(rows.notes)
        try:
            self._look_at(rows, columns)
        except BaseException:
            self.close()
            raise

    def _look_at(self, rows: Rows, columns: Sequence[Column] | None) -> None:
        """Decide what the columns of the first source are, as far as that is not known."""
        source, asked, options = self._sources[0].name, self._asked, self._options
        names = {column.name for column in rows.columns}
        self.ids = (*asked.ids, *(name for name in asked.ids_if_there if name in names))
        there = self._left(source, rows, columns)
        self.label, self.label_reason = None, ""
        if asked.labelled:
            if asked.label in (*asked.ignore, *self.ids):
                raise BadInput(
                    f"{source}: found the column {quoted(str(asked.label))} as --label and among "
                    "those to leave out (--ignore or --id); expected one of the two."
                )
            self.label, self.label_reason = choose_label(source, list(there), asked.label)
        outside = (self.label, None if asked.labelled else asked.label)
        if columns is None:
            found = tuple(column for name, column in there.items() if name not in outside)
            other = [name for name in asked.categorical if name != self.label]  # classes they are
            found = with_categorical(source, found, other)
            self.columns = with_text(source, found, asked.text, self._prose(rows, found))
        else:
            self.columns = tuple(columns)
        if not self.columns:
            raise BadInput(f"{source}: found no column to learn from; expected one or more.")
        learned = columns is not None
        self._plan = Plan(self.columns, self.label, options.marks, learned, self.ids, self.weight)
        check_columns(source, rows.columns, self._plan)
        if columns is None:
            self._describe(source, rows)
        else:
            self._leave_out(source, rows)
        first = [] if self.label is None else rows.first(self.label)
        first = [text for each in first if (text := category(each, options.marks.of_labels))]
        if self.label is not None and columns is None:
            check_labels(source, self.label, first)
            if pair := alike(first):
                both = " and ".join(map(quoted, pair))
                self.notes.append(f"labels: {both} are two classes")
        self.first_classes = tuple(sorted(set(first)))
        self.classes = rows.classes if len(self._sources) == 1 else None
        self.n_rows, self.n_in_time = self._count(rows), rows.n_in_time
        # From now on there is nothing to decide, and to wait for.
        self._options = options._replace(expected=frozenset(c.name for c in self._plan.wanted))

    def _prose(self, rows: Rows, columns: Sequence[Column]) -> list[str]:
        """Return columns that plainly hold texts, if these are looked for."""
        asked = self._asked
        if not asked.find_text:
            return []
        may_be = [c.name for c in columns if c.categorical and c.name not in asked.categorical]
        return [name for name, cells in rows.heads(may_be).items() if is_plain_prose(cells)]

    def _left(
        self, source: str, rows: Rows, expected: Sequence[Column] | None
    ) -> dict[str, Column]:
        """Return the columns that are neither ignored nor handed on, nor an index of pandas'."""
        asked, names = self._asked, [column.name for column in rows.columns]
        if expected is None:
            chosen(source, names, asked.ignore, "--ignore or --id")
        chosen(source, names, asked.ids, "--id")
        weight = () if asked.weight is None else (asked.weight,)
        chosen(source, names, weight, "--weight; --weight '' does without")
        wanted = {asked.label, *asked.categorical, *(column.name for column in expected or ())}
        index = [name for name in rows.index if name not in (*wanted, *weight)]
        outside = {*asked.ignore, *self.ids, *weight, *index}
        unnoted = [name for name in index if name not in (*asked.ignore, *self.ids)]
        if unnoted and expected is None:
            self.notes.append(f"left out: {listed(unnoted)}, which pandas has written as an index")
        return {column.name: column for column in rows.columns if column.name not in outside}

    def _describe(self, source: str, rows: Rows) -> None:
        """Say what columns are taken for, or raise if that is in doubt."""
        categorical = self._asked.categorical
        dense = [column for column in self.columns if not column.n_places]
        heads = rows.heads([column.name for column in dense])
        doubtful = [c.name for c in self.columns if c.categorical and c.name not in categorical]
        check_plain(source, {name: heads[name] for name in doubtful})
        self.notes += [
            f"sparse rows: {quoted(c.name)}, of {c.n_places:,} places"
            for c in self.columns
            if c.n_places
        ]
        asked = (*categorical, *self._asked.text)
        self.notes += described(dense, heads, asked, rows.typed, self._asked.find_text)
        if self.weight is not None:
            self.notes.append(f"weights: {quoted(self.weight)} (as asked)")

    def _leave_out(self, source: str, rows: Rows) -> None:
        """Say which columns of a source are not among those that are expected."""
        known = {*(column.name for column in self._plan.wanted), self._asked.label}
        known |= {*self._asked.ignore, *rows.index}
        more = [column.name for column in rows.columns if column.name not in known]
        if more:
            owner = "the model" if self._plan.learned else "the first file"
            self.notes.append(f"{source}: left out: {listed(more)}, which {owner} does not have")

    def __iter__(self) -> Iterator[Batch]:
        """Yield the good rows in order; a batch of none tells that only bad ones came."""
        return self.batches()

    def batches(self, passing: Passing | None = None) -> Generator[Batch, None, None]:
        """Yield the same, but for what is passed over."""
        for source in self._sources:
            if self._begun and not source.rereadable:
                raise BadInput(f"{source.name} can be read only once.")
        self._begun = True
        self.skipped, self.problems = 0, []
        some = False
        for source in self._sources:
            # An error keeps frames, and these the file, until the garbage collector comes by.
            with closing(self._rows(source)) as rows:
                for piece in rows.pieces(self._plan, passing):
                    batches, bad = clean(piece, self._plan, self._stop)
                    for batch in batches:
                        some = some or batch.table.num_rows > 0
                        yield batch
                    if bad and self._stop:
                        raise BadInput(bad[0].why())
                    self.skipped += len(bad)
                    self.problems += [one.why() for one in bad[: TOLD - len(self.problems)]]
        some = some or (passing is not None and passing.has_begun)
        if self.label is not None and not some and not self.skipped:
            raise NothingToLearn(f"{self._sources[0].name}: found no rows; expected some.")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Close what was opened to look at the first rows."""
        if self._ahead is not None:
            self._ahead.close()
        self._ahead = None

    def detached(self) -> Reader:
        """Return a reader of the same rows that can be sent elsewhere: nothing is open.

        Raises
        ------
        BadInput
            If rows can be read only here, and once.
        """
        for source in self._sources:
            if not source.rereadable:
                raise BadInput(f"{source.name}: found a pipe; expected files, for workers to read.")
        reader = copy(self)
        reader._ahead, reader._begun = None, False
        reader._noted, reader.notes = set(self._noted), list(self.notes)  # which grow by reading
        reader._sources = [
            source if source.path is None else source._replace(path=source.path.absolute())
            for source in self._sources
        ]
        return reader

    def _rows(self, source: Source) -> Rows:
        if self._ahead is not None:
            rows, self._ahead = self._ahead, None
            return rows
        rows = open_source(source, self._options)
        try:
            check_columns(source.name, rows.columns, self._plan)
            if source.name not in self._noted:
                self._noted.add(source.name)
                self.notes += rows.notes
                self._leave_out(source.name, rows)
        except BaseException:
            rows.close()
            raise
        return rows

    def _count(self, first: Rows) -> int | None:
        """Return the number of rows of all sources, where these say it."""
        total = first.n_rows
        for source in self._sources[1:]:
            if total is None:
                break
            with closing(open_source(source, self._options)) as rows:
                total = None if rows.n_rows is None else total + rows.n_rows
        return total
