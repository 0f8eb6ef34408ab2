"""Window-EP: expectation propagation over the last rows (Qi & Minka 2007; section 2)."""

from __future__ import annotations

from virtualvector.learners.base import BayesianLinearClassifier
from virtualvector.learners.columns import ERROR
from virtualvector.posterior import Settings, presets
from virtualvector.types import ClassWeight


class WindowEPClassifier(BayesianLinearClassifier):
    """Bayesian online classification with a Gaussian and the last rows of the stream.

    The points in the buffer are always the newest ones; each leaves its site behind.

    Parameters
    ----------
    buffer_size : int, default=30
        Rows kept between rows.
    label_noise, margin_noise, prior_variance, fit_intercept, tol, max_sweeps, half_life
    covariance, rank, class_weight, new_columns, shuffle, random_state
        As for `VVMClassifier`, which also describes the attributes.

    Examples
    --------
    >>> from virtualvector import WindowEPClassifier
    >>> from virtualvector.datasets import load_ionosphere
    >>> X, y = load_ionosphere(return_X_y=True, random_state=0)
    >>> model = WindowEPClassifier(10, margin_noise=0.5).fit(X[:250], y[:250])
    >>> round(model.score(X[250:], y[250:]), 3)
    0.832
    """

    def __init__(
        self,
        buffer_size: int = 30,
        *,
        label_noise: float = 0.0,
        margin_noise: float = 0.0,
        prior_variance: float = 1.0,
        fit_intercept: bool = True,
        tol: float = 1e-10,
        max_sweeps: int = 30,
        half_life: float | None = None,
        covariance: str = "full",
        rank: int = 20,
        class_weight: ClassWeight = None,
        new_columns: str = ERROR,
        shuffle: bool = True,
        random_state: int = 0,
    ) -> None:
        self.buffer_size = buffer_size
        self.label_noise = label_noise
        self.margin_noise = margin_noise
        self.prior_variance = prior_variance
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_sweeps = max_sweeps
        self.half_life = half_life
        self.covariance = covariance
        self.rank = rank
        self.class_weight = class_weight
        self.new_columns = new_columns
        self.shuffle = shuffle
        self.random_state = random_state

    def _settings(self) -> Settings:
        return presets.window_ep(
            self._noise, self.buffer_size, tolerance=self.tol, max_sweeps=self.max_sweeps
        )
