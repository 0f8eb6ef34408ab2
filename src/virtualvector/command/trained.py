"""A model file and the rows that fit it, for verbs that only read it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from virtualvector.streams.bad_input import BadInput

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from virtualvector.streams import Batch, Column, Reader


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
        said: NDArray[np.float64] = self.model.predict_proba(rows)
        return said[:, np.argsort(self._texts)]


def trained(path: Path) -> Trained:
    """Read a model file."""
    from virtualvector import files
    from virtualvector.streams import Column

    model, about, _ = files.read(path)
    if about and "columns" in about:
        columns = tuple(Column(str(name), bool(named)) for name, named in about["columns"])
        return Trained(path, model, str(about["label"]), columns, about)
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        return Trained(path, model, None, None, None)
    named = getattr(model, "is_categorical_", [False] * len(names))
    columns = tuple(Column(str(n), bool(k)) for n, k in zip(names, named, strict=True))
    return Trained(path, model, None, columns, None)
