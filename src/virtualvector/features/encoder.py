"""From rows of any table to inputs of unit scale: numbers, times, categories, missing values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from virtualvector.concurrency import ALONE, Team
from virtualvector.features.categories import (
    CELLS,
    LENGTH,
    SLOTS,
    Categories,
    allot,
    categories_of,
    cell_of,
    cells_of,
    first_without,
    write_categories,
)
from virtualvector.features.scales import rescaled, scaled
from virtualvector.features.statistics import Statistics
from virtualvector.features.times import PARTS, parts_of
from virtualvector.types import Array, Labels
from virtualvector.values import Kind


@dataclass
class Encoder:
    """What is known of the columns of a stream, and how its rows become inputs.

    Learning changes no array in place: a shallow copy keeps what was known.

    A column of numbers becomes one input: its distance from the running mean in running standard
    deviations, x, then asinh(x), which leaves small values as they are and brings outliers close. A
    row counts towards the mean and the deviation that it is scaled by, so the first of a kind is
    not far from all others by mistake; but one further out than four deviations counts as if it
    were there. The first thirty values count as three hundred from then on, so that rows are soon
    on one scale, and only the last ten thousand or so matter, so that columns may drift. Gaps
    become the mean, and are counted. A column of times becomes seven such inputs: where in time,
    and the hour, the day of the week and that of the year, as a sine and a cosine each.

    Behind the numbers there is one more input for every new category, as they come, but no more
    than eight of a column. For later ones there is an input, of each class but the first, that says
    how the odds of the class were with the category so far; without statistics they have a
    direction in the eight, drawn at random once and for all. A missing value is a category, too.

    Parameters
    ----------
    categorical : sequence of bool
        Which columns are categorical.
    scaling : bool
        Whether numbers are scaled; otherwise they are taken as they are.
    times : sequence of bool
        Which columns hold dates or times; by default none.
    most_statistics : int
        The most inputs of a categorical column for what was observed with its later categories.

    Examples
    --------
    >>> import numpy as np
    >>> from virtualvector.features.encoder import Encoder
    >>> inputs = Encoder([False, True])
    >>> inputs.learn([np.array([1.0, 3.0]), np.array(["red", "blue"])]).round(2).tolist()
    [[0.0, 0.5, 0.0], [0.88, 0.0, 0.5]]
    """

    categorical: Sequence[bool]
    scaling: bool = True
    times: Sequence[bool] = ()
    most_statistics: int = 0
    counts: Array = field(init=False)
    means: Array = field(init=False)
    squares: Array = field(init=False)
    # Of each categorical column, the inputs of its categories.
    categories: dict[int, dict[str, int]] = field(init=False)
    missing: NDArray[np.int64] = field(init=False)  # seen so far in each column
    # Of each categorical column, where the categories that have no input have been seen.
    seen: NDArray[np.bool_] = field(init=False)
    statistics: Statistics = field(init=False)
    n_first: int = field(init=False)  # columns that there were at the start

    def __post_init__(self) -> None:
        self.times = list(self.times) or [False] * len(self.categorical)
        self.n_first = len(self.categorical)
        self.counts, self.means, self.squares = np.zeros((3, len(self.column_of_number)))
        self.categories = {k: {} for k in np.flatnonzero(self.categorical).tolist()}
        self.missing = np.zeros(len(self.categorical), np.int64)
        self.seen = np.zeros((len(self.categories), CELLS), bool)
        self.statistics = Statistics.start(self.most_statistics)

    @cached_property
    def column_of_number(self) -> NDArray[np.int64]:
        """The column of each input that is a number, of which times have several."""
        n_each = np.where(self.times, len(PARTS), 1) * np.logical_not(self.categorical)
        return np.repeat(np.arange(len(n_each)), n_each)

    @cached_property
    def places_of_numbers(self) -> slice | list[int]:
        """The inputs that are numbers: the first ones; of later columns, those that were next."""
        if self.n_first == len(self.categorical):
            return slice(len(self.counts))
        taken = {place for known in self.categories.values() for place in known.values()}
        taken |= {place for inputs in self.statistics.places.values() for place in inputs}
        places = [place for place in range(self.n_inputs) if place not in taken]
        return slice(len(places)) if places == [*range(len(places))] else places

    @property
    def at_start(self) -> Encoder:
        """Columns as they were at the start: how many of which kind, not what is known of them."""
        if self.n_first == len(self.categorical):
            return self
        n = self.n_first
        return Encoder(self.categorical[:n], self.scaling, self.times[:n], self.most_statistics)

    @property
    def kinds(self) -> list[Kind]:
        """What each column holds."""
        each = zip(self.categorical, self.times, strict=True)
        return ["category" if k else "time" if t else "number" for k, t in each]

    @property
    def n_inputs(self) -> int:
        """The number of inputs that rows have become so far."""
        n_categories = sum(len(known) for known in self.categories.values())
        return len(self.counts) + n_categories + self.statistics.n_inputs

    @property
    def most_inputs(self) -> int:
        """The number of inputs that there can ever be."""
        return len(self.counts) + (SLOTS + self.most_statistics) * len(self.categories)

    @property
    def spread(self) -> float:
        """The typical squared length of a row of inputs: about one for each number and category."""
        return float(max(len(self.counts) + len(self.categories), 1))

    @property
    def n_bytes(self) -> int:
        """The memory that is taken by what is known of the columns."""
        categories = sum(
            len(category.encode()) for known in self.categories.values() for category in known
        )
        arrays = (self.counts, self.means, self.squares, self.missing, self.seen)
        return categories + sum(array.nbytes for array in arrays) + self.statistics.n_bytes

    def labels(self, columns: Sequence[str]) -> list[str]:
        """Return what each input means, by the labels of the columns.

        Examples
        --------
        >>> import numpy as np
        >>> from virtualvector.features.encoder import Encoder
        >>> inputs = Encoder([True, False])
        >>> _ = inputs.learn([["NO", ""], np.array([1.0, 2.0])])
        >>> inputs.labels(["country", "age"])
        ['age', 'country = NO', 'country missing']
        """
        labels = [
            f"{label}: {part}" if part else label
            for k, label in enumerate(columns)
            if not self.categorical[k]
            for part in (PARTS if self.times[k] else ("",))
        ]
        of_numbers = np.arange(self.n_inputs)[self.places_of_numbers].tolist()
        places = dict(zip(of_numbers, labels, strict=True))
        places |= {
            place: f"{columns[k]} = {category}" if category else f"{columns[k]} missing"
            for k, known in self.categories.items()
            for category, place in known.items()
        }
        classes = self.statistics.classes
        places |= {
            place: f"{columns[k]}: odds of {classes[j + 1]}"
            for k, inputs in self.statistics.places.items()
            for j, place in enumerate(inputs)
            if classes is not None
        }
        return [places[place] for place in sorted(places)]

    def scale(self, columns: Sequence[Any]) -> Array:
        """Return rows as inputs, by what is known; nothing is learned.

        A row with new categories has more inputs than there are so far, as if it came.
        """
        return self._inputs(columns, learn=False)

    def learn(
        self, columns: Sequence[Any], labels: Labels | None = None, team: Team = ALONE
    ) -> Array:
        """Return rows as inputs, each by what is known when it comes; and learn them.

        The label of a row counts for later ones only; without labels there are no statistics.
        """
        return self._inputs(columns, True, labels, team)

    def row(self, categories: Sequence[str], label: Any = None) -> Array:
        """Return the inputs of one row by its categories; those of its numbers are zero.

        As `scale`; with a label, as `learn`.

        Examples
        --------
        >>> from virtualvector.features.encoder import Encoder
        >>> inputs = Encoder([False, True])
        >>> _ = inputs.learn([[1.0, 2.0], ["NO", "SE"]])
        >>> inputs.row(["DK"])
        array([[0. , 0. , 0. , 0.5]])
        """
        if not self.categories:
            return np.zeros((1, self.n_inputs))
        each = zip(self.categories, categories, strict=True)
        found = {k: categories_of([text]) for k, text in each}
        labels = None if label is None else np.array([label])
        return self._inputs_of_categories(found, labels is not None, labels)

    def entries_of(self, categories: Sequence[str], label: Any = None) -> dict[int, float] | None:
        """Return the inputs of the categories of one row by their places; with a label, learn it.

        As `row`, in less time; None, and nothing is learned, if there would be more inputs, or
        more to count, than there are.

        Examples
        --------
        >>> from virtualvector.features.encoder import Encoder
        >>> inputs = Encoder([False, True])
        >>> _ = inputs.learn([[1.0, 2.0], ["NO", "SE"]])
        >>> inputs.entries_of(["SE"]), inputs.entries_of(["DK"])
        ({2: 0.5}, None)
        """
        entries, cells = {}, {}
        for (k, known), text in zip(self.categories.items(), categories, strict=True):
            if text in known:
                entries[known[text]] = LENGTH
            elif k in self.statistics.counts and len(known) == SLOTS:
                cells[k] = cell_of(text)
            else:
                return None
        number = None if label is None else self.statistics.number_of(label)
        is_new = label is not None and number is None and self.categories and self.most_statistics
        if is_new or not self.statistics.has_all_inputs:
            return None
        written, self.statistics = self.statistics.of_row(cells, number)
        if label is not None and "" in categories:
            self.missing = self.missing.copy()
            each = zip(self.categories, categories, strict=True)
            self.missing[[k for k, text in each if text == ""]] += 1
        for row, k in enumerate(self.categories if label is not None else ()):
            if k in cells and not self.seen[row, cells[k]]:
                self.seen = self.seen.copy()
                self.seen[row, cells[k]] = True
        return entries | written

    def scaled_row(self, numbers: Sequence[float], learn: bool) -> Array:
        """Return the inputs of the numbers of one row; they are learned, if so."""
        return self._scaled(np.array([numbers], np.float64), learn)

    def numbers_of(self, columns: Sequence[Any]) -> Array:
        """Return the numbers of rows as they came, nan where missing; of times, their parts.

        Examples
        --------
        >>> from virtualvector.features.encoder import Encoder
        >>> Encoder([False, True, False]).numbers_of([[1.0], ["NO"], [3.0]])
        array([[1., 3.]])
        """
        numbers = [
            number
            for k, is_categorical in enumerate(self.categorical)
            if not is_categorical
            for number in (parts_of(columns[k]).T if self.times[k] else (columns[k],))
        ]
        empty = np.zeros((len(columns[0]), 0))
        return np.ascontiguousarray(np.transpose(numbers), np.float64) if numbers else empty

    def scaled_rows(self, rows: Array) -> Array:
        """Return the inputs of rows of nothing but numbers, by what is known, as `scale` does."""
        return self._scaled(np.ascontiguousarray(rows, np.float64), learn=False)

    def rescaled_rows(self, rows: Array) -> Array:
        """Return the inputs of rows of numbers that have been learned, on the scale of now."""
        return rescaled(rows, self.means, self.squares)

    def with_columns(self, kinds: Sequence[Kind], n_rows: int) -> Encoder:
        """Return the same with columns that come after so many rows, all of which lacked them.

        Their inputs come behind those that there are: of numbers at once, of categories as these
        come. To those before, a number was its mean, and a category none, not the missing one.

        Examples
        --------
        >>> import numpy as np
        >>> from virtualvector.features.encoder import Encoder
        >>> inputs = Encoder([True])
        >>> _ = inputs.learn([["NO", "SE"]])
        >>> wider = inputs.with_columns(["number", "category"], n_rows=2)
        >>> wider.learn([["SE", "DK"], np.array([1.0, 3.0]), ["a", "a"]]).round(2).tolist()
        [[0.0, 0.5, 0.0, 0.5, 0.0], [0.0, 0.0, 0.88, 0.5, 0.5]]
        """
        other, n_columns = self.twin(), len(self.categorical)
        for name in ("column_of_number", "places_of_numbers"):
            other.__dict__.pop(name, None)
        categorical, times = ([kind == each for kind in kinds] for each in ("category", "time"))
        fresh = Encoder(categorical, self.scaling, times, self.most_statistics)
        other.categorical = [*self.categorical, *categorical]
        other.times = [*self.times, *times]
        other.categories = self.categories | {n_columns + k: {} for k in fresh.categories}
        for name in ("counts", "means", "squares", "seen"):
            setattr(other, name, np.concatenate([getattr(self, name), getattr(fresh, name)]))
        other.missing = np.append(self.missing, np.full(len(kinds), n_rows))
        return other

    def twin(self) -> Encoder:
        """Return the same, which learns by itself."""
        other = object.__new__(type(self))
        other.__dict__ = dict(self.__dict__)
        return other

    def count_unseen(self, columns: Sequence[Any]) -> NDArray[np.int64]:
        """Return how many values of each column are of categories that have never been learned.

        Those of a column with more than eight are remembered in a table of fixed size: where many
        have been learned, some that are new are not counted.

        Examples
        --------
        >>> from virtualvector.features.encoder import Encoder
        >>> inputs = Encoder([True])
        >>> _ = inputs.learn([["NO", "SE"]])
        >>> inputs.count_unseen([["NO", "DK", ""]]).tolist()
        [1]
        """
        counts = np.zeros(len(self.categorical), np.int64)
        for row, k in enumerate(self.categories):
            found = categories_of(columns[k])
            cells = cells_of(found, self.categories[k])
            is_new = (cells >= 0) & ~self.seen[row, cells]
            is_new &= np.array([category != "" for category in found.categories])
            counts[k] = is_new[found.which].sum()
        return counts

    def _inputs(
        self, columns: Sequence[Any], learn: bool, labels: Labels | None = None, team: Team = ALONE
    ) -> Array:
        numbers = self._scaled(self.numbers_of(columns), learn, team)
        if not self.categories:
            return numbers
        found = {k: categories_of(columns[k]) for k in self.categories}
        inputs = self._inputs_of_categories(found, learn, labels)
        inputs[:, self.places_of_numbers] = numbers
        return inputs

    def _inputs_of_categories(
        self, found: dict[int, Categories], learn: bool, labels: Labels | None
    ) -> Array:
        observed = self._learn_categories(found, labels) if learn else None
        directions = self.most_statistics == 0
        inputs = write_categories(found, self.categories, self.n_inputs, directions)
        self.statistics = self.statistics.write(found, self.categories, observed, inputs)
        return inputs

    def _scaled(self, rows: Array, learn: bool, team: Team = ALONE) -> Array:
        if learn:
            self.missing = self.missing.copy()
            self.missing[self.column_of_number] += np.isnan(rows).sum(axis=0)
        if not self.scaling:
            return np.nan_to_num(rows, nan=0.0)
        known = self.counts, self.means, self.squares
        inputs, (self.counts, self.means, self.squares) = scaled(rows, known, learn, team)
        return inputs

    def _learn_categories(
        self, found: dict[int, Categories], labels: Labels | None
    ) -> NDArray[np.int64] | None:
        """Learn which categories there are; return the numbers of the classes that came."""
        self.missing = self.missing.copy()
        self.missing[list(found)] += [categories.n_missing for categories in found.values()]
        statistics, since = self.statistics, {}
        if labels is not None and self.most_statistics > 0:
            statistics, since_class = statistics.with_classes(labels)
            needed = {k: first_without(found[k], self.categories[k]) for k in found}
            needed |= dict.fromkeys(statistics.counts, 0)
            rows = {k: row for k, row in needed.items() if row is not None}
            statistics = statistics.with_columns(list(rows))
            since = {k: [max(row, first) for first in since_class] for k, row in rows.items()}
        self.categories, places = allot(
            found, self.categories, self.n_inputs, statistics.places, since
        )
        self.statistics = statistics._replace(places=places)
        for row, (k, categories) in enumerate(found.items()):
            cells = cells_of(categories, self.categories[k])
            if not self.seen[row, cells[cells >= 0]].all():
                self.seen = self.seen.copy()
                self.seen[row, cells[cells >= 0]] = True
        return None if labels is None or not self.most_statistics else statistics.numbers_of(labels)
