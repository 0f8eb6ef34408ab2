"""Estimators that learn Dask collections, with the conventions of those of XGBoost and LightGBM."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any, ClassVar

from distributed import Client
from sklearn.utils._param_validation import Interval

from virtualvector.auto.classifier import AutoVVMClassifier
from virtualvector.dask.estimator import DaskMixin
from virtualvector.learners import ADFClassifier, VVMClassifier
from virtualvector.learners.expert import Expert
from virtualvector.types import ClassWeight


class DaskVVMClassifier(DaskMixin, VVMClassifier):
    """`VVMClassifier` for rows that are spread over a Dask cluster.

    The posterior goes out, shards learn spans of rows side by side, what they know is pooled, and
    so on: a first span alone, then rounds of a share of all rows before. The result follows from
    the rows, their order and ``shards``, to the last bit: not from how many workers there are, how
    rows are cut into pieces, or who died meanwhile, on processors of one kind.

    Parameters
    ----------
    shards : int, default=8
        Into how many spans a round is cut: no more workers than that have something to do.
    client : distributed.Client, optional
        The cluster; by default that of the last client that was made.
    buffer_size, label_noise, margin_noise, merge_pairs, eviction, prior_variance, fit_intercept
    tol, max_sweeps, hedge, class_weight
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
        hedge: bool = True,
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
        self.hedge = hedge
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
