"""What of a learner is written to a file, and a learner made from it again."""

from __future__ import annotations

from abc import abstractmethod
from copy import copy
from importlib.metadata import version
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, get_type_hints

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from virtualvector.jit.processor import processor
from virtualvector.persistence.disk import replace_file
from virtualvector.persistence.document import Arrays, parts_of
from virtualvector.persistence.errors import Misfit
from virtualvector.persistence.header import FORMAT, Header
from virtualvector.persistence.tree import pack, unpack
from virtualvector.types import Labels

PROGRAM = f"virtualvector {version('virtualvector')}"


class Origin(NamedTuple):
    """What was read from a file, and on which kind of processor it had been learned."""

    processor: str
    learned: dict[str, Any]


class SavableMixin(BaseEstimator):
    """An estimator that can be written to a file, by the types that it declares."""

    # What was learned is in attributes of these names, after an underscore, and types.
    _learned: ClassVar[dict[str, Any]]
    _origin: Origin | None = None  # if it was read from a file
    n_features_in_: int
    classes_: Labels

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model to a file, which `virtualvector.load` reads.

        The file is replaced as a whole: whatever happens, it holds the old model or the new one.
        The same model always gives the same bytes.

        Parameters
        ----------
        path : str or path
            The file.

        Raises
        ------
        CannotSave
            An OSError: the disk is full, or the folder cannot be written to.
        """
        save(self, path)

    def _what_was_learned(self) -> dict[str, Any]:
        """Return what is written to a file."""
        return {name: getattr(self, f"_{name}") for name in self._learned}

    def _take(self, learned: dict[str, Any]) -> None:
        """Take what was learned from a file."""
        for name, value in learned.items():
            setattr(self, f"_{name}", value)

    @abstractmethod
    def _counters(self) -> dict[str, float]:
        """Return what has been counted, for people to read."""

    @abstractmethod
    def _check_learned(self) -> Labels:
        """Return the classes; raise ValueError if what was learned cannot have been."""


def save(
    model: SavableMixin, path: str | PathLike[str], about: dict[str, Any] | None = None
) -> None:
    """Write a model and notes about it, which have to be JSON, to a file."""
    try:
        parts = parts_of_model(model, about)
    except NotFittedError:
        raise
    except ValueError as error:
        raise ValueError(f"{path}: cannot be saved: {str(error).rstrip('.')}.") from error
    replace_file(Path(path), *parts)


def contents_of(model: SavableMixin, about: dict[str, Any] | None = None) -> bytes:
    """Return the bytes of the file that holds a model."""
    return b"".join(parts_of_model(model, about))


def parts_of_model(model: SavableMixin, about: dict[str, Any] | None = None) -> list[Any]:
    """Return the same in parts, so that nobody has to have a copy of all of it in memory."""
    check_is_fitted(model)
    if not type(model).__module__.startswith("virtualvector."):  # it could not be read
        raise TypeError(f"found a {type(model).__name__}; expected a learner of virtualvector's")
    model._validate_params()
    model = copy(model)  # which stays as it is, whatever is learned meanwhile
    model._check_learned()
    state, arrays = pack(model._what_was_learned(), model._learned)
    document = _header_of(model, about)._asdict() | {"state": state}
    return parts_of(document, arrays)


def restored(kind: type[SavableMixin], header: Header, state: Any, arrays: Arrays) -> SavableMixin:
    """Return the model that a file holds; raise ValueError if it cannot be one."""
    header = header._replace(parameters=_with_later_ones(kind, header))
    model = kind(**unpack(header.parameters, {}, _parameter_kinds(kind)))
    model._validate_params()
    model.n_features_in_ = header.n_columns
    if header.columns is not None:
        if len(header.columns) != header.n_columns:
            raise Misfit(f"found {len(header.columns)} names; expected {header.n_columns} columns")
        model.feature_names_in_ = np.array(header.columns, dtype=object)
    learned = unpack(state, arrays, kind._learned)
    model._take(learned)
    model._origin = Origin(header.processor, learned)
    model.classes_ = model._check_learned()
    described = _header_of(model, header.about)
    if described._replace(format=header.format, program=header.program) != header:
        raise Misfit("found a header that does not describe the model; expected one that does")
    return model


def _header_of(model: SavableMixin, about: dict[str, Any] | None) -> Header:
    parameters, _ = pack(model.get_params(deep=False), _parameter_kinds(type(model)))
    names = getattr(model, "feature_names_in_", None)
    classes = model.classes_
    return Header(
        format=FORMAT,
        program=PROGRAM,
        learner=type(model).__name__,
        parameters=parameters,
        n_columns=int(model.n_features_in_),
        columns=None if names is None else [str(name) for name in names],
        classes=(classes.astype(str) if classes.dtype.kind in "Mm" else classes).tolist(),
        counters=model._counters(),
        about=about,
        processor=_learned_on(model),
    )


def _with_later_ones(kind: type[SavableMixin], header: Header) -> dict[str, Any]:
    """Return parameters; those that came after a file was written, as usual.

    Before format 4 `fit` did not shuffle rows; what it has learned is as if it always had. Before
    format 7 nothing was hedged, before format 8 wide rows had one learner, and what has learned so
    goes on so.
    """
    usual = kind().get_params(deep=False)
    later: dict[str, Any] = {"class_weight": None}
    if header.format < 8 and "mix" in usual:
        later["mix"] = False
    if header.format < 7 and "hedge" in usual:
        later["hedge"] = False
    if header.format < 6:
        later["new_columns"] = "error"
        later |= {name: usual[name] for name in ("covariance", "rank") if name in usual}
    if header.format < 4 and "shuffle" not in header.parameters:
        later |= {name: usual[name] for name in ("shuffle", "random_state")}
    return later | header.parameters


def _learned_on(model: SavableMixin) -> str:
    """Return the kind of processor that learned last; what learns is never changed in place."""
    origin = model._origin
    if origin is not None:
        now, then = model._what_was_learned(), origin.learned
        if all(now[n] is then[n] or isinstance(now[n], float) for n in now):  # a scale is copied
            return origin.processor
    return processor()


def _parameter_kinds(kind: type[SavableMixin]) -> dict[str, Any]:
    hints = get_type_hints(kind.__init__)
    return {name: hints[name] for name in kind._get_param_names()}
