"""`AutoVVMClassifier` for river: features of any kind, as they come."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from copy import copy
from typing import Any

from river.base.typing import ClfTarget, FeatureName
from river.utils import dataframe

from virtualvector.auto import classifier
from virtualvector.learners.columns import ADD
from virtualvector.learners.expert import Expert
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
    new_columns : {"add", "error"}, default="add"
        What to do with a feature that no row had so far; see there.
    seed : int, default=0
        Its ``random_state``.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from virtualvector.river import AutoVVMClassifier
    >>> stream = datasets.Phishing().take(300)
    >>> evaluate.progressive_val_score(stream, AutoVVMClassifier(), metrics.Accuracy())
    Accuracy: 88.63%
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
        new_columns: str = ADD,
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
                new_columns=new_columns,
                random_state=seed,
            )
        )

    @property
    def _mutable_attributes(self) -> set[str]:
        return {*super()._mutable_attributes, "n_jobs"}

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        few = (Expert(None, 1.0), Expert(None, 3.0, label_noise=0.02), Expert(0.5, 0.1))
        yield {"experts": few, "n_frequencies": 8}  # the checks learn 16,000 rows one by one

    @property
    def features(self) -> list[FeatureName]:
        """The features of which there was a value so far, in the order of the learner's columns."""
        features = {str(feature): feature for feature in self._columns}
        return [features[name] for name in getattr(self.learner, "feature_names_in_", ())]

    def _columns_of(self, features: Set[FeatureName]) -> Columns:
        columns = super()._columns_of(features)
        if columns is not self._columns:
            _check_names(columns)
        if not columns:
            raise ValueError("Found a first row without features; expected at least one.")
        return columns

    def _widened(self, columns: Columns) -> Any:
        return copy(self.learner)  # which adds columns by itself

    def _learn_row(self, learner: Any, x: Row, columns: Columns, y: ClfTarget, w: float) -> None:
        learner.learn_one(_row(x, columns), y, w)

    def _probabilities_of_row(self, learner: Any, x: Row, columns: Columns) -> Array:
        probabilities: Array = learner.predict_proba_one(_row(x, columns))
        return probabilities

    def _table(self, X: Any, columns: Columns) -> Any:
        frame = dataframe.into_frame(X)
        names = [str(feature) for feature in columns if feature in frame.columns]
        return with_names(frame).select(names).to_native()


def _row(x: Row, columns: Columns) -> dict[str, Any]:
    """Return a row by the names of the learner's columns, those that are new in their order."""
    return {str(feature): x[feature] for feature in columns if feature in x}


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
