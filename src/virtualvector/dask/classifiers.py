"""Estimators that learn Dask collections, with the conventions of those of XGBoost and LightGBM."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import partial
from numbers import Integral
from typing import Any, ClassVar, Self

import dask
import dask.array
import numpy as np
from distributed import Client
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from virtualvector.auto.classifier import AutoVVMClassifier
from virtualvector.auto.experts import Expert
from virtualvector.concurrency import TakesTurns, learned_whole
from virtualvector.dask.cluster import Outcome, Rounds, client_for
from virtualvector.dask.pieces import are_in_blocks, is_collection, lazily, pieces_of
from virtualvector.learners import ADFClassifier, VVMClassifier
from virtualvector.learners.validation import checked_classes
from virtualvector.learners.weights import BALANCED
from virtualvector.types import ClassWeight, Labels, Predictions

_HERE = ("client", "shards")  # parameters that only these estimators have


class DaskMixin(TakesTurns, BaseEstimator):
    """What learns and predicts where the rows are, whatever the learner."""

    shards: int
    client: Client | None
    class_weight: ClassWeight
    classes_: Labels
    new_columns = "error"
    shuffle, random_state = False, 0  # rows are learned in their order
    _route: Any
    _of: ClassVar[type[Any]]

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn labelled rows from scratch, in one pass, in their order.

        They are not shuffled, which would move them between machines: if they are sorted, by class
        or otherwise, shuffle them before. Labels that come in blocks are warned of.

        Parameters
        ----------
        X : Dask array or data frame of shape (n_rows, n_features), or list of delayed tables
            Finite numbers; for `DaskAutoVVMClassifier` anything that `AutoVVMClassifier` takes.
        y : the same of shape (n_rows,)
            The class of each row, in as many pieces as ``X``.
        sample_weight : the same, optional
            The weight of each row, as for `VVMClassifier.fit`.

        Returns
        -------
        self
            The fitted classifier. After an error it is what it was before.
        """
        with learned_whole(self) as twin:
            plan = twin._plan(X, y, sample_weight)
            found = plan.runs()
            classes = checked_classes(np.concatenate([runs.classes for runs in found]))
            if are_in_blocks(found):
                warnings.warn(
                    "found labels in blocks; expected rows in a random order, which are not "
                    "shuffled here: what is learned depends on their order. partial_fit is for "
                    "streams.",
                    UserWarning,
                    stacklevel=2,
                )
            _hand_over(plan.learn(twin._unfitted(), False, classes).model, twin)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn more rows, in their order. Rounds end where a call does.

        Parameters
        ----------
        X, y, sample_weight
            As for `fit`.
        classes : array-like, optional
            All classes that will ever come, in the first call; without it they are taken as they
            come.

        Returns
        -------
        self
            The classifier, having learned the rows. After an error it has learned none of them.
        """
        self._learn_more(X, y, classes, sample_weight, False)
        return self

    def predict_then_learn(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> Predictions:
        """Predict each row, then learn it.

        A row is predicted by what its shard knows then: all rows of the rounds before, and those of
        its own span before it.

        Parameters
        ----------
        X, y, classes, sample_weight
            As for `partial_fit`; without ``classes``, those of the first call.

        Returns
        -------
        Predictions
            Dask arrays of what was predicted of each row: labels and probabilities. They are on the
            workers for as long as they are referred to.
        """
        done = self._learn_more(X, y, classes, sample_weight, True)
        predicted = [dask.delayed(future) for future in done.predicted]

        def array(pieces: Any, columns: tuple[int, ...], dtype: Any) -> Any:
            arrays = [
                dask.array.from_delayed(each, (length, *columns), dtype=dtype)
                for each, length in zip(pieces, done.lengths, strict=True)
            ]
            return dask.array.concatenate(arrays)

        labels = array((each.labels for each in predicted), (), self.classes_.dtype)
        of_all = (each.of_classes(self.classes_) for each in predicted)
        return Predictions(labels, array(of_all, (len(self.classes_),), np.float64))

    def predict(self, X: Any) -> Any:
        """Return the most probable class of each row, for a collection as a lazy Dask array."""
        check_is_fitted(self)
        return self._say("predict", X, self.classes_.dtype, ())

    def predict_proba(self, X: Any) -> Any:
        """Return the probability of each class, for a collection as a lazy Dask array."""
        check_is_fitted(self)
        return self._say("predict_proba", X, np.float64, (len(self.classes_),))

    def predict_log_proba(self, X: Any) -> Any:
        """Return the logarithm of `predict_proba`, for a collection as a lazy Dask array."""
        check_is_fitted(self)
        return self._say("predict_log_proba", X, np.float64, (len(self.classes_),))

    def decision_function(self, X: Any) -> Any:
        """Return a score that orders rows, for a collection as a lazy Dask array."""
        check_is_fitted(self)
        columns = (len(self.classes_),) if len(self.classes_) > 2 else ()
        return self._say("decision_function", X, np.float64, columns)

    def to_local(self) -> Any:
        """Return the ordinary estimator, which knows the same and has the ordinary files."""
        check_is_fitted(self)
        local = self._unfitted()
        _hand_over(self, local)
        return local

    def save(self, path: Any) -> None:
        """Write the model of `to_local` to a file, which `virtualvector.load` reads."""
        self.to_local().save(path)

    def _say(self, method: str, X: Any, dtype: Any, columns: tuple[int, ...]) -> Any:
        local = self.to_local()
        if not is_collection(X):
            return getattr(local, method)(X)
        return lazily(partial(_asked, method=method, columns=columns), local, X, dtype, columns)

    def _learn_more(
        self, X: Any, y: Any, classes: Any, sample_weight: Any, predict: bool
    ) -> Outcome:
        with learned_whole(self) as twin:
            plan = twin._plan(X, y, sample_weight)
            model = twin._unfitted() if twin._route is None else twin.to_local()
            if predict and classes is None and twin._route is None:
                classes = checked_classes(np.concatenate([each.classes for each in plan.runs()]))
            done = plan.learn(model, predict, classes)
            _hand_over(done.model, twin)
        return done

    def _plan(self, X: Any, y: Any, sample_weight: Any) -> Rounds:
        self._validate_params()
        if isinstance(self.class_weight, str) and self.class_weight == BALANCED:
            raise ValueError(
                "class_weight='balanced' is not supported on Dask; expected the weights as a dict."
            )
        pieces = pieces_of(X, y, sample_weight)
        return Rounds(client_for(self.client), pieces, self.shards)

    def _unfitted(self) -> Any:
        own = self.get_params(deep=False)
        return self._of(**{name: value for name, value in own.items() if name not in _HERE})

    def __sklearn_clone__(self) -> Self:
        return type(self)(**self.get_params(deep=False))  # on the same cluster

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        return state | {"client": None}  # which stays with who opened it


class DaskVVMClassifier(DaskMixin, VVMClassifier):
    """`VVMClassifier` for rows that are spread over a Dask cluster.

    The posterior goes out, shards learn spans of rows side by side, what they know is pooled, and
    so on: a first span alone, then rounds of a fourth of all rows before. The result follows from
    the rows, their order and ``shards``, to the last bit: not from how many workers there are, how
    rows are cut into pieces, or who died meanwhile, on processors of one kind.

    Parameters
    ----------
    shards : int, default=8
        Into how many spans a round is cut: no more workers than that have something to do.
    client : distributed.Client, optional
        The cluster; by default that of the last client that was made.
    buffer_size, label_noise, margin_noise, merge_pairs, eviction, prior_variance, fit_intercept
    tol, max_sweeps, class_weight
        As for `VVMClassifier`, which also describes the attributes. There is no half-life: shards
        that forget cannot be pooled.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from virtualvector.dask import DaskVVMClassifier
    >>> from virtualvector.datasets import load_ionosphere
    >>> X, y = load_ionosphere(return_X_y=True, random_state=0)
    >>> X, y = da.from_array(X, chunks=(100, -1)), da.from_array(y, chunks=100)
    >>> with Client(processes=False, n_workers=1, dashboard_address=":0") as client:
    ...     model = DaskVVMClassifier(margin_noise=0.5).fit(X, y)
    ...     predicted = model.predict(X).compute()
    >>> round(float((predicted == y.compute()).mean()), 3)
    0.926
    >>> model.to_local().n_seen_
    351
    """

    _of = VVMClassifier
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **VVMClassifier._parameter_constraints,
        "shards": [Interval(Integral, 1, None, closed="left")],
        "client": [Client, None],
    }

    def __init__(
        self,
        *,
        shards: int = 8,
        client: Client | None = None,
        buffer_size: int = 30,
        label_noise: float = 0.0,
        margin_noise: float = 0.0,
        merge_pairs: int = 5,
        eviction: str = "divergence",
        prior_variance: float = 1.0,
        fit_intercept: bool = True,
        tol: float = 1e-10,
        max_sweeps: int = 30,
        class_weight: ClassWeight = None,
    ) -> None:
        self.shards = shards
        self.client = client
        self.buffer_size = buffer_size
        self.label_noise = label_noise
        self.margin_noise = margin_noise
        self.merge_pairs = merge_pairs
        self.eviction = eviction
        self.prior_variance = prior_variance
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_sweeps = max_sweeps
        self.class_weight = class_weight


class DaskADFClassifier(DaskMixin, ADFClassifier):
    """`ADFClassifier` for rows that are spread over a Dask cluster.

    Parameters
    ----------
    shards, client
        As for `DaskVVMClassifier`, which says how rows are learned.
    label_noise, margin_noise, prior_variance, fit_intercept, class_weight
        As for `VVMClassifier`, which also describes the attributes.

    Examples
    --------
    So few rows are learned by one shard, as on one machine:

    >>> import dask.array as da
    >>> from distributed import Client
    >>> from virtualvector import ADFClassifier
    >>> from virtualvector.dask import DaskADFClassifier
    >>> from virtualvector.datasets import load_ionosphere
    >>> X, y = load_ionosphere(return_X_y=True, random_state=0)
    >>> X, y = X[:200], y[:200]
    >>> pieces = da.from_array(X, chunks=(50, -1)), da.from_array(y, chunks=50)
    >>> with Client(processes=False, n_workers=1, dashboard_address=":0") as client:
    ...     spread = DaskADFClassifier(margin_noise=0.5).fit(*pieces).to_local()
    >>> here = ADFClassifier(margin_noise=0.5).partial_fit(X, y)
    >>> bool((spread.coef_ == here.coef_).all())
    True
    """

    _of = ADFClassifier
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **ADFClassifier._parameter_constraints,
        "shards": [Interval(Integral, 1, None, closed="left")],
        "client": [Client, None],
    }

    def __init__(
        self,
        *,
        shards: int = 8,
        client: Client | None = None,
        label_noise: float = 0.0,
        margin_noise: float = 0.0,
        prior_variance: float = 1.0,
        fit_intercept: bool = True,
        class_weight: ClassWeight = None,
    ) -> None:
        self.shards = shards
        self.client = client
        self.label_noise = label_noise
        self.margin_noise = margin_noise
        self.prior_variance = prior_variance
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight


class DaskAutoVVMClassifier(DaskMixin, AutoVVMClassifier):
    """`AutoVVMClassifier` for rows that are spread over a Dask cluster.

    In a round nobody falls asleep, grows or joins, and columns keep their scales: that is for the
    end of the round, when all rows of it are known. No expert forgets, so that a stream that
    drifts slowly is better learned by one machine; one that changes at once is noticed.

    Parameters
    ----------
    shards, client
        As for `DaskVVMClassifier`, which says how rows are learned. With one shard the result is
        that of `AutoVVMClassifier.partial_fit`.
    budget, experts, n_frequencies, categorical_features, missing_values, n_classes, scale
    class_weight, random_state
        As for `AutoVVMClassifier`, which also describes the attributes. What columns hold is
        decided by the first rows: the first piece, or 256 rows of it.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from virtualvector.dask import DaskAutoVVMClassifier
    >>> from virtualvector.datasets import load_ionosphere
    >>> X, y = load_ionosphere(return_X_y=True, random_state=0)
    >>> X, y = da.from_array(X, chunks=(100, -1)), da.from_array(y, chunks=100)
    >>> with Client(processes=False, n_workers=1, dashboard_address=":0") as client:
    ...     model = DaskAutoVVMClassifier().fit(X, y)
    ...     predicted = model.predict(X).compute()
    >>> bool((predicted == y.compute()).mean() > 0.9)
    True
    >>> model.to_local().n_seen_
    351
    """

    n_jobs = 1
    _of = AutoVVMClassifier
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **AutoVVMClassifier._parameter_constraints,
        "shards": [Interval(Integral, 1, None, closed="left")],
        "client": [Client, None],
    }

    def __init__(
        self,
        *,
        shards: int = 8,
        client: Client | None = None,
        budget: float | None = None,
        experts: Sequence[Expert] | None = None,
        n_frequencies: int | None = None,
        categorical_features: Any = None,
        missing_values: Sequence[str] | None = None,
        n_classes: int | None = None,
        scale: bool = True,
        class_weight: ClassWeight = None,
        random_state: int = 0,
    ) -> None:
        self.shards = shards
        self.client = client
        self.budget = budget
        self.experts = experts
        self.n_frequencies = n_frequencies
        self.categorical_features = categorical_features
        self.missing_values = missing_values
        self.n_classes = n_classes
        self.scale = scale
        self.class_weight = class_weight
        self.random_state = random_state


def _asked(model: Any, rows: Any, method: str, columns: tuple[int, ...]) -> Any:
    """Return what a model says of rows, of which there may be none."""
    if len(rows) > 0:
        return getattr(model, method)(rows)
    return model.classes_[:0] if method == "predict" else np.empty((0, *columns))


def _hand_over(one: Any, other: Any) -> None:
    """Let another estimator know what one has learned."""
    for name in ("n_features_in_", "feature_names_in_", "_scale", "_categorical", "classes_"):
        if name in vars(one):
            setattr(other, name, getattr(one, name))
        else:
            vars(other).pop(name, None)
    if isinstance(one, AutoVVMClassifier):
        other._known = one._known
    else:
        other._keep(one._posterior)
