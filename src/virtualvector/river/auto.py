"""`AutoVVMClassifier` for river: features of any kind, as they come."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import narwhals.stable.v2 as nw
from river.base.typing import ClfTarget, FeatureName
from river.utils import dataframe

from virtualvector.auto import classifier
from virtualvector.auto.experts import Expert
from virtualvector.river.classifier import Columns, Parameter, RiverClassifier, Row
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
    >>> evaluate.progressive_val_score(stream, AutoVVMClassifier(), metrics.LogLoss())
    LogLoss: 0.2
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
        yield {"experts": (Expert(None, 1.0), Expert(None, 0.1))}

    def _columns_of(self, features: Iterable[FeatureName]) -> Columns:
        if not self._has_learned:
            return super()._columns_of(features)
        unknown = [feature for feature in features if feature not in self._columns]
        if unknown:
            warnings.warn(
                f"Left out features that the first row did not have: {unknown!r:.200}; expected "
                "all of them in the first row, None where they are missing.",
                stacklevel=3,
            )
        return self._columns

    def _wide_enough(self, columns: Columns) -> Any:
        return self.learner

    def _learn_row(self, learner: Any, x: Row, columns: Columns, y: ClfTarget, w: float) -> None:
        learner.partial_fit(_row(x, columns), [y], sample_weight=None if w == 1.0 else [w])

    def _probabilities_of_row(self, learner: Any, x: Row, columns: Columns) -> Array:
        probabilities: Array = learner.predict_proba(_row(x, columns))[0]
        return probabilities

    def _table(self, X: Any, columns: Columns) -> Any:
        frame = dataframe.into_frame(X)
        missing = [nw.lit(None).alias(_name(each)) for each in columns if each not in frame.columns]
        names = {each: _name(each) for each in frame.columns if not isinstance(each, str)}
        named = frame.rename(names) if names else frame
        return named.with_columns(*missing).select([_name(each) for each in columns]).to_native()


def _row(x: Row, columns: Columns) -> dict[str, list[Any]]:
    """Return a row as a table."""
    return {_name(feature): [x.get(feature)] for feature in columns}


def _name(feature: FeatureName) -> str:
    return feature if isinstance(feature, str) else str(feature)
