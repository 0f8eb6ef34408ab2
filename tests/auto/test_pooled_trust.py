"""Whom to trust, and how to correct it, learned by shards as by one stream."""

from dataclasses import replace

import numpy as np

from tests.auto.test_pooling import learned
from virtualvector.auto.pooling import mean_trust, trust_by_evidence
from virtualvector.kernels import calibration
from virtualvector.kernels.calibration import add_log_likelihoods, correct
from virtualvector.kernels.log_pool import log_pool
from virtualvector.kernels.recalibration import Recalibration, recalibrate


def opinions(seed, n, n_experts=3):
    """Return what experts who are right to some degree say of rows, and what came."""
    rng = np.random.default_rng(seed)
    odds = rng.normal(size=n)
    came = (rng.random(n) < 1 / (1 + np.exp(-2 * odds))).astype(int)
    each = odds + 0.8 * rng.normal(size=(n_experts, n))
    right = 1 / (1 + np.exp(-each))
    return np.stack([1 - right, right], axis=-1), came


def test_exponents_learned_by_shards_are_those_of_one_stream():
    start, rng = learned(0, 100)._committee, np.random.default_rng(1)
    covariance = 0.1 * np.eye(3) + 0.02 * rng.normal(size=(3, 1)) * rng.normal(size=3)
    covariance = 0.5 * (covariance + covariance.T)
    start = replaced(start, np.full(3, 1 / 3), covariance, start.n_rows)
    said, came = opinions(2, 900)

    def after(known, rows):
        mean, covariance = (each.copy() for each in known.pool)
        n = rows.stop - rows.start
        log_pool(
            np.ascontiguousarray(said[:, rows]), came[rows], np.zeros(0), mean, covariance, 1e-6,
            True, np.zeros((3, 4)), np.zeros((n, 2)),
        )  # fmt: skip
        return replaced(known, mean, covariance, known.n_rows + n)

    base = after(start, slice(0, 600))
    whole = after(base, slice(600, 900))
    shards = [after(base, slice(a, a + 100)) for a in (600, 700, 800)]
    found = trust_by_evidence(shards, base, [np.zeros(16)] * 3).pool
    # Newton's steps are taken from other places, no more: the rest is the algebra of Gaussians.
    deviations = np.sqrt(np.diagonal(whole.pool.covariance))
    assert np.all(np.abs(found.mean - whole.pool.mean) < 0.15 * deviations)
    np.testing.assert_allclose(found.covariance, whole.pool.covariance, rtol=0.05, atol=1e-4)
    one = trust_by_evidence(shards[:1], base, [np.zeros(16)]).pool
    np.testing.assert_allclose(one.mean, shards[0].pool.mean, rtol=1e-9)
    np.testing.assert_allclose(one.covariance, shards[0].pool.covariance, rtol=1e-9, atol=1e-15)


def replaced(committee, mean, covariance, n_rows):
    return replace(committee, pool=type(committee.pool)(mean, covariance), n_rows=n_rows)


def of_shards(n_rows, n_classes=3):
    """Return a function that recalibrates some rows of a stream, and goes on from what it knew."""
    rng = np.random.default_rng(5)
    said = rng.dirichlet(np.ones(n_classes), size=n_rows)
    came = np.array([rng.choice(n_classes, p=np.sqrt(p) / np.sqrt(p).sum()) for p in said])

    def after(known, rows):
        own = known.recalibration.copy()
        n = rows.stop - rows.start
        recalibrate(said[rows].copy(), came[rows], np.zeros(0), own, True, np.zeros((4, 6)))
        return replace(known, recalibration=own, n_rows=known.n_rows + n)

    return after


def test_shards_recalibrate_as_one_stream_does():
    start = learned(0, 100)._committee
    start = replace(start, recalibration=Recalibration.start(3))
    classes = np.array([0, 1, 2])
    posteriors = tuple(replace(each, classes=classes) for each in start.posteriors)
    start = replace(start, posteriors=posteriors, counts=np.zeros(3))
    after = of_shards(1200)
    base = after(start, slice(0, 900))
    whole = after(base, slice(900, 1200)).recalibration
    shards = [after(base, slice(a, a + 100)) for a in (900, 1000, 1100)]
    found = trust_by_evidence(shards, base, [np.zeros(16)] * 3).recalibration
    for mean, covariances in ((0, 1), (2, 3)):
        deviations = np.sqrt(np.diagonal(whole[covariances], axis1=-2, axis2=-1))
        assert np.all(np.abs(found[mean] - whole[mean]) < 0.15 * deviations)
        np.testing.assert_allclose(found[covariances], whole[covariances], rtol=0.05, atol=1e-4)
    np.testing.assert_allclose(found.leads, whole.leads, atol=0.5)
    one = trust_by_evidence(shards[:1], base, [np.zeros(16)]).recalibration
    for array, expected in zip(one, shards[0].recalibration, strict=True):
        np.testing.assert_allclose(array, expected, rtol=1e-9, atol=1e-15)
    both = mean_trust(shards[:2], base).recalibration
    for array, *each in zip(both, *(shard.recalibration for shard in shards[:2]), strict=True):
        np.testing.assert_allclose(array, np.mean(each, axis=0), rtol=1e-12)


def test_likelihoods_of_corrections_are_what_moves_their_weights():
    said, came = opinions(3, 120, 2)
    powers = np.random.default_rng(0).uniform(0.2, 1.0, 120)
    weights = calibration.first_weights()
    before = weights.copy()
    correct(
        said, came, powers, calibration.SOURCES, calibration.POWERS, calibration.SHARES, weights,
        before, 0.0, 0.0, 0.0, True, np.zeros((16, 2)), np.zeros((120, 2)),
    )  # fmt: skip
    gains = np.zeros(16)
    add_log_likelihoods(
        said, came, powers, calibration.SOURCES, calibration.POWERS, calibration.SHARES, gains
    )
    moved = np.log(weights / before)
    np.testing.assert_allclose(gains - gains[0], moved - moved[0], rtol=1e-9, atol=1e-9)
