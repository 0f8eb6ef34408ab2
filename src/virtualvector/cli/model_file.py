"""A model file and the rows that fit it, for verbs that only read it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from virtualvector.persistence.errors import shortly
from virtualvector.streams.bad_input import BadInput

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from virtualvector.streams import Batch, Column, Reader


_NOTES = {"label", "columns", "passes", "rows", "strange", "tally"}  # of vvm learn


class Trained(NamedTuple):
    """A model, and what its rows look like."""

    path: Path
    model: Any
    label: str | None  # None if it was saved in Python
    columns: tuple[Column, ...] | None
    about: dict[str, Any] | None  # notes of vvm learn

    @property
    def classes(self) -> NDArray[np.str_]:
        """The classes as texts, sorted."""
        return np.sort(self._texts)

    @property
    def _texts(self) -> NDArray[np.str_]:
        return np.array([str(label) for label in self.model.classes_.tolist()])

    def open(self, sources: list[str], *, labelled: bool, **reading: Any) -> Reader:
        """Open rows that fit the model, or say by name what does not fit."""
        from virtualvector.streams import open_rows

        reading.setdefault("label", self.label)
        reader = open_rows(sources, labelled=labelled, columns=self.columns, **reading)
        n_expected, n_found = self.model.n_features_in_, len(reader.columns)
        if n_found != n_expected:
            raise BadInput(
                f"{' '.join(sources)}: found {n_found} columns; expected {n_expected}, as in "
                f"{self.path}, which has no names for them."
            )
        return reader

    def probabilities(self, batch: Batch) -> NDArray[np.float64]:
        """Return the probability of each of `classes` for each row."""
        rows = batch.table
        if self.columns is None:
            rows = np.column_stack([np.asarray(column, float) for column in rows.columns])
        predicted: NDArray[np.float64] = self.model.predict_proba(rows)
        return predicted[:, np.argsort(self._texts)]


def trained(path: Path) -> Trained:
    """Read a model file."""
    from virtualvector import persistence
    from virtualvector.streams import Column

    model, about, _ = persistence.read(path)
    notes = notes_of_learning(path, model, about)
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        return Trained(path, model, None, None, None)
    categorical = getattr(model, "is_categorical_", [False] * len(names))
    columns = tuple(Column(str(n), bool(k)) for n, k in zip(names, categorical, strict=True))
    return Trained(path, model, None if notes is None else notes["label"], columns, notes)


def notes_of_learning(
    path: Path, model: Any, about: dict[str, Any] | None
) -> dict[str, Any] | None:
    """Return the notes that a model was saved with if they are those of `vvm learn`, else None.

    They are if they have all its fields, which then have to be what it writes; others may be there.
    """
    from virtualvector.persistence.errors import BadModelFile

    if about is None or not about.keys() >= _NOTES:
        return None
    try:
        _check_notes(model, about)
    except ValueError as error:
        raise BadModelFile(f"{path.name}: notes: {error}.") from error
    return about


def _check_notes(model: Any, about: dict[str, Any]) -> None:
    from virtualvector.evaluation import Tally

    if not isinstance(about["label"], str | None):
        raise ValueError(f"found the label {shortly(about['label'])}; expected a name")
    names = getattr(model, "feature_names_in_", ())
    categorical = getattr(model, "is_categorical_", ())
    if about["columns"] != [[str(n), bool(k)] for n, k in zip(names, categorical, strict=False)]:
        raise ValueError(f"found columns {shortly(about['columns'])}; expected those of the model")
    for name in ("passes", "rows", "strange"):
        if type(about[name]) is not int or not 0 <= about[name] < 2**53:
            raise ValueError(f"found {name} {shortly(about[name])}; expected a number of them")
    tally = Tally.from_dict(about["tally"])
    if tally.now.n_rows > model.n_seen_ or not {*tally.classes} <= {*map(str, model.classes_)}:
        raise ValueError("found a tally of other rows or classes; expected those of the model")
