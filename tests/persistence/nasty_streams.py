"""Streams that are legal and hard: rows of any length, contradictions, columns without a word."""

import numpy as np

from virtualvector import ADFClassifier, EPClassifier, VVMClassifier, WindowEPClassifier


def plain(rng, shape):
    return rng.normal(size=shape)


def of_any_length(rng, shape):
    return rng.normal(size=shape) * 10.0 ** rng.integers(-150, 150, size=(shape[0], 1))


def of_any_size(rng, shape):
    return rng.normal(size=shape) * 10.0 ** rng.integers(-150, 150, size=shape)


def huge(rng, shape):
    return rng.choice([-1.7e308, 1.7e308, 5e-324, 0.0, 1.0], size=shape)


def repeated(rng, shape):
    few = rng.normal(size=(3, shape[1]))
    return few[rng.integers(3, size=shape[0])]


def almost_repeated(rng, shape):
    return repeated(rng, shape) + 1e-9 * rng.normal(size=shape)


def constant(rng, shape):
    rows = rng.normal(size=shape)
    rows[:, :-1] = 7.0
    return rows


def mostly_zero(rng, shape):
    return rng.normal(size=shape) * (rng.random(shape) < 0.2)


def opposite(rng, shape):
    row = rng.normal(size=shape[1])
    return row * rng.choice([-1.0, 1.0], size=(shape[0], 1))


def jumping(rng, shape):
    return rng.normal(size=shape) + np.linspace(0.0, 1e6, shape[0])[:, np.newaxis]


ROWS = (
    plain, of_any_length, of_any_size, huge, repeated, almost_repeated, constant, mostly_zero,
    opposite, jumping,
)  # fmt: skip


def by_a_plane(rng, rows, n_classes):
    scores = np.tanh(rows) @ rng.normal(size=(rows.shape[1], n_classes))
    return np.argmax(scores, axis=1)


def turned(rng, rows, n_classes):
    right, wrong = by_a_plane(rng, rows, n_classes), by_chance(rng, rows, n_classes)
    return np.where(rng.random(len(rows)) < 0.3, wrong, right)


def by_chance(rng, rows, n_classes):
    return rng.integers(n_classes, size=len(rows))


def in_turn(rng, rows, n_classes):
    return np.arange(len(rows)) % n_classes


def late(rng, rows, n_classes):
    return np.sort(rng.integers(n_classes, size=len(rows)))


LABELS = (by_a_plane, turned, by_chance, in_turn, late)

NOISES = [
    {}, {"margin_noise": 0.5}, {"label_noise": 0.05}, {"label_noise": 1e-300},
    {"label_noise": 0.499}, {"margin_noise": 1e-12}, {"margin_noise": 1e100},
    {"label_noise": 0.02, "margin_noise": 0.1}, {"margin_noise": 1.0, "prior_variance": 1e-100},
]  # fmt: skip


def learners(noise):
    forgets = [{}, {"half_life": 0.5}, {"half_life": 20.0}, {"half_life": 1e300}]
    found = [EPClassifier(**noise)]
    for half_life in forgets:
        found += [
            ADFClassifier(**noise, **half_life),
            WindowEPClassifier(4, **noise, **half_life),
            VVMClassifier(1, **noise, **half_life),
            VVMClassifier(6, **noise, **half_life),
            VVMClassifier(6, eviction="margin", tol=0.0, merge_pairs=40, **noise, **half_life),
            VVMClassifier(20, merge_pairs=0, fit_intercept=False, **noise, **half_life),
        ]
    return found
