"""In which order `fit` visits the rows of a table, which is no stream."""

from __future__ import annotations

from typing import Any

from sklearn.utils import check_random_state


def visiting_order(n_rows: int, shuffle: bool, random_state: int) -> Any:
    """Return what picks rows in the order in which to learn them; None: the one they have.

    What is learned last counts for more where something is forgotten, and what comes in blocks is
    taken for a stream that changes. A table may be sorted by anything, most often by class.

    Examples
    --------
    >>> import numpy as np
    >>> from virtualvector.learners.order import visiting_order
    >>> rows = np.arange(5)
    >>> rows[visiting_order(5, shuffle=True, random_state=0)].tolist()
    [2, 0, 1, 3, 4]
    >>> visiting_order(5, shuffle=False, random_state=0) is None  # as they come
    True
    """
    # Not a Generator, whose numbers may differ between versions of numpy.
    return check_random_state(random_state).permutation(n_rows) if shuffle else None
