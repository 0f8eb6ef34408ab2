"""Checks of rows and labels whose messages say where the trouble is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import get_tags
from sklearn.utils.validation import column_or_1d

from virtualvector.dataframes import TimesFound, validated
from virtualvector.learners.sparse_rows import SparseTable
from virtualvector.types import Labels
from virtualvector.values import is_missing, number_in, spelled

_TRUTH = {"true": "1", "1": "true", "false": "0", "0": "false"}  # also in numpy

Mask = np.ndarray[tuple[int], np.dtype[np.bool_]]


def checked_rows(estimator: BaseEstimator, X: Any, reset: bool = False) -> Any:
    """Return rows to predict as a contiguous array of finite numbers, or as a sparse table."""
    return _finite(_as_numbers(estimator, X, reset=reset), estimator)


def checked_rows_and_labels(
    estimator: BaseEstimator, X: Any, y: Any, reset: bool
) -> tuple[Any, Labels]:
    """Return rows and labels to learn."""
    y = _plain(y)
    _check_labels(y, "y")
    rows, labels = _as_numbers(estimator, X, y=y, reset=reset)
    _check_labels(labels, "y")
    return _finite(rows, estimator), labels


def checked_labels(y: Any, n_rows: int) -> Labels:
    """Return the labels of so many rows."""
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None")
    y = _plain(y)
    _check_labels(y, "y")
    if type(y) is np.ndarray and y.ndim == 1:
        labels: Labels = y
    else:
        labels = column_or_1d(y, warn=True)
        _check_labels(labels, "y")
    if len(labels) != n_rows:
        raise ValueError(
            "Found input variables with inconsistent numbers of samples: X has "
            f"{n_rows} rows and y has {len(labels)}."
        )
    return labels


def checked_classes(classes: Any) -> Labels:
    """Return the classes that will ever come, sorted."""
    classes = _plain(classes)
    _check_labels(classes, "classes")
    declared = np.asarray(classes)
    if declared.ndim != 1 or len(declared) == 0:
        raise ValueError(f"Input classes is {classes!r}; expected a list of all classes.")
    return np.unique(declared)


def check_known(labels: Labels, classes: Labels) -> None:
    """Raise for the first label that is not among classes that are all there will be."""
    unknown = ~np.isin(labels, classes)
    if unknown.any():
        row = int(np.argmax(unknown))
        _refuse_label(labels, row, classes, "one of the classes known from the start")


def check_same_classes(declared: Labels | None, classes: Labels) -> None:
    """Raise if other classes are declared than there are."""
    if declared is not None and not np.array_equal(declared, classes):
        raise ValueError(
            f"`classes={declared.tolist()!r}` is not the same as on last call to partial_fit, "
            f"was: {classes.tolist()!r}."
        )


def as_learned(labels: Labels, classes: Labels, may_be_new: bool = False) -> Labels:
    """Return labels as the classes that they mean, in whatever type they come.

    A label that means none of them is of a new class if that may be, and an error otherwise.

    Examples
    --------
    >>> import numpy as np
    >>> from virtualvector.learners.validation import as_learned
    >>> as_learned(np.array(["1", "0"]), np.array([0, 1])).tolist()
    [1, 0]
    >>> as_learned(np.array([True, False]), np.array(["false", "true"])).tolist()
    ['true', 'false']
    """
    alike = _are_texts(labels) == _are_texts(classes)
    if len(classes) == 0:
        return labels
    if alike and np.isin(labels, classes).all():
        is_same = labels.dtype.kind == classes.dtype.kind
        return labels if is_same else classes[np.searchsorted(classes, labels)]
    known = {spelled(label): label for label in classes.tolist()}
    values, which = np.unique(labels, return_inverse=True)
    meant = [_meant(label, known) for label in values.tolist()]
    if None in meant and not may_be_new:
        row = int(np.argmax(np.isin(which, [k for k, each in enumerate(meant) if each is None])))
        _refuse_label(labels, row, classes, "one of the classes known from the start")
    if None in meant and not alike:
        meant = [
            _retyped(v, classes) if m is None else m for v, m in zip(values, meant, strict=True)
        ]
        unlike = [k for k, each in enumerate(meant) if each is None]
        if unlike:
            row = int(np.argmax(np.isin(which, unlike)))
            _refuse_label(labels, row, classes, "the same kind as the classes seen so far")
    found = [v if m is None else m for v, m in zip(values.tolist(), meant, strict=True)]
    return np.array(found, dtype=object if classes.dtype.kind == "O" else None)[which]


def _meant(label: Any, known: dict[str, Any]) -> Any:
    """Return the class that a label means, or None."""
    text = spelled(label)
    return known.get(text, known.get(_TRUTH.get(text, text)))


def _retyped(label: Any, classes: Labels) -> Any:
    """Return a label that is new in the type of the classes, or None if it cannot be."""
    text = spelled(label)
    if _are_texts(classes):  # which are numbers all the same, if they came from a file
        return text if all(number_in(known) is not None for known in classes) else None
    number = number_in(text)
    return int(number) if number is not None and number.is_integer() else None


def _are_texts(labels: Labels) -> bool:
    return labels.dtype.kind in "OUS"


def _refuse_label(labels: Labels, row: int, classes: Labels, expected: str) -> NoReturn:
    raise ValueError(
        f"Input y has the label {labels.tolist()[row]!r} at row {row}; expected {expected}: "
        f"{classes.tolist()!r}."
    )


def _as_numbers(estimator: BaseEstimator, X: Any, **options: Any) -> Any:
    if sparse.issparse(X) and get_tags(estimator).input_tags.sparse:  # else it is refused below
        _check_indices(X)
        options |= {"accept_sparse": "csr"}
    try:
        return validated(
            estimator, X, dtype=np.float64, order="C", ensure_all_finite=False, **options
        )
    except TimesFound:
        raise
    except (TypeError, ValueError, OverflowError):
        _check_every_cell(X, estimator)
        raise


def _check_every_cell(X: Any, estimator: BaseEstimator) -> None:
    """Raise for the first cell of a table that is no number."""
    cells = np.asarray(X)
    if cells.ndim != 2 or cells.dtype.kind not in "OUS":
        return
    for row, entries in enumerate(cells.tolist()):
        for column, cell in enumerate(entries):
            try:
                float(np.nan if cell is None else cell)  # as numpy does
            except (TypeError, ValueError, OverflowError) as error:
                raise type(error)(
                    f"Input X has {cell!r} at {_place(row, column, estimator)}; expected a number: "
                    f"{error}."
                ) from None


def _check_indices(X: Any) -> None:
    """Raise for places of a sparse table that are not in it: whoever built it by hand may err."""
    if hasattr(X, "check_format"):
        try:
            X.check_format(full_check=True)
        except ValueError as error:
            raise ValueError(
                f"Input X is a sparse table of shape {X.shape} whose indices do not fit: {error}; "
                "expected indices within its shape."
            ) from None


def _finite(rows: Any, estimator: BaseEstimator) -> Any:
    """Return rows of finite numbers; a sparse table with each place once, in order."""
    is_sparse = sparse.issparse(rows)
    if is_sparse:
        rows = sparse.csr_array(rows, copy=not rows.has_canonical_format)
        rows.sum_duplicates()
    numbers = rows.data if is_sparse else rows
    finite = np.isfinite(numbers)
    if not finite.all():
        first = tuple(np.argwhere(~finite)[0])
        number, (row, column) = numbers[first], first * 2 if is_sparse else first
        if is_sparse:
            row = int(np.searchsorted(rows.indptr, first[0], side="right")) - 1
            column = rows.indices[first[0]]
        found = "NaN" if np.isnan(number) else "infinity"
        raise ValueError(
            f"Input X contains {found} at {_place(row, column, estimator)}; expected finite "
            "numbers."
        )
    return SparseTable(rows) if is_sparse else rows


def _place(row: int, column: int, estimator: BaseEstimator) -> str:
    names = getattr(estimator, "feature_names_in_", None)
    return f"row {row}, column {column}" + ("" if names is None else f" ({names[column]!r})")


def _plain(y: Any) -> Any:
    """Return truth values and whole numbers of pandas' own types as numpy's.

    Others would make floats of columns that may have missing values, but have none.
    """
    if isinstance(getattr(y, "dtype", np.dtype(object)), np.dtype):
        return y
    labels = np.asarray(y)
    if labels.ndim != 1 or labels.dtype.kind not in "biuO" or not len(labels):
        return y
    kinds = {type(label) for label in labels.tolist()}
    return np.array(labels.tolist()) if kinds in ({bool}, {int}) else y


def _check_labels(y: Any, name: str) -> None:
    """Raise for the first label that cannot be a class; shapes are for others to check."""
    # A list is looked at before numpy makes text of everything in it.
    labels = np.asarray(y, dtype=None if hasattr(y, "dtype") else object)
    if labels.ndim != 1 or all(type(label) is str for label in labels.flat):
        return
    missing = _where(is_missing, labels) if labels.dtype.kind == "O" else labels != labels
    if missing.any():
        raise ValueError(
            f"Input {name} contains NaN: the label at row {np.argmax(missing)} is missing; "
            "expected a class."
        )
    unlike = _unlike_classes(labels)
    if unlike.all():
        labels = np.asarray(y)
        unlike = _unlike_classes(labels)
    if unlike.any():
        row = int(np.argmax(unlike))
        raise ValueError(
            f"Unknown label type: input {name} has {labels.tolist()[row]!r} at row {row}, among "
            f"labels of type {labels.dtype}; expected only texts, or only integers or booleans."
        )


def _unlike_classes(labels: Labels) -> Mask:
    """Whether each label is neither text nor a whole number nor a date."""
    kind = labels.dtype.kind
    if kind == "O":
        return ~_where(lambda label: isinstance(label, str), labels)
    if kind == "f":
        return np.not_equal(labels, np.floor(labels)) | np.isinf(labels)
    return np.full(len(labels), kind not in "biuUmMc")  # scikit-learn refuses complex numbers


def _where(condition: Callable[[Any], bool], labels: Labels) -> Mask:
    return np.array([condition(label) for label in labels], bool)
