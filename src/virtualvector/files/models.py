"""From a file to a model."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple, get_type_hints

from virtualvector.auto.classifier import AutoVVMClassifier
from virtualvector.learners import (
    ADFClassifier,
    EPClassifier,
    VVMClassifier,
    WindowEPClassifier,
)
from virtualvector.learners.saving import FORMAT, Header, Saving, restored
from virtualvector.storage.disk import read_file
from virtualvector.storage.document import from_bytes, read_document
from virtualvector.storage.errors import BadModelFile, Misfit
from virtualvector.storage.tree import unpack

LEARNERS: dict[str, type[Saving]] = {
    kind.__name__: kind
    for kind in (
        ADFClassifier,
        AutoVVMClassifier,
        EPClassifier,
        VVMClassifier,
        WindowEPClassifier,
    )
}


class Saved(NamedTuple):
    """What a file holds."""

    model: Any
    about: dict[str, Any] | None  # the notes it was saved with
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


def read(path: str | PathLike[str]) -> Saved:
    """Return the model that a file holds, the notes it was saved with, and its header."""
    with _in_one_line(path) as file:
        document, arrays = from_bytes(read_file(file))
        state = document.pop("state", None)
        header = _header(document)
        model = restored(LEARNERS[header.learner], header, state, arrays)
    return Saved(model, header.about, header._asdict())


def read_header(path: str | PathLike[str]) -> dict[str, Any]:
    """Return what a file says of its model, without making it: learner, columns, classes.

    Examples
    --------
    >>> import tempfile
    >>> from virtualvector import ADFClassifier
    >>> from virtualvector.files import read_header, save
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
        document = read_document(read_file(file))
        document.pop("state", None)
        return _header(document)._asdict()


def _header(document: dict[str, Any]) -> Header:
    """Return the header that a document begins with, of the types that it should be of."""
    found = document.get("format")
    if found != FORMAT:
        raise Misfit(
            f"found format {found!r:.20}; expected {FORMAT}: a later version may have written it"
        )
    header = Header(**unpack(document, {}, get_type_hints(Header)))
    if header.learner not in LEARNERS:
        raise Misfit(f"found the learner {header.learner!r:.60}; expected one of {list(LEARNERS)}")
    return header


@contextmanager
def _in_one_line(path: str | PathLike[str]) -> Iterator[Path]:
    """Let whatever is wrong with a file be said in one line that names it."""
    file = Path(path)
    try:
        yield file
    except (ValueError, TypeError) as error:
        message = f"{file.name}: {str(error).rstrip('.')}."
        raise BadModelFile(" ".join(message.split())) from error
