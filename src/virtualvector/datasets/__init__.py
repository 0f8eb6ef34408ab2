"""The public data sets of the paper's experiments, shipped with the package.

Every loader follows scikit-learn's: it returns a `Bunch` with

- ``data`` and ``target``: the inputs and the integer codes of the classes, as arrays, or as a
  pandas DataFrame and Series with ``as_frame=True``;
- ``feature_names`` and ``target_names``: the names of the columns and, by code, of the classes;
- ``frame``: inputs and target in one DataFrame with ``as_frame=True``, otherwise None;
- ``DESCR`` and ``filename``: what the data is and whom to cite, and the path of its file.

A learner that sees its rows once must not see them sorted by class, as some of the files are:
pass ``random_state`` to shuffle.
"""

from __future__ import annotations

from typing import Any

from sklearn.utils import Bunch

from virtualvector.datasets._reading import load

__all__ = ["load_ionosphere", "load_spambase", "load_thyroid"]


def load_spambase(
    *, return_X_y: bool = False, as_frame: bool = False, random_state: int | None = None
) -> Bunch | tuple[Any, Any]:
    """Load Spambase: tell spam (1) from ham (0) by the words and the capitals of an e-mail.

    ==================  ======================
    Rows                4601
    Inputs              57, real, not negative
    Rows of each class  ham 2788, spam 1813
    ==================  ======================

    Parameters
    ----------
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a Bunch.
    as_frame : bool, default=False
        Return pandas objects instead of arrays.
    random_state : int or None, default=None
        Seed to shuffle the rows with. None keeps the order of the file: all spam first.

    Returns
    -------
    Bunch or tuple
        The data set, or its ``data`` and ``target`` only.

    Examples
    --------
    >>> from virtualvector.datasets import load_spambase
    >>> mails = load_spambase()
    >>> mails.data.shape
    (4601, 57)
    >>> mails.target_names.tolist()
    ['ham', 'spam']
    """
    return load(
        "spambase.csv.gz",
        {"0": "ham", "1": "spam"},
        return_X_y=return_X_y,
        as_frame=as_frame,
        random_state=random_state,
    )


def load_thyroid(
    *,
    two_class: bool = False,
    return_X_y: bool = False,
    as_frame: bool = False,
    random_state: int | None = None,
) -> Bunch | tuple[Any, Any]:
    """Load new-thyroid: tell how a thyroid functions from five laboratory tests.

    ==================  ==============================
    Rows                215
    Inputs              5, real
    Rows of each class  normal 150, hyper 35, hypo 30
    ==================  ==============================

    Parameters
    ----------
    two_class : bool, default=False
        Pose the paper's problem, normal (0) against the rest (1, named abnormal).
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a Bunch.
    as_frame : bool, default=False
        Return pandas objects instead of arrays.
    random_state : int or None, default=None
        Seed to shuffle the rows with. None keeps the order of the file: sorted by class.

    Returns
    -------
    Bunch or tuple
        The data set, or its ``data`` and ``target`` only.

    Examples
    --------
    >>> import numpy as np
    >>> from virtualvector.datasets import load_thyroid
    >>> patients = load_thyroid()
    >>> patients.target_names.tolist()
    ['normal', 'hyper', 'hypo']
    >>> X, y = load_thyroid(two_class=True, return_X_y=True)
    >>> np.bincount(y).tolist()
    [150, 65]
    """
    if two_class:
        classes = {"normal": "normal", "hyper": "abnormal", "hypo": "abnormal"}
    else:
        classes = {"normal": "normal", "hyper": "hyper", "hypo": "hypo"}
    return load(
        "new_thyroid.csv.gz",
        classes,
        return_X_y=return_X_y,
        as_frame=as_frame,
        random_state=random_state,
    )


def load_ionosphere(
    *, return_X_y: bool = False, as_frame: bool = False, random_state: int | None = None
) -> Bunch | tuple[Any, Any]:
    """Load Ionosphere: tell good radar returns (g, 1) from bad ones (b, 0).

    ==================  ============
    Rows                351
    Inputs              34, real
    Rows of each class  b 126, g 225
    ==================  ============

    Parameters
    ----------
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a Bunch.
    as_frame : bool, default=False
        Return pandas objects instead of arrays.
    random_state : int or None, default=None
        Seed to shuffle the rows with. None keeps the order of the file.

    Returns
    -------
    Bunch or tuple
        The data set, or its ``data`` and ``target`` only.

    Examples
    --------
    >>> from virtualvector.datasets import load_ionosphere
    >>> X, y = load_ionosphere(return_X_y=True, as_frame=True, random_state=0)
    >>> X.shape, y.name
    ((351, 34), 'target')
    """
    return load(
        "ionosphere.csv.gz",
        {"b": "b", "g": "g"},
        return_X_y=return_X_y,
        as_frame=as_frame,
        random_state=random_state,
    )
