"""Expectation propagation over all rows (Minka 2001; section 2)."""

from __future__ import annotations

from virtualvector.learners.base import BayesianLinearClassifier
from virtualvector.learners.columns import ERROR
from virtualvector.posterior import Settings, presets
from virtualvector.types import ClassWeight


class EPClassifier(BayesianLinearClassifier):
    """Bayesian classification by expectation propagation over every row seen.

    The reference that the online learners approach: it keeps all rows, so its memory grows with the
    stream. Learning a row costs one visit to it; EP runs to convergence when the posterior is
    read. `log_evidence_` is made of predictions before that, so it is the one of `ADFClassifier`.
    Where EP has no fixed point, because rows without noise contradict each other, the whole
    posterior is, and ``counters_["unsettled"]`` says so.

    Parameters
    ----------
    label_noise, margin_noise, prior_variance, fit_intercept, tol
    class_weight, new_columns, shuffle, random_state
        As for `VVMClassifier`, which also describes the attributes.
    max_sweeps : int, default=1000
        Most sweeps over the rows when the posterior is read.

    Examples
    --------
    >>> from virtualvector import EPClassifier
    >>> from virtualvector.datasets import load_ionosphere
    >>> X, y = load_ionosphere(return_X_y=True, random_state=0)
    >>> model = EPClassifier(margin_noise=0.5).fit(X[:250], y[:250])
    >>> round(model.score(X[250:], y[250:]), 3)
    0.822
    """

    def __init__(
        self,
        *,
        label_noise: float = 0.0,
        margin_noise: float = 0.0,
        prior_variance: float = 1.0,
        fit_intercept: bool = True,
        tol: float = 1e-10,
        max_sweeps: int = 1000,
        class_weight: ClassWeight = None,
        new_columns: str = ERROR,
        shuffle: bool = True,
        random_state: int = 0,
    ) -> None:
        self.label_noise = label_noise
        self.margin_noise = margin_noise
        self.prior_variance = prior_variance
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_sweeps = max_sweeps
        self.class_weight = class_weight
        self.new_columns = new_columns
        self.shuffle = shuffle
        self.random_state = random_state

    def _settings(self) -> Settings:
        return self._both_settings()[0]

    def _settling(self) -> Settings:
        return self._both_settings()[1]

    def _both_settings(self) -> tuple[Settings, Settings]:
        return presets.ep(self._noise, tolerance=self.tol, max_sweeps=self.max_sweeps)
