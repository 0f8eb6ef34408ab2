"""The Virtual Vector Machine (section 3)."""

from __future__ import annotations

from typing import Any, ClassVar

from sklearn.utils._param_validation import StrOptions

from virtualvector.learners.base import BayesianLinearClassifier
from virtualvector.learners.columns import ERROR
from virtualvector.learners.hedge import Hedged
from virtualvector.learners.one_vs_rest import OneVsRest
from virtualvector.posterior import Settings, presets
from virtualvector.types import ClassWeight


class VVMClassifier(BayesianLinearClassifier):
    """Bayesian online classification with a Gaussian and a constant number of virtual points.

    A stream of labelled rows is learned in one pass. What is known about the weights is a Gaussian
    and at most ``buffer_size`` virtual data points, which carry what a Gaussian cannot.

    Parameters
    ----------
    buffer_size : int, default=30
        Virtual points kept between rows. 0 is assumed-density filtering; as many as there are rows
        is expectation propagation.
    label_noise : float, default=0.0
        The probability ε, below one half, that a label is wrong whatever the row.
    margin_noise : float, default=0.0
        The variance s² of the noise of a row's margin: labels near the boundary are uncertain. With
        0, and no label noise, classes are taken to be separable.
    merge_pairs : int, default=5
        How many of the closest pairs of points are tried for merging at each row. 0: points are
        only evicted.
    eviction : {"divergence", "margin"}, default="divergence"
        Which point to evict: the one whose factor is closest to a Gaussian, or the one farthest
        from the decision boundary.
    prior_variance : float, default=1.0
        The variance of each weight before the first row.
    fit_intercept : bool, default=True
        Whether there is a bias.
    tol : float, default=1e-10
        Expectation propagation ends when no margin moves by more, in standard deviations. At a
        row that makes a point go, ten million times as much will do, but no more than 1e-3, or
        1e-4 without margin noise: the point takes far more with it.
    max_sweeps : int, default=30
        Most sweeps over the points per row. More than 1,000 are refused where they could take more
        than about a tenth of a second.
    half_life : float, optional
        For streams that change: the weights are taken to drift, and the squared correlation with
        what they were halves in so many rows. What is known fades into the prior. The more rows
        say, the sooner old ones are outdone: memory reaches back much less than a half-life. By
        default nothing is forgotten.
    covariance : {"full", "low-rank", "diagonal", "independent"}, default="full"
        What is kept of how uncertain weights are together. All of it takes d² numbers, for d
        weights, and as much time per row. "low-rank" keeps a precision for each weight, and how
        they hang together along ``rank`` directions: about d·(rank + 3) numbers, for tables that
        are wide and sparse. "diagonal" is rank 0. Both need margin noise, and fewer points than
        weights; with a half-life, points go at every drift. "independent", without points, keeps a
        variance for each weight and matches these, as AdPredictor does (Graepel et al. 2010): for
        words often better than "diagonal", and without margin noise, too.
    rank : int, default=20
        The number of those directions: more of them, better predictions.
    hedge : bool, default=True
        With label noise, and points: whether an `ADFClassifier` with the same parameters learns the
        same rows beside it, and predictions are the average of the two by their evidence. The total
        log-loss of a stream is then at most log 3/2 above ADF's, and log 3 above VVM's, whatever
        the rows: where a plane does not separate them up to label noise, points alone may do harm.
        Weights, points and evidence are those of VVM all the same. False: the paper's method alone.
        Without label noise it makes no difference.
    class_weight : dict or "balanced", optional
        The weights of classes, by which those of rows are multiplied; one that is not in the dict
        has 1. "balanced" makes all classes count alike, in `fit` only. Probabilities are then those
        of a world where classes come as often as they weigh, not at the rate at which they come.
    new_columns : {"error", "add"}, default="error"
        What to do with a column that a dict or a data frame has and rows so far had not. "add": it
        has a weight from then on, exactly as if it had been 0 in all rows before; nothing but the
        prior is known of that weight, also to a prediction. A column that rows do not have is then
        0, too, and their order does not matter. There may be 4,096 columns then.
    shuffle : bool, default=True
        Whether `fit` visits rows in a random order: tables are often sorted. `partial_fit` and
        `predict_then_learn` always take them as they come.
    random_state : int, default=0
        Seed of that order.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes seen, or declared, sorted.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        The posterior mean of the weights.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        The posterior mean of the bias.
    covariance_ : ndarray of shape (n_weights, n_weights) or (n_classes, n_weights, n_weights)
        The posterior covariance of the weights, bias last.
    virtual_points_ : ndarray of shape (n_points, n_weights), or a list of them
        The virtual points.
    n_seen_ : int
        The number of rows learned.
    log_evidence_ : float, or ndarray of shape (n_classes,)
        The log-probability of all labels, each predicted before it was learned, by VVM alone.
    counters_ : dict
        How often points were evicted, merged or ignored, the sweeps of EP, the divergence lost.
    n_features_in_ : int
        The number of columns.
    feature_names_in_ : ndarray of shape (n_features,)
        The names of the columns, if they have names that are strings.

    References
    ----------
    Minka, Xiang, Qi: Virtual Vector Machine for Bayesian Online Classification, UAI 2009.

    Examples
    --------
    >>> from virtualvector import VVMClassifier
    >>> from virtualvector.datasets import load_ionosphere
    >>> X, y = load_ionosphere(return_X_y=True, random_state=0)
    >>> model = VVMClassifier(margin_noise=0.5)
    >>> for start in range(0, 300, 50):
    ...     model = model.partial_fit(X[start:start + 50], y[start:start + 50], classes=[0, 1])
    >>> model.predict_proba(X[300:302]).round(3)
    array([[0.018, 0.982],
           [0.783, 0.217]])
    >>> model.n_seen_, len(model.virtual_points_)
    (300, 30)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BayesianLinearClassifier._parameter_constraints,
        "eviction": [StrOptions({"divergence", "margin"})],
        "hedge": ["boolean"],
    }

    _learned: ClassVar[dict[str, Any]] = {"posterior": OneVsRest | Hedged, "scale": float}

    def __init__(
        self,
        buffer_size: int = 30,
        *,
        label_noise: float = 0.0,
        margin_noise: float = 0.0,
        merge_pairs: int = 5,
        eviction: str = "divergence",
        prior_variance: float = 1.0,
        fit_intercept: bool = True,
        tol: float = 1e-10,
        max_sweeps: int = 30,
        half_life: float | None = None,
        covariance: str = "full",
        rank: int = 20,
        hedge: bool = True,
        class_weight: ClassWeight = None,
        new_columns: str = ERROR,
        shuffle: bool = True,
        random_state: int = 0,
    ) -> None:
        self.buffer_size = buffer_size
        self.label_noise = label_noise
        self.margin_noise = margin_noise
        self.merge_pairs = merge_pairs
        self.eviction = eviction
        self.prior_variance = prior_variance
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_sweeps = max_sweeps
        self.half_life = half_life
        self.covariance = covariance
        self.rank = rank
        self.hedge = hedge
        self.class_weight = class_weight
        self.new_columns = new_columns
        self.shuffle = shuffle
        self.random_state = random_state

    def _settings(self) -> Settings:
        return presets.vvm(
            self._noise,
            self.buffer_size,
            merge_pairs=self.merge_pairs,
            eviction=self.eviction,
            tolerance=self.tol,
            max_sweeps=self.max_sweeps,
        )

    def _beside(self) -> Settings | None:
        is_due = self.hedge and self.label_noise > 0.0 and self.buffer_size > 0
        return presets.adf(self._noise) if is_due else None
