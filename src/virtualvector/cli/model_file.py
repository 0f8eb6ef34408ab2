"""A model file and the rows that fit it, for verbs that only read it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from virtualvector.escaping import counted
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
    def ids(self) -> tuple[str, ...]:
        """The columns that are handed on, as was said when it was learned."""
        return self._told("id")

    def _told(self, option: str) -> tuple[str, ...]:
        options = (self.about or {}).get("options")
        names = options.get(option) if isinstance(options, dict) else None
        if isinstance(names, str):
            return (names,) if names else ()
        return tuple(map(str, names)) if isinstance(names, list) else ()

    @property
    def classes(self) -> NDArray[np.str_]:
        """The classes as texts, sorted."""
        return np.sort(self._texts)

    @property
    def _texts(self) -> NDArray[np.str_]:
        return class_texts(self.model)

    def open(self, sources: list[str], *, labelled: bool, **reading: Any) -> Reader:
        """Open rows that fit the model, or say by name what does not fit."""
        from virtualvector.streams import open_rows

        reading.setdefault("label", self.label)
        outside = (*self._told("ignore"), *self.ids, *self._told("weight"))
        reading["ignore"] = tuple(name for name in outside if name != reading.get("weight"))
        own = getattr(self.model, "missing_values", None) or ()
        reading["missing"] = (*own, *reading.get("missing", ()))
        reader = open_rows(sources, labelled=labelled, columns=self.columns, **reading)
        n_expected, n_found = self.model.n_features_in_, len(reader.columns)
        if n_found != n_expected:
            raise BadInput(
                f"{' '.join(sources)}: found {counted(n_found, 'column')}; expected {n_expected}, "
                f"as in {self.path}, which has no names for them."
            )
        return reader

    def probabilities(self, batch: Batch) -> NDArray[np.float64]:
        """Return the probability of each of `classes` for each row."""
        rows = batch.table
        if not rows.num_rows:
            return np.empty((0, len(self._texts)))
        if self.columns is None:
            rows = np.column_stack([np.asarray(column, float) for column in rows.columns])
        predicted: NDArray[np.float64] = self.model.predict_proba(rows)
        return predicted[:, np.argsort(self._texts)]

    def labels(self, batch: Batch) -> NDArray[np.str_]:
        """Return the labels of rows as `classes` are written, which mean the same."""
        from virtualvector.learners.validation import as_learned

        labels: NDArray[np.str_] = as_learned(batch.labels, self._texts, may_be_new=True)
        return labels

    def unseen(self, batch: Batch) -> dict[str, int]:
        """Return how many values of each column are of categories that were never learned."""
        if self.columns is None or not any(column.categorical for column in self.columns):
            return {}
        if not batch.table.num_rows:
            return {}
        counts = self.model.count_unseen(batch.table).tolist()
        return dict(zip((column.name for column in self.columns), counts, strict=True))


def class_texts(model: Any) -> NDArray[np.str_]:
    """Return the classes of a model as texts, in their order."""
    from virtualvector.values import spelled

    labels = model.classes_.tolist()
    return np.array([label if isinstance(label, str) else spelled(label) for label in labels])


def trained(path: Path) -> Trained:
    """Read a model file."""
    from virtualvector import persistence
    from virtualvector.streams import Column

    model, about, _ = persistence.read(path)
    notes = notes_of_learning(path, model, about)
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        return Trained(path, model, None, None, None)
    columns = tuple(Column(*each) for each in _columns(model))
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
    columns = _columns(model)
    before = [column[:2] for column in columns]  # as format 3 had them
    if about["columns"] not in (columns, before):
        raise ValueError(f"found columns {shortly(about['columns'])}; expected those of the model")
    for name in ("passes", "rows", "strange"):
        if type(about[name]) is not int or not 0 <= about[name] < 2**53:
            raise ValueError(f"found {name} {shortly(about[name])}; expected a number of them")
    repeated = about.get("repeated", 0)
    if type(repeated) is not int or abs(repeated) >= 2**53:
        raise ValueError(f"found repeated {shortly(repeated)}; expected a number of times")
    tally = Tally.from_dict(about["tally"])
    if tally.now.n_rows > model.n_seen_ or not {*tally.classes} <= {*class_texts(model).tolist()}:
        raise ValueError("found a tally of other rows or classes; expected those of the model")


def _columns(model: Any) -> list[list[Any]]:
    """Return the columns that a model knows by name, as notes have them."""
    from virtualvector.streams import Column

    names = getattr(model, "feature_names_in_", ())
    none = [False] * len(names)
    kinds = ("is_categorical_", "is_time_", "is_text_", "n_places_")
    flags = (getattr(model, kind, none) for kind in kinds)
    each = zip(names, *flags, strict=True)
    return [
        Column(str(name), bool(k), bool(t), bool(x), int(n)).as_list() for name, k, t, x, n in each
    ]
