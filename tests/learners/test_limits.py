"""The Virtual Vector Machine lies between two limits: no points, and all of them."""

import numpy as np
import pytest

from tests.learners.learner_examples import assert_same_model, every_noise, problem
from virtualvector import ADFClassifier, EPClassifier, VVMClassifier, WindowEPClassifier


@every_noise
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("eviction", ["divergence", "margin"])
def test_without_points_it_is_assumed_density_filtering(
    margin_noise, label_noise, n_classes, eviction
):
    X, y = problem(rows=150, n_classes=n_classes)
    noise = {"margin_noise": margin_noise, "label_noise": label_noise, "prior_variance": 2.0}
    adf = ADFClassifier(**noise).fit(X, y)
    vvm = VVMClassifier(0, eviction=eviction, **noise).fit(X, y)
    np.testing.assert_allclose(vvm.coef_, adf.coef_, rtol=0, atol=1e-12)
    np.testing.assert_allclose(vvm.covariance_, adf.covariance_, rtol=0, atol=1e-12)
    np.testing.assert_allclose(vvm.log_evidence_, adf.log_evidence_, rtol=1e-12)
    assert_same_model(WindowEPClassifier(0, **noise).fit(X, y), vvm, X)


@pytest.mark.parametrize(
    ("margin_noise", "label_noise"), [(0.0, 0.0), (0.5, 0.0), (2.0, 0.0), (0.3, 0.02), (1.0, 0.05)]
)
@pytest.mark.parametrize(("columns", "rows"), [(3, 40), (20, 12), (4, 60), (30, 25), (10, 150)])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_with_all_points_it_is_expectation_propagation(
    margin_noise, label_noise, columns, rows, seed
):
    X, y = problem(rows=rows, columns=columns, flipped=label_noise, seed=seed)
    if label_noise == 0:
        y = (X @ np.arange(1, columns + 1) > 0.5).astype(int)  # separable
    noise = {"margin_noise": margin_noise, "label_noise": label_noise}
    ep = EPClassifier(**noise).fit(X, y)
    for all_points in (VVMClassifier(rows, **noise), WindowEPClassifier(rows + 7, **noise)):
        model = all_points.fit(X, y)
        np.testing.assert_allclose(model.coef_, ep.coef_, rtol=0, atol=1e-8)
        np.testing.assert_allclose(model.intercept_, ep.intercept_, rtol=0, atol=1e-8)
        np.testing.assert_allclose(model.covariance_, ep.covariance_, rtol=0, atol=1e-8)


def test_more_points_come_closer_to_expectation_propagation():
    distances = {}
    for seed in range(20):
        X, y = problem(rows=80, columns=6, flipped=0.0, seed=seed)
        ep = EPClassifier(margin_noise=0.05).fit(X, y)
        for size in (0, 5, 20, 80):
            vvm = VVMClassifier(size, margin_noise=0.05).fit(X, y)
            distances.setdefault(size, []).append(np.linalg.norm(vvm.coef_ - ep.coef_))
    means = [np.mean(distances[size]) for size in (0, 5, 20, 80)]
    assert means[0] > means[1] > means[2] > means[3]
    assert means[3] < 1e-7
