"""Checks of rows and labels whose messages say where the trouble is."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from virtualvector.kernels.triangular import Array
from virtualvector.learners.one_against_rest import Labels


def checked_rows(estimator: BaseEstimator, X: Any) -> Array:
    """Return rows to predict as a contiguous array of finite numbers."""
    rows: Array = _as_numbers(estimator, X, reset=False)
    _check_finite(rows, estimator)
    return rows


def checked_rows_and_labels(
    estimator: BaseEstimator, X: Any, y: Any, reset: bool
) -> tuple[Array, Labels]:
    """Return rows and labels to learn; bad ones leave the estimator as it was."""
    _check_no_label_is_missing(y)
    before = dict(vars(estimator))
    try:
        rows, labels = _as_numbers(estimator, X, y=y, reset=reset)
        _check_finite(rows, estimator)
        check_classification_targets(labels)
    except Exception:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise
    return rows, labels


def check_known(labels: Labels, classes: Labels) -> None:
    """Raise for the first label that is not among the declared classes."""
    unknown = ~np.isin(labels, classes)
    if unknown.any():
        row = int(np.argmax(unknown))
        raise ValueError(
            f"y contains the label {labels[row]!r} at row {row}; expected one of the classes "
            f"declared before: {list(classes)!r}."
        )


def check_same_kind(labels: Labels, classes: Labels) -> None:
    """Raise if new labels cannot be compared with the classes seen so far."""
    if len(classes) and (labels.dtype.kind in "OUS") != (classes.dtype.kind in "OUS"):
        raise ValueError(
            f"y contains labels like {labels[0]!r}; expected the same kind as the classes seen "
            f"so far: {list(classes)!r}."
        )


def _as_numbers(estimator: BaseEstimator, X: Any, **options: Any) -> Any:
    try:
        return validate_data(
            estimator, X, dtype=np.float64, order="C", ensure_all_finite=False, **options
        )
    except ValueError as error:
        if "could not convert" in str(error):
            _complain_about_text(X)
        raise


def _complain_about_text(X: Any) -> None:
    names = getattr(X, "columns", None)
    for (row, column), entry in np.ndenumerate(np.asarray(X, dtype=object)):
        try:
            float(entry)
        except (TypeError, ValueError):
            name = "" if names is None else f" ({names[column]!r})"
            raise ValueError(
                f"Input X has {entry!r} at row {row}, column {column}{name}; expected a number."
            ) from None


def _check_finite(rows: Array, estimator: BaseEstimator) -> None:
    finite = np.isfinite(rows)
    if finite.all():
        return
    row, column = np.argwhere(~finite)[0]
    found = "NaN" if np.isnan(rows[row, column]) else "infinity"
    names = getattr(estimator, "feature_names_in_", None)
    name = "" if names is None else f" ({names[column]!r})"
    raise ValueError(
        f"Input X contains {found} at row {row}, column {column}{name}; expected finite numbers."
    )


def _check_no_label_is_missing(y: Any) -> None:
    labels = np.asarray(y)
    if y is None or labels.dtype.kind not in "fO":
        return
    # A missing label is None, pandas' NA, or a nan, which differs from itself.
    missing = [
        label is None or type(label).__name__ == "NAType" or bool(np.any(label != label))
        for label in labels.ravel()
    ]
    if any(missing):
        raise ValueError(
            f"Input y contains NaN: the label of row {missing.index(True)} is missing; "
            "expected a class for every row."
        )
