"""The columns of any table, and what each of them holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from itertools import islice
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from virtualvector.dataframes import floats_of, is_table, labels_of, without_dictionaries
from virtualvector.doubts import doubt_in
from virtualvector.types import Array
from virtualvector.values import (
    BLANKS,
    PEEK,
    USUAL,
    Kind,
    Marks,
    Times,
    category,
    in_microseconds,
    is_missing,
    is_one_value,
    kind_of,
    number_in,
    time_of,
)


class Columns(NamedTuple):
    """The columns of a table: floats, times in microseconds, or texts, "" where one is missing."""

    values: list[Any]
    kinds: list[Kind]
    new: tuple[str, ...] = ()  # the names of the last ones, which are not known yet

    @property
    def categorical(self) -> list[bool]:
        """Which columns are categorical."""
        return [kind == "category" for kind in self.kinds]

    @property
    def times(self) -> list[bool]:
        """Which columns hold dates or times."""
        return [kind == "time" for kind in self.kinds]

    def by_new(self) -> Iterator[tuple[NDArray[np.int64], Columns]]:
        """Yield rows that have a value in the same of the new columns, and their columns alone."""
        n_known = len(self.values) - len(self.new)
        there = np.column_stack([there_in(values) for values in self.values[n_known:]])
        patterns, which = np.unique(there, axis=0, return_inverse=True)
        for number, pattern in enumerate(patterns):
            rows = np.flatnonzero(which.ravel() == number)
            kept = [*range(n_known), *(n_known + np.flatnonzero(pattern)).tolist()]
            new = tuple(np.array(self.new, dtype=object)[pattern].tolist())
            values, kinds = [self.values[k][rows] for k in kept], [self.kinds[k] for k in kept]
            yield rows, Columns(values, kinds, new)


def columns_of(
    X: Any,
    kinds: Sequence[Kind | None] | None = None,
    categorical: Sequence[bool] | None = None,
    marks: Marks = USUAL,
) -> Columns:
    """Return the columns of a table or an array.

    Parameters
    ----------
    X : data frame or array of shape (n_rows, n_columns)
        Texts, categories and truth values are categorical; dates are times, also as texts; the
        rest has to be numbers, nan where one is missing.
    kinds : sequence of str or None, optional
        What each column holds, if that is known; otherwise it is found out.
    categorical : sequence of bool, optional
        Which of the other columns are categorical, if only that is known.
    marks : Marks
        Texts that stand for a missing value.

    Returns
    -------
    Columns
        Values in their one spelling.

    Examples
    --------
    >>> import pandas as pd
    >>> from virtualvector.features.tables import columns_of
    >>> columns_of(pd.DataFrame({"age": [31, None], "city": ["Rome", "Oslo"]})).kinds
    ['number', 'category']
    """
    plain = not marks.numbers and not any(categorical or ())
    array = floats_of(X) if is_table(X) else np.asarray(X)
    if array is not None and plain and _all_numbers(array, kinds):
        return Columns(list(array.T), ["number"] * array.shape[1])
    X = X if is_table(X) else array
    labels, raw = _raw(X)
    known: list[Kind] = []
    for k, (label, column) in enumerate(zip(labels, raw, strict=True)):
        kind = None if kinds is None else kinds[k]
        chosen = None if categorical is None else categorical[k]
        known.append(kind or _kind_of(column, label, _type(X, label), chosen, marks))
    convert = {"category": _categories, "number": _numbers, "time": _times}
    values = [
        convert[kind](column, label, marks)
        for column, label, kind in zip(raw, labels, known, strict=True)
    ]
    return Columns(values, known)


def aligned(
    X: Any, kinds: Mapping[str, Kind], categorical: Set[str] | None, marks: Marks
) -> Columns:
    """Return the columns of a table by their names: those known in their order, new ones behind.

    New ones are sorted: rows that are equal give equal results, whatever their order. A known
    column that is not there is missing. A new one in which all is missing is not there: it comes
    when it has a value, by which it is known what it holds.

    Parameters
    ----------
    X : data frame
        Whose columns have names.
    kinds : mapping of str to str
        What each column holds that is known.
    categorical : set of str, optional
        The new columns that are categorical, if that is known.
    marks : Marks
        Texts that stand for a missing value.

    Examples
    --------
    >>> import pandas as pd
    >>> from virtualvector.features.tables import aligned
    >>> from virtualvector.values import USUAL
    >>> table = pd.DataFrame({"city": ["Rome", None], "none": [None, None], "age": [31, 40]})
    >>> found = aligned(table, {"size": "number", "age": "number"}, None, USUAL)
    >>> [values.tolist() for values in found.values], found.new
    ([[nan, nan], [31.0, 40.0], ['Rome', '']], ('city',))
    """
    labels = labels_of(X)
    chosen = None if categorical is None else [label in categorical for label in labels]
    found = columns_of(X, [kinds.get(label) for label in labels], chosen, marks)
    values, found_kinds = (dict(zip(labels, each, strict=True)) for each in found[:2])
    n_rows = len(X)
    new = [label for label in sorted({*labels} - {*kinds}) if there_in(values[label]).any()]
    known = [values[k] if k in values else _missing(kind, n_rows) for k, kind in kinds.items()]
    return Columns(
        known + [values[label] for label in new],
        [*kinds.values(), *(found_kinds[label] for label in new)],
        tuple(new),
    )


def first_texts(X: Any, labels: Sequence[Any], marks: Marks = USUAL) -> dict[Any, list[str]]:
    """Return the first values of those columns in which all are texts, and no library's categories.

    Examples
    --------
    >>> from virtualvector.dataframes import Record
    >>> from virtualvector.features.tables import first_texts
    >>> first_texts(Record({"city": ["Rome", None, "Oslo"], "age": [31, 30, 29]}), ["city", "age"])
    {'city': ['Rome', 'Oslo']}
    """
    table = without_dictionaries(X) if is_table(X) else None
    found = {}
    for label in labels:
        column = X[:, label] if table is None else _array(table[label])
        if column.dtype.kind in "OUS" and _type(X, label) != "category":
            values = _first_values(column, marks)
            if values and all(isinstance(value, str) for value in values):
                found[label] = values
    return found


def there_in(column: Any) -> NDArray[np.bool_]:
    """Return where a column of `Columns` has a value.

    Examples
    --------
    >>> import numpy as np
    >>> from virtualvector.features.tables import there_in
    >>> there_in(np.array([1.0, np.nan])), there_in(np.array(["Rome", ""], dtype=object))
    (array([ True, False]), array([ True, False]))
    """
    if column.dtype.kind == "O":
        there: NDArray[np.bool_] = column.astype(bool)
    else:
        there = ~(np.isnat(column) if column.dtype.kind == "M" else np.isnan(column))
    return there


def _missing(kind: Kind, n_rows: int) -> Any:
    """Return a column without a value."""
    if kind == "category":
        return np.full(n_rows, "", dtype=object)
    return np.full(n_rows, np.nan) if kind == "number" else np.full(n_rows, "NaT", "M8[us]")


def categorical_columns(
    categorical: Any,
    n_columns: int,
    labels: Sequence[str] | None,
    may_come: bool = False,
    what: str = "categorical_features",
) -> list[bool]:
    """Return which columns are categorical, told by their labels, by their places, or by a mask.

    If columns ``may_come`` later, a label need not be there. ``what`` is what tells it, for errors.

    Examples
    --------
    >>> from virtualvector.features.tables import categorical_columns
    >>> categorical_columns(["city"], 2, ["age", "city"])
    [False, True]
    >>> categorical_columns([0], 2, None)
    [True, False]
    """
    chosen = np.atleast_1d(np.asarray(categorical))
    if chosen.dtype.kind == "b" and chosen.shape == (n_columns,):
        return [bool(is_categorical) for is_categorical in chosen]
    by_label = chosen.dtype.kind in "OUS"
    there = list(range(n_columns)) if not by_label else [] if labels is None else list(labels)
    for each in chosen.tolist():
        if each not in there and not (by_label and may_come):
            known = there if by_label else f"0 to {n_columns - 1}"
            raise ValueError(f"{what} has {each!r}; expected columns of X, which are {known}.")
    return [each in chosen for each in there] if len(chosen) else [False] * n_columns


def _type(X: Any, label: Any) -> str:
    return str(X[label].dtype) if hasattr(X, "dtypes") else ""


def _kind_of(column: Any, label: Any, type_: str, chosen: bool | None, marks: Marks) -> Kind:
    """Return what a column holds; if it is said whether it is categorical, accordingly."""
    is_categorical = type_ == "category"
    is_chosen = is_categorical if chosen is None else chosen
    found: Kind = "category" if is_categorical else _kind(column, label, marks, is_chosen)
    if chosen is None:
        return found
    return "category" if chosen else "number" if found == "category" else found


def _all_numbers(X: Any, kinds: Sequence[Kind | None] | None) -> bool:
    """Whether an array can be taken as it is."""
    expected = kinds is None or all(kind in ("number", None) for kind in kinds)
    return expected and X.dtype == np.float64 and not np.isinf(X).any()


def _raw(X: Any) -> tuple[list[Any], list[Any]]:
    """Return the labels of the columns, and the columns as arrays."""
    if not is_table(X):
        return list(range(X.shape[1])), list(X.T)
    labels = labels_of(X)
    X = without_dictionaries(X)
    return labels, [_array(X[label]) for label in labels]


def _array(column: Any) -> Any:
    """Return a column as an array; of pandas' times with a zone, those in UTC."""
    if getattr(column.dtype if hasattr(column, "dtype") else None, "tz", None) is not None:
        column = column.dt.tz_convert(None)
    return np.asarray(column)


def _kind(column: Any, label: Any, marks: Marks, is_chosen: bool) -> Kind:
    kind = column.dtype.kind
    if kind == "m":
        _refuse_durations(label)
    if kind == "c":
        _refuse(column[0], 0, label, "a number")
    if kind in "bM":
        return "category" if kind == "b" else "time"
    if kind not in "OUS":
        return "number"
    there = _first_values(column, marks)
    found = kind_of(there)
    if any(hasattr(value, "to_timestamp") for value in there) and not is_chosen:
        raise ValueError(
            f"Input X has periods in column {label!r}; expected times, as .dt.to_timestamp() makes "
            "of them; or categorical_features with the column."
        )
    doubt = doubt_in([text for text in there if isinstance(text, str)])
    if doubt is not None and found == "category" and not is_chosen:
        raise ValueError(
            f"Input X, column {label!r}: {doubt}; or categorical_features with the column."
        )
    return found


def _first_values(column: Any, marks: Marks) -> list[Any]:
    return [*islice((v for v in column.tolist() if not _is_gap(v, marks)), PEEK)]


def _is_gap(value: Any, marks: Marks) -> bool:
    return value.strip(BLANKS) in marks if isinstance(value, str) else is_missing(value)


def _categories(column: Any, label: Any, marks: Marks) -> Any:
    if column.dtype.kind == "M":
        column = _times(column, label, marks)
    elif column.dtype.kind == "f" and column.dtype.itemsize < 8:
        column = column.astype(str)  # as a file has it: 0.1 rather than 0.10000000149011612
    values = column.tolist()
    if {*map(type, values)} == {str}:  # the usual case, in no loop of Python's own
        texts = {text: category(text, marks) for text in dict.fromkeys(values)}
        spelled = [*map(texts.__getitem__, values)]
    else:
        for row, value in enumerate(values):
            if value is not None and not _is_text(value) and not is_one_value(value):
                raise ValueError(
                    f"Input X has {value!r:.80} at row {row}, column {label!r}; expected one value "
                    "in each cell, such as a text, a number or a date."
                )
        texts = {v: category(v, marks) for v in dict.fromkeys(filter(_is_text, values))}
        spelled = [texts[v] if _is_text(v) else category(v, marks) for v in values]
    return np.array(spelled, dtype=object)


def _is_text(value: Any) -> bool:
    return type(value) is str


def _numbers(column: Any, label: Any, marks: Marks) -> Array:
    kind = column.dtype.kind
    if kind in "OUS":
        numbers = np.array(
            [_number(value, row, label, marks) for row, value in enumerate(column.tolist())], float
        )
    elif kind in "mMbc":
        _refuse(column.tolist()[0] if kind == "b" else column[0], 0, label, "a number")
    else:
        numbers = np.asarray(column, dtype=np.float64)
    if marks.numbers:
        numbers = np.where(np.isin(numbers, marks.numbers), np.nan, numbers)
    infinite = np.isinf(numbers)
    if infinite.any():
        raise ValueError(
            f"Input X contains infinity at row {int(np.argmax(infinite))}, column {label!r}; "
            "expected finite numbers, or nan where one is missing."
        )
    return numbers


def _number(value: Any, row: int, label: Any, marks: Marks) -> float:
    if isinstance(value, str):
        number = np.nan if _is_gap(value, marks.of_numbers) else number_in(value)
        return _refuse(value, row, label, "a number") if number is None else number
    if is_missing(value):
        return np.nan
    try:
        if not isinstance(value, bool | np.bool_):
            return float(value)
    except (TypeError, ValueError):
        pass
    return _refuse(value, row, label, "a number")


def _times(column: Any, label: Any, marks: Marks) -> Times:
    if column.dtype.kind == "M":
        try:
            return in_microseconds(column)
        except OverflowError as error:
            raise ValueError(f"Input X, column {label!r}: {error}.") from None
    times = np.full(len(column), "NaT", "M8[us]")
    for row, value in enumerate(column.tolist()):
        if not _is_gap(value, marks.of_numbers):
            time = time_of(value)
            if time is None:
                _refuse(value, row, label, "a date or time as 2021-05-06 or 2021-05-06T07:08:09")
            times[row] = np.datetime64(time, "us")
    return times


def _refuse(value: Any, row: int, label: Any, expected: str) -> NoReturn:
    raise ValueError(
        f"Input X has {value!r} at row {row}, column {label!r}; expected {expected}, as in the "
        "rows before; or None where it is missing; or categorical_features with the column."
    )


def _refuse_durations(label: Any) -> NoReturn:
    raise ValueError(
        f"Input X has durations in column {label!r}; expected numbers, such as of seconds."
    )
