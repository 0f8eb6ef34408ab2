"""A residual of low rank as textbooks have it: with its precision matrix written out."""

import numpy as np
from scipy.stats import norm


def adf_step(mean, precision, x, noise):
    """What ADF makes of one factor Φ(xᵀw/s) of N(mean, precision⁻¹): the new mean, and τ."""
    covariance = np.linalg.inv(precision)
    variance = x @ covariance @ x
    spread = np.sqrt(variance + noise)
    z = x @ mean / spread
    h = np.exp(norm.logpdf(z) - norm.logcdf(z))
    shrinkage = h * (h + z) / spread**2
    tau = shrinkage / (1.0 - shrinkage * variance)
    return mean + covariance @ x * h / spread, tau, norm.logcdf(z)


def adpredictor(rows, signs, noise):
    """Graepel and others (2010): a variance for each weight, matched to what it becomes."""
    variances, mean, evidence = np.ones(rows.shape[1]), np.zeros(rows.shape[1]), 0.0
    for row, sign in zip(rows, signs, strict=True):
        x = sign * row
        precision = np.diag(1.0 / variances)
        mean, tau, said = adf_step(mean, precision, x, noise)
        variances = np.diagonal(np.linalg.inv(precision + tau * np.outer(x, x)))
        evidence += said
    return mean, variances, evidence


def diagonal_adf(rows, signs, noise):
    """ADF with a precision for each weight: η ← η + τx², the mean as with all covariances."""
    diagonal, mean, evidence = np.ones(rows.shape[1]), np.zeros(rows.shape[1]), 0.0
    for row, sign in zip(rows, signs, strict=True):
        x = sign * row
        mean, tau, said = adf_step(mean, np.diag(diagonal), x, noise)
        diagonal = diagonal + tau * x**2
        evidence += said
    return mean, diagonal, evidence
