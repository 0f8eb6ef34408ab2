"""Columns that come later: a name that a learner does not know is an error, or a new column."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence, Set
from typing import Any

from sklearn.utils._param_validation import StrOptions

ADD, ERROR = "add", "error"  # what `new_columns` may be
CONSTRAINT = [StrOptions({ADD, ERROR})]

# That a linear learner may come to have: its covariance takes 128 MiB then, for each posterior.
MOST_COLUMNS = 4096


def new_labels(labels: Sequence[Any], known: Set[str]) -> list[str]:
    """Return the labels of columns that are not known; raise if one is there twice.

    They are sorted: dicts that are equal give equal results, whatever their order.

    Examples
    --------
    >>> from virtualvector.learners.columns import new_labels
    >>> new_labels(["weight", "age", "size"], {"age"})
    ['size', 'weight']
    """
    twice = [label for label, n in Counter(labels).items() if n > 1]
    if twice:
        raise ValueError(f"Found the columns {twice!r:.200} twice; expected each name once.")
    return sorted(label for label in labels if label not in known)


def check_width(n_columns: int) -> None:
    """Raise if there would be more columns than memory is taken for."""
    if n_columns > MOST_COLUMNS:
        raise ValueError(
            f"Found {n_columns:,} columns, some of them new; expected at most {MOST_COLUMNS:,}, "
            "for which memory is taken; or all of them in the first call."
        )
