"""The four learners written from their definitions, with dense matrices and inverses.

Slow and naive on purpose, and free of the package's code: natural parameters,
`scipy.special.ndtr`, one `inv` per visit. Sites are factors exp(νu − ½τu²) of the margin u = bᵀw.
"""

import numpy as np
from scipy.special import ndtr


def folded(rows, signs, bias=True):
    rows = np.column_stack([rows, np.ones(len(rows))]) if bias else rows
    return rows * np.asarray(signs)[:, None]


def tilted_site(mean, variance, margin_noise, label_noise):
    """Moment matching by eqs. 18-21, in the form of GP classification with a probit likelihood."""
    z = mean / np.sqrt(variance + margin_noise)
    density = np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi)
    h = (1 - 2 * label_noise) * density / (label_noise + (1 - 2 * label_noise) * ndtr(z))
    new_mean = mean + variance * h / np.sqrt(variance + margin_noise)
    new_variance = variance - variance**2 * h * (h + z) / (variance + margin_noise)
    return 1 / new_variance - 1 / variance, new_mean / new_variance - mean / variance


class Textbook:
    """A Gaussian prior in natural parameters, and points with sites."""

    def __init__(self, d, margin_noise=0.0, label_noise=0.0):
        self.precision, self.shift = np.eye(d), np.zeros(d)  # of the residual
        self.points, self.sites = [], []
        self.noise = margin_noise, label_noise

    def gaussian(self):
        precision, shift = self.precision, self.shift
        if self.points:
            points, sites = np.array(self.points), np.array(self.sites)
            precision = precision + (points.T * sites[:, 0]) @ points
            shift = shift + sites[:, 1] @ points
        covariance = np.linalg.inv(precision)
        return covariance @ shift, (covariance + covariance.T) / 2

    def visit(self, i):
        mean, covariance = self.gaussian()
        b, (t, n) = self.points[i], self.sites[i]
        variance = b @ covariance @ b
        cavity_variance = 1 / (1 / variance - t)
        cavity_mean = cavity_variance * (b @ mean / variance - n)
        new = tilted_site(cavity_mean, cavity_variance, *self.noise)
        moved = np.abs(np.subtract(new, (t, n))) * [variance, np.sqrt(variance)]
        self.sites[i] = new
        return moved.max()

    def add(self, b):
        self.points.append(b)
        self.sites.append((0.0, 0.0))

    def converge(self, tolerance=1e-13, sweeps=2000):
        for _ in range(sweeps):
            if max(self.visit(i) for i in range(len(self.points))) < tolerance:
                return
        raise AssertionError("the textbook EP did not converge")

    def drop(self, i):
        b, (t, n) = self.points.pop(i), self.sites.pop(i)
        self.precision += t * np.outer(b, b)
        self.shift += n * b
        assert np.linalg.eigvalsh(self.precision).min() > 0, "dropping left an improper residual"


def ep(points, margin_noise=0.0, label_noise=0.0):
    """Batch EP, run to convergence."""
    model = Textbook(points.shape[1], margin_noise, label_noise)
    for b in points:
        model.add(b)
        model.visit(len(model.points) - 1)
    model.converge()
    return model.gaussian()


def window_ep(points, size, margin_noise=0.0, label_noise=0.0):
    """EP over the last points; the oldest one leaves its site behind. Size 0 is ADF."""
    model = Textbook(points.shape[1], margin_noise, label_noise)
    for b in points:
        model.add(b)
        model.visit(len(model.points) - 1)
        model.converge()
        if len(model.points) > size:
            model.drop(0)
    return model.gaussian()
