"""From a file to a model.

Learners are imported only when one is needed: a header is read without them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from virtualvector.persistence.disk import read_file
from virtualvector.persistence.document import from_bytes, read_document
from virtualvector.persistence.errors import BadModelFile, Misfit, shortly
from virtualvector.persistence.header import split
from virtualvector.persistence.upgrade import upgraded

if TYPE_CHECKING:
    from virtualvector.persistence.mixin import SavableMixin


class Saved(NamedTuple):
    """What a file holds.

    Attributes
    ----------
    model : estimator
        The model, as `load` returns it.
    about : dict or None
        The notes that it was saved with.
    header : dict
        What `read_header` returns.

    Examples
    --------
    >>> import tempfile
    >>> from virtualvector import ADFClassifier
    >>> from virtualvector.persistence import read
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ADFClassifier().fit([[0.0], [1.0]], ["no", "yes"]).save(f"{folder}/small.vvm")
    ...     model, about, header = read(f"{folder}/small.vvm")
    >>> type(model).__name__ == header["learner"]
    True
    """

    model: Any
    about: dict[str, Any] | None
    header: dict[str, Any]


def load(path: str | PathLike[str]) -> Any:
    """Return the model that a file holds, ready to predict and to go on learning.

    It is the same, to the last bit, as if it had never been saved. Nothing in the file is run, and
    a file that is not whole or cannot be a model is refused.

    Parameters
    ----------
    path : str or path
        What `model.save` wrote.

    Returns
    -------
    estimator
        The model.

    Raises
    ------
    BadModelFile
        A ValueError: the file holds no model.

    Examples
    --------
    >>> import tempfile
    >>> import virtualvector
    >>> from virtualvector.datasets import load_ionosphere
    >>> X, y = load_ionosphere(return_X_y=True, random_state=0)
    >>> model = virtualvector.VVMClassifier(margin_noise=0.5).fit(X[:250], y[:250])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(f"{folder}/radar.vvm")
    ...     again = virtualvector.load(f"{folder}/radar.vvm")
    >>> bool((again.predict_proba(X) == model.predict_proba(X)).all())
    True
    """
    return read(path).model


def save(
    model: SavableMixin, path: str | PathLike[str], about: dict[str, Any] | None = None
) -> None:
    """Write a model to a file as `model.save` does, with notes about it, which have to be JSON.

    Examples
    --------
    >>> import tempfile
    >>> from virtualvector import ADFClassifier
    >>> from virtualvector.persistence import read, save
    >>> model = ADFClassifier().fit([[0.0], [1.0]], ["no", "yes"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(model, f"{folder}/small.vvm", about={"learned for": "a test"})
    ...     read(f"{folder}/small.vvm").about
    {'learned for': 'a test'}
    """
    from virtualvector.persistence import mixin

    mixin.save(model, path, about)


def read(path: str | PathLike[str]) -> Saved:
    """Return the model that a file holds, the notes it was saved with, and its header.

    Examples
    --------
    >>> import tempfile
    >>> from virtualvector import ADFClassifier
    >>> from virtualvector.persistence import read
    >>> model = ADFClassifier().fit([[0.0], [1.0]], ["no", "yes"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(f"{folder}/small.vvm")
    ...     saved = read(f"{folder}/small.vvm")
    >>> saved.model.classes_.tolist(), saved.about, saved.header["n_columns"]
    (['no', 'yes'], None, 1)
    """
    from virtualvector.persistence.mixin import restored

    with _in_one_line(path) as file:
        document, arrays = from_bytes(read_file(file))
        header, state = split(document)
        state, arrays = upgraded(header.format, state, arrays)
        model = restored(_learner(header.learner), header, state, arrays)
    return Saved(model, header.about, header._asdict())


def read_header(path: str | PathLike[str]) -> dict[str, Any]:
    """Return what a file says of its model, without making it: learner, columns, classes.

    Examples
    --------
    >>> import tempfile
    >>> from virtualvector import ADFClassifier
    >>> from virtualvector.persistence import read_header, save
    >>> model = ADFClassifier().fit([[0.0, 1.0], [2.0, 1.0]], ["no", "yes"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(model, f"{folder}/small.vvm", about={"label": "outcome"})
    ...     header = read_header(f"{folder}/small.vvm")
    >>> header["learner"], header["n_columns"], header["classes"], header["about"]
    ('ADFClassifier', 2, ['no', 'yes'], {'label': 'outcome'})
    >>> header["counters"]["rows"]
    2
    """
    with _in_one_line(path) as file:
        header, _ = split(read_document(read_file(file)))
        return header._asdict()


def _learner(name: str) -> type[SavableMixin]:
    from virtualvector.auto.classifier import AutoVVMClassifier
    from virtualvector.learners import (
        ADFClassifier,
        EPClassifier,
        VVMClassifier,
        WindowEPClassifier,
    )
    from virtualvector.wide.classifier import WideVVMClassifier

    kinds: tuple[type[SavableMixin], ...] = (
        ADFClassifier, AutoVVMClassifier, EPClassifier, VVMClassifier, WideVVMClassifier,
        WindowEPClassifier,
    )  # fmt: skip
    known = {kind.__name__: kind for kind in kinds}
    if name not in known:
        raise Misfit(f"found the learner {shortly(name)}; expected one of {', '.join(known)}")
    return known[name]


@contextmanager
def _in_one_line(path: str | PathLike[str]) -> Iterator[Path]:
    """Let whatever is wrong with a file be said in one line that names it."""
    file = Path(path)
    try:
        yield file
    except (ValueError, TypeError) as error:
        message = f"{file.name or file}: {str(error).rstrip('.')}."
        raise BadModelFile(" ".join(message.split())) from error
