"""What can be read from a learner."""

import numpy as np
import pytest

from tests.learners.learner_examples import ALONE, LEARNERS, every_learner, every_noise, problem
from virtualvector import (
    ADFClassifier,
    AutoVVMClassifier,
    EPClassifier,
    NaturalGradientClassifier,
    RandomFourierFeatures,
    SOGPClassifier,
    VVMClassifier,
    WindowEPClassifier,
)
from virtualvector.baselines import KalmanClassifier
from virtualvector.features import RunningStandardScaler


@every_learner
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize(("n_classes", "posteriors"), [(2, 1), (3, 3), (5, 5)])
def test_shapes(learner, fit_intercept, n_classes, posteriors):
    X, y = problem(n_classes=n_classes)
    model = learner(margin_noise=0.5, fit_intercept=fit_intercept).fit(X, y)
    weights = 4 + fit_intercept
    assert model.classes_.tolist() == list(range(n_classes))
    assert model.coef_.shape == (posteriors, 4)
    assert model.intercept_.shape == (posteriors,)
    assert np.any(model.intercept_) == fit_intercept
    assert model.n_features_in_ == 4
    assert model.n_seen_ == 60
    if posteriors == 1:
        assert model.covariance_.shape == (weights, weights)
        assert model.virtual_points_.shape[1] == weights
        assert isinstance(model.log_evidence_, float)
    else:
        assert model.covariance_.shape == (posteriors, weights, weights)
        assert [points.shape[1] for points in model.virtual_points_] == [weights] * posteriors
        assert model.log_evidence_.shape == (posteriors,)


@every_learner
@every_noise
@pytest.mark.parametrize("n_classes", [2, 3])
def test_covariances_are_symmetric_and_narrower_than_the_prior(
    learner, margin_noise, label_noise, n_classes
):
    X, y = problem(n_classes=n_classes)
    model = learner(margin_noise=margin_noise, label_noise=label_noise, prior_variance=2.5)
    for covariance in np.reshape(model.fit(X, y).covariance_, (-1, 5, 5)):
        np.testing.assert_allclose(covariance, covariance.T, rtol=0, atol=1e-15)
        eigenvalues = np.linalg.eigvalsh(covariance)
        assert eigenvalues[0] > 0
        assert eigenvalues[0] < 0.5
        assert eigenvalues[-1] < 2.5 * 1.01


@pytest.mark.parametrize(
    ("name", "points"), [("vvm", 6), ("vvm_by_margin", 6), ("adf", 0), ("window_ep", 6), ("ep", 60)]
)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_virtual_points_are_unit_vectors_and_as_many_as_there_is_room_for(name, points, n_classes):
    X, y = problem(n_classes=n_classes)
    model = LEARNERS[name](margin_noise=0.5).fit(X, y)
    found = [model.virtual_points_] if n_classes == 2 else model.virtual_points_
    assert len(found) == (1 if n_classes == 2 else 3)
    for array in found:
        assert array.shape == (points, 5)
        np.testing.assert_allclose(np.linalg.norm(array, axis=1), 1, rtol=1e-14)


def test_the_points_of_a_window_are_the_last_rows_turned_to_the_side_of_their_class():
    X, y = problem()
    model = LEARNERS["window_ep"]().fit(X, y)
    rows = np.column_stack([X, np.ones(60)])[-6:] * np.where(y[-6:] == 1, 1, -1)[:, np.newaxis]
    expected = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    found = model.virtual_points_
    np.testing.assert_allclose(found[np.argsort(found[:, 0])], expected[np.argsort(expected[:, 0])])


@every_learner
@pytest.mark.parametrize("n_classes", [2, 3])
def test_attributes_are_copies(learner, n_classes):
    X, y = problem(n_classes=n_classes)
    model = learner(margin_noise=0.5).fit(X, y)
    before = model.predict_proba(X)
    for array in (model.coef_, model.intercept_, model.covariance_, *model.virtual_points_):
        array[:] = 7.0
    np.testing.assert_array_equal(model.predict_proba(X), before)
    assert not np.any(model.covariance_ == 7.0)


@pytest.mark.parametrize("name", ["vvm", "vvm_by_margin", "adf", "window_ep"])
@every_noise
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_log_evidence_is_what_predicting_before_learning_adds_up_to(
    name, margin_noise, label_noise, fit_intercept
):
    X, _ = problem(rows=100)
    X[3] = 0.0  # without a bias this says nothing: both classes have one half
    y = (X @ [1.0, -2.0, 0.5, 0.0] > 0).astype(int)
    if margin_noise or label_noise:  # without noise, contradictions use up all digits
        y[::9] = 1 - y[::9]
    model = ALONE[name](
        margin_noise=margin_noise, label_noise=label_noise, fit_intercept=fit_intercept
    )
    total = np.log(0.5)
    model.partial_fit(X[:1], y[:1], classes=[0, 1])
    for t in range(1, 100):
        total += model.predict_log_proba(X[t : t + 1])[0, y[t]]
        model.partial_fit(X[t : t + 1], y[t : t + 1])
    assert model.log_evidence_ == pytest.approx(total, rel=1e-8)


@every_noise
def test_log_evidence_of_ep_is_that_of_learning_each_row_once(margin_noise, label_noise):
    X, y = problem()
    noise = {"margin_noise": margin_noise, "label_noise": label_noise}
    once = ADFClassifier(**noise).fit(X, y).log_evidence_
    assert EPClassifier(**noise).fit(X, y).log_evidence_ == pytest.approx(once, rel=1e-8)


@every_learner
def test_each_class_has_its_log_evidence_against_the_rest(learner):
    X, y = problem(n_classes=3)
    evidence = learner(margin_noise=0.5).fit(X, y).log_evidence_
    for k in range(3):
        assert evidence[k] == learner(margin_noise=0.5).fit(X, y == k).log_evidence_


@every_learner
@every_noise
@pytest.mark.parametrize("n_classes", [2, 3])
def test_every_row_is_kept_or_lost_in_a_way_that_is_counted(
    learner, margin_noise, label_noise, n_classes
):
    X, y = problem(n_classes=n_classes)
    X[[5, 20, 40]] = 0.0
    model = learner(margin_noise=margin_noise, label_noise=label_noise, fit_intercept=False)
    history = model.fit(X, y).counters_
    posteriors = 1 if n_classes == 2 else 3
    points = [model.virtual_points_] if posteriors == 1 else model.virtual_points_
    assert history["ignored"] == 3 * posteriors
    lost = history["evicted"] + history["merged"] + history["ignored"]
    assert sum(len(array) for array in points) + lost == 60 * posteriors
    assert history["divergence_lost"] >= 0
    assert history["sweeps"] >= 0


def test_only_learners_that_merge_count_merges():
    X, y = problem()
    X = np.repeat(X, 2, axis=0)
    y = np.repeat(y, 2)
    merged = {
        name: learner(margin_noise=0.5).fit(X, y).counters_["merged"]
        for name, learner in LEARNERS.items()
    }
    assert merged.pop("vvm") > 0
    assert not any(merged.values())


def test_the_best_guess_is_the_posterior_mean_of_the_weights():
    X, y = problem(rows=2000, flipped=0.0)
    truth = np.linalg.lstsq(np.column_stack([X, np.ones(2000)]), 2.0 * y - 1, rcond=None)[0]
    model = VVMClassifier(margin_noise=0.01).fit(X, y)
    found = np.append(model.coef_[0], model.intercept_)
    assert found @ truth / np.linalg.norm(found) / np.linalg.norm(truth) > 0.98


@pytest.mark.parametrize(
    ("model", "text"),
    [
        (VVMClassifier(), "VVMClassifier()"),
        (VVMClassifier(5, margin_noise=0.5), "VVMClassifier(buffer_size=5, margin_noise=0.5)"),
        (ADFClassifier(label_noise=0.1), "ADFClassifier(label_noise=0.1)"),
        (WindowEPClassifier(10), "WindowEPClassifier(buffer_size=10)"),
        (EPClassifier(prior_variance=2.0), "EPClassifier(prior_variance=2.0)"),
    ],
)
def test_a_learner_shows_the_parameters_that_were_chosen(model, text):
    assert repr(model) == text
    assert repr(model.fit([[0.0], [1.0]], [0, 1])) == text


def test_ep_says_when_it_has_no_fixed_point():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 3)), rng.integers(2, size=200)  # nothing fits without noise
    model = EPClassifier().fit(X, y)
    assert model.counters_["unsettled"] == 1
    np.testing.assert_allclose(model.coef_, ADFClassifier().fit(X, y).coef_, rtol=1e-6)

    easy = EPClassifier(margin_noise=1.0).fit(X, y)
    assert easy.counters_["unsettled"] == 0
    assert easy.counters_["sweeps"] > 1
    assert not np.allclose(easy.coef_, ADFClassifier(margin_noise=1.0).fit(X, y).coef_, rtol=1e-6)


def test_changing_parameters_later_does_not_change_what_was_learned():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 3)), rng.integers(2, size=50)
    model = VVMClassifier(margin_noise=1.0, prior_variance=4.0).fit(X, y)
    before = model.coef_, model.intercept_, model.covariance_, model.predict_proba(X)
    model.set_params(prior_variance=9.0, fit_intercept=False, margin_noise=0.0)
    after = model.coef_, model.intercept_, model.covariance_, model.predict_proba(X)
    for a, b in zip(before, after, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    "estimator",
    [
        NaturalGradientClassifier(),
        SOGPClassifier(),
        KalmanClassifier(),
        RandomFourierFeatures(3),
        RunningStandardScaler(),
    ],
)
def test_what_has_no_model_file_says_why(estimator, tmp_path):
    with pytest.raises(TypeError, match=rf"a {type(estimator).__name__} has no model file: "):
        estimator.save(tmp_path / "m.vvm")
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize(
    "estimator",
    [VVMClassifier(3), ADFClassifier(), WindowEPClassifier(3), EPClassifier(), AutoVVMClassifier()],
)
def test_one_attribute_means_the_same_everywhere(estimator):
    X, y = problem(rows=40)
    estimator.fit(X, y)
    assert estimator.counters_.keys() == {
        "evicted", "merged", "ignored", "sweeps", "unsettled", "divergence_lost",
    }  # fmt: skip
    assert estimator.n_seen_ == 40
    assert estimator.n_features_in_ == X.shape[1]
