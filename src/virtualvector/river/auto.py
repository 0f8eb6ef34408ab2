"""`AutoVVMClassifier` for river: features of any kind, as they come."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence, Set
from copy import copy
from typing import Any

import narwhals.stable.v2 as nw
from river.base.typing import ClfTarget, FeatureName
from river.utils import dataframe

from virtualvector.auto import classifier
from virtualvector.auto.experts import Expert
from virtualvector.river.classifier import Columns, Parameter, RiverClassifier, Row, with_names
from virtualvector.types import Array, ClassWeight


class AutoVVMClassifier(RiverClassifier):
    """Bayesian online classification that needs no tuning, for two classes or more.

    Features may be numbers, in any units, dates and times, texts and truth values: neither a scaler
    nor an encoder is needed before it. A feature that a row does not have, or that is None or nan,
    is missing.

    Parameters
    ----------
    budget, experts, n_frequencies, categorical_features, missing_values, n_classes, scale, n_jobs
    class_weight
        As for `virtualvector.AutoVVMClassifier`.
    seed : int, default=0
        Its ``random_state``.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from virtualvector.river import AutoVVMClassifier
    >>> stream = datasets.Phishing().take(300)
    >>> evaluate.progressive_val_score(stream, AutoVVMClassifier(), metrics.Accuracy())
    Accuracy: 87.96%
    """

    budget = Parameter()
    experts = Parameter()
    n_frequencies = Parameter()
    categorical_features = Parameter()
    missing_values = Parameter()
    n_classes = Parameter()
    scale = Parameter()
    n_jobs = Parameter()
    seed = Parameter("random_state")

    def __init__(
        self,
        *,
        budget: float | None = None,
        experts: Sequence[Expert] | None = None,
        n_frequencies: int | None = None,
        categorical_features: Sequence[str] | None = None,
        missing_values: Sequence[str] | None = None,
        n_classes: int | None = None,
        scale: bool = True,
        n_jobs: int = 1,
        class_weight: ClassWeight = None,
        seed: int = 0,
    ) -> None:
        super().__init__(
            classifier.AutoVVMClassifier(
                budget=budget,
                experts=experts,
                n_frequencies=n_frequencies,
                categorical_features=categorical_features,
                missing_values=missing_values,
                n_classes=n_classes,
                scale=scale,
                n_jobs=n_jobs,
                class_weight=class_weight,
                random_state=seed,
            )
        )

    @property
    def _mutable_attributes(self) -> set[str]:
        return {*super()._mutable_attributes, "n_jobs"}

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"experts": (Expert(None, 1.0),)}  # river's checks learn 16,000 rows one by one

    def _columns_of(self, features: Set[FeatureName]) -> Columns:
        if not self._has_learned:
            columns = super()._columns_of(features)
            _check_names(columns)
            if not columns:
                raise ValueError("Found a first row without features; expected at least one.")
            return columns
        if not features <= self._columns.keys():
            unknown = [feature for feature in features if feature not in self._columns]
            warnings.warn(
                f"Left out features that the first row did not have: {unknown!r:.200}; expected "
                "all of them in the first row, None where they are missing.",
                stacklevel=3,
            )
        return self._columns

    def _widened(self, columns: Columns) -> Any:
        return copy(self.learner)

    def _learn_row(self, learner: Any, x: Row, columns: Columns, y: ClfTarget, w: float) -> None:
        learner.learn_one(_row(x, columns), y, w)

    def _probabilities_of_row(self, learner: Any, x: Row, columns: Columns) -> Array:
        probabilities: Array = learner.predict_proba_one(_row(x, columns))
        return probabilities

    def _table(self, X: Any, columns: Columns) -> Any:
        frame = dataframe.into_frame(X)
        missing = columns.keys() - set(frame.columns)
        is_missing = [nw.lit(None).alias(str(feature)) for feature in columns if feature in missing]
        return with_names(frame).with_columns(*is_missing).select([*map(str, columns)]).to_native()


def _row(x: Row, columns: Columns) -> dict[str, Any]:
    """Return a row by the names of the learner's columns, None where it has no feature."""
    return {str(feature): x.get(feature) for feature in columns}


def _check_names(columns: Columns) -> None:
    """Raise if two features would be the same column."""
    names: dict[str, FeatureName] = {}
    for feature in columns:
        other = names.setdefault(str(feature), feature)
        if other != feature:
            raise ValueError(
                f"Found the features {other!r} and {feature!r}; expected features that differ as "
                "texts."
            )
