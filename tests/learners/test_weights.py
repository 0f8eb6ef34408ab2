"""A row of weight 2 is a row seen twice; half a row is its likelihood to the power one half."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtr
from sklearn.base import clone
from sklearn.linear_model import SGDClassifier
from sklearn.utils.class_weight import compute_class_weight

from tests.learners.learner_examples import (
    LEARNERS,
    assert_same_model,
    every_learner,
    every_noise,
    problem,
)
from virtualvector import ADFClassifier, EPClassifier, VVMClassifier
from virtualvector.learners import weights as weighing
from virtualvector.learners.weights import MOST_REPETITIONS, Repetitions


def whole_weights(n, seed=0):
    return np.random.default_rng(seed).integers(0, 4, n)


def parts(n, seed=0):
    rng = np.random.default_rng(seed)
    return np.where(rng.random(n) < 0.3, 0.0, rng.uniform(0.01, 3.0, n))


@every_learner
@every_noise
@pytest.mark.parametrize("n_classes", [2, 3])
def test_whole_weights_are_repetitions_to_the_last_bit(
    learner, margin_noise, label_noise, n_classes
):
    X, y = problem(50, n_classes=n_classes)
    w = whole_weights(50)
    model = learner(margin_noise=margin_noise, label_noise=label_noise)
    for shuffle in (True, False):
        one = clone(model).set_params(shuffle=shuffle).fit(X, y, sample_weight=w)
        other = clone(model).set_params(shuffle=shuffle).fit(X.repeat(w, axis=0), y.repeat(w))
        assert_same_model(one, other, X)
        assert one.n_seen_ == w.sum()
        np.testing.assert_array_equal(one.log_evidence_, other.log_evidence_)


@every_learner
def test_weights_of_a_stream_are_repetitions_however_it_is_cut(learner, monkeypatch):
    X, y = problem(50, n_classes=3)
    w = whole_weights(50, seed=1)
    w[20:23] = 0  # a call in which nothing is learned
    w[30] = 40
    other = learner(margin_noise=0.3).partial_fit(X.repeat(w, axis=0), y.repeat(w))
    monkeypatch.setattr(weighing, "AT_ONCE", 7)
    one = learner(margin_noise=0.3)
    for cut in np.split(np.arange(50), [11, 20, 23, 24, 40]):
        one.partial_fit(X[cut], y[cut], sample_weight=w[cut])
    assert_same_model(one, other, X)


@every_learner
@every_noise
def test_a_weight_of_zero_is_a_row_left_out(learner, margin_noise, label_noise):
    X, y = problem(60)
    w = parts(60)
    kept = w > 0
    model = learner(margin_noise=margin_noise, label_noise=label_noise)
    one = clone(model).fit(X, y, sample_weight=w)
    other = clone(model).fit(X[kept], y[kept], sample_weight=w[kept])
    assert_same_model(one, other, X)
    assert one.n_seen_ == np.ceil(w).sum()


@every_learner
@pytest.mark.parametrize("n_classes", [2, 3])
def test_what_is_learned_does_not_depend_on_how_a_stream_of_parts_is_cut(learner, n_classes):
    X, y = problem(60, n_classes=n_classes)
    w = parts(60)
    classes = list(range(n_classes))
    whole = learner(margin_noise=0.3, label_noise=0.02)
    whole.partial_fit(X, y, classes=classes, sample_weight=w)
    pieces = learner(margin_noise=0.3, label_noise=0.02)
    for cut in np.split(np.arange(60), [7, 8, 30]):
        pieces.partial_fit(X[cut], y[cut], classes=classes, sample_weight=w[cut])
    one_by_one = learner(margin_noise=0.3, label_noise=0.02)
    one_by_one.partial_fit(X[:1], y[:1], classes=classes, sample_weight=w[:1])
    for x, label, weight in zip(X[1:], y[1:], w[1:], strict=True):
        one_by_one.learn_one(x, label, sample_weight=weight)
    assert_same_model(whole, pieces, X)
    assert_same_model(whole, one_by_one, X)


def grid_posterior(X, signs, weights, margin_noise, label_noise):
    """Mean and covariance of two weights under the prior times all likelihoods to their powers."""
    axis = np.linspace(-6, 6, 1201)
    w = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1)
    log = -0.5 * np.square(w).sum(axis=-1)
    for x, sign, weight in zip(X, signs, weights, strict=True):
        right = ndtr(sign * (w @ x) / math.sqrt(margin_noise))
        log += weight * np.log(label_noise + (1 - 2 * label_noise) * right)
    mass = np.exp(log - log.max())
    mass /= mass.sum()
    mean = np.tensordot(mass, w, axes=2)
    apart = w - mean
    return mean, np.einsum("ij,ijk,ijl->kl", mass, apart, apart)


@pytest.mark.parametrize("weight", [0.05, 0.5, 0.95])
@pytest.mark.parametrize(("margin_noise", "label_noise"), [(0.4, 0.0), (0.4, 0.1), (4.0, 0.0)])
@every_learner
def test_a_part_of_a_row_has_the_exact_moments(learner, margin_noise, label_noise, weight):
    x = np.array([[0.8, -0.5]])
    mean, covariance = grid_posterior(x, [1.0], [weight], margin_noise, label_noise)
    model = learner(margin_noise=margin_noise, label_noise=label_noise, fit_intercept=False)
    model.partial_fit(x, [1], classes=[0, 1], sample_weight=[weight])
    np.testing.assert_allclose(model.coef_[0], mean, atol=1e-6)
    np.testing.assert_allclose(model.covariance_, covariance, atol=1e-6)
    assert model.log_evidence_ == pytest.approx(weight * math.log(0.5))


@pytest.mark.parametrize("learner", [LEARNERS["adf"], LEARNERS["vvm"], LEARNERS["ep"]])
def test_many_weighted_rows_lead_close_to_the_exact_posterior(learner):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(30, 2))
    y = (X @ [1.0, -0.7] + rng.normal(size=30) > 0).astype(int)
    w = rng.uniform(0.1, 2.5, 30)
    mean, covariance = grid_posterior(X, 2 * y - 1, w, 1.0, 0.0)
    model = learner(margin_noise=1.0, fit_intercept=False)
    model.partial_fit(X, y, classes=[0, 1], sample_weight=w)
    widths = np.sqrt(np.diag(covariance))
    assert np.all(np.abs(model.coef_[0] - mean) < 0.2 * widths)
    np.testing.assert_allclose(np.diag(model.covariance_), widths**2, rtol=0.25)
    unweighted = learner(margin_noise=1.0, fit_intercept=False).partial_fit(X, y)
    assert np.any(np.abs(unweighted.coef_[0] - mean) > 0.3 * widths)


def test_two_halves_are_about_a_whole_where_noise_is_wide():
    X, y = problem(200)
    whole = ADFClassifier(margin_noise=20.0, shuffle=False).fit(X, y)
    halves = ADFClassifier(margin_noise=20.0, shuffle=False)
    halves.fit(X.repeat(2, axis=0), y.repeat(2), sample_weight=np.full(400, 0.5))
    np.testing.assert_allclose(halves.coef_, whole.coef_, rtol=0.01, atol=0.001)


def test_without_any_noise_a_part_is_as_much_as_the_whole():
    X, y = problem(40, flipped=0)
    whole = VVMClassifier(5).fit(X, y)
    parts_only = VVMClassifier(5).fit(X, y, sample_weight=np.full(40, 0.3))
    np.testing.assert_array_equal(parts_only.coef_, whole.coef_)
    np.testing.assert_array_equal(parts_only.covariance_, whole.covariance_)
    assert parts_only.log_evidence_ == pytest.approx(0.3 * whole.log_evidence_)


@every_learner
@pytest.mark.parametrize("n_classes", [1, 2, 3])
def test_each_row_is_predicted_once_before_it_is_learned(learner, n_classes):
    X, y = problem(40, n_classes=n_classes, flipped=0)
    y[: min(n_classes, 40)] = np.arange(n_classes)
    w = np.where(np.arange(40) % 7 == 3, 0.0, parts(40, seed=2))
    w[20] = 0.0
    classes = list(range(n_classes))
    predictions = learner(margin_noise=0.3).predict_then_learn(X, y, classes, sample_weight=w)
    assert predictions.probabilities.shape == (40, n_classes)
    step_by_step = learner(margin_noise=0.3)
    first = int(np.argmax(w > 0))
    step_by_step.partial_fit(X[: first + 1], y[: first + 1], classes, sample_weight=w[: first + 1])
    for t in range(first + 1, 40):
        expected = step_by_step.predict_proba(X[t : t + 1])[0]
        np.testing.assert_allclose(predictions.probabilities[t], expected, rtol=1e-9, atol=1e-12)
        assert (
            predictions.labels[t] == step_by_step.classes_[np.argmax(predictions.probabilities[t])]
        )
        step_by_step.learn_one(X[t], y[t], sample_weight=w[t])


@every_learner
def test_predicting_before_learning_learns_the_same(learner):
    X, y = problem(50)
    w = parts(50)
    one = learner(margin_noise=0.3)
    one.predict_then_learn(X, y, [0, 1], sample_weight=w)
    other = learner(margin_noise=0.3).partial_fit(X, y, [0, 1], sample_weight=w)
    assert_same_model(one, other, X)


@every_learner
def test_weights_of_classes_multiply_those_of_rows(learner):
    X, y = problem(60, n_classes=3)
    names = np.array(["a", "b", "c"])[y]
    w = parts(60)
    own = np.array([2.0, 0.5, 1.0])[y]
    model = learner(margin_noise=0.3)
    by_class = clone(model).set_params(class_weight={"a": 2, "b": 0.5})
    assert_same_model(by_class.fit(X, names), clone(model).fit(X, names, sample_weight=own), X)
    one = clone(by_class).fit(X, names, sample_weight=w)
    assert_same_model(one, clone(model).fit(X, names, sample_weight=own * w), X)
    stream = clone(by_class).partial_fit(X[:1], names[:1], classes=["a", "b", "c"])
    for x, name in zip(X[1:], names[1:], strict=True):
        stream.learn_one(x, name)
    in_order = clone(model).partial_fit(X, names, ["a", "b", "c"], sample_weight=own)
    assert_same_model(stream, in_order, X)


@every_learner
def test_balanced_is_as_in_scikit_learn(learner):
    X, y = problem(60, n_classes=3)
    model = learner(margin_noise=0.3)
    of_class = compute_class_weight("balanced", classes=np.arange(3), y=y)
    balanced = clone(model).set_params(class_weight="balanced").fit(X, y)
    assert_same_model(balanced, clone(model).fit(X, y, sample_weight=of_class[y]), X)
    w = parts(60)
    of_class = compute_class_weight("balanced", classes=np.arange(3), y=y, sample_weight=w)
    one = clone(balanced).fit(X, y, sample_weight=w)
    other = clone(model).fit(X, y, sample_weight=of_class[y] * w)
    np.testing.assert_allclose(one.coef_, other.coef_, rtol=1e-9)


def test_a_rare_class_is_found_more_often_when_balanced():
    rng = np.random.default_rng(0)
    y = (rng.random(600) < 0.05).astype(int)
    X = rng.normal(size=(600, 2)) + y[:, np.newaxis]
    plain = VVMClassifier(margin_noise=1.0).fit(X, y)
    balanced = VVMClassifier(margin_noise=1.0, class_weight="balanced").fit(X, y)
    assert balanced.predict(X)[y == 1].mean() > plain.predict(X)[y == 1].mean() + 0.3


def test_balanced_needs_all_rows_as_for_sgd():
    X, y = problem()
    for model in (VVMClassifier(class_weight="balanced"), SGDClassifier(class_weight="balanced")):
        with pytest.raises(ValueError, match="'balanced' is not supported for partial_fit"):
            model.partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match="balanced"):
        VVMClassifier(class_weight="balanced").predict_then_learn(X, y)


BAD_WEIGHTS = {
    "-1.0 at row 2": [1, 1, -1, 1],
    "NaN at row 1": [1, math.nan, 1, 1],
    "infinity at row 3": [1, 1, 1, math.inf],
    "'x' at row 0": ["x", 1, 1, 1],
    r"shape \(3,\)": [1, 1, 1],
    r"shape \(4, 1\)": [[1], [1], [1], [1]],
    f"at most {MOST_REPETITIONS:,}": [1, 1, 1e9, 1],
}


@pytest.mark.parametrize("message", BAD_WEIGHTS)
def test_weights_that_are_none_are_refused_by_row(message):
    X, y = problem(4)
    learned = ADFClassifier().fit(X, y)
    before = learned.coef_
    for learn in (learned.fit, learned.partial_fit, learned.predict_then_learn):
        with pytest.raises(ValueError, match="sample_weight") as raised:
            learn(X, y, sample_weight=BAD_WEIGHTS[message])
        raised.match(message)
    np.testing.assert_array_equal(learned.coef_, before)


@pytest.mark.parametrize(
    ("class_weight", "message"),
    [
        ({0: -1}, "-1 for the class 0"),
        ({0: math.nan}, "nan for the class 0"),
        ({0: "x"}, "'x' for the class 0"),
        ({7: 2.0}, r"the class 7; expected some of \[0, 1\]"),
        ("balance", "class_weight"),
        (3.0, "class_weight"),
    ],
)
def test_weights_of_classes_that_are_none_are_refused_by_name(class_weight, message):
    X, y = problem(20)
    model = ADFClassifier(class_weight=class_weight)
    with pytest.raises(ValueError, match="class_weight") as raised:
        model.fit(X, y)
    raised.match(message)
    with pytest.raises(ValueError, match="class_weight"):
        model.partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match="class_weight"):
        ADFClassifier().partial_fit(X, y, [0, 1]).set_params(class_weight=class_weight).learn_one(
            X[0], 0
        )


def test_nothing_to_begin_with_is_refused():
    X, y = problem(20)
    for learn in ("fit", "partial_fit", "predict_then_learn"):
        with pytest.raises(ValueError, match="zero for every row"):
            getattr(ADFClassifier(), learn)(X, y, sample_weight=np.zeros(20))
    learned = ADFClassifier(margin_noise=1.0).fit(X, y)
    before = learned.coef_
    np.testing.assert_array_equal(learned.partial_fit(X, y, sample_weight=0.0).coef_, before)


def test_weights_may_be_a_series_a_list_or_one_number():
    X, y = problem(20)
    w = parts(20)
    expected = EPClassifier(margin_noise=1.0).fit(X, y, sample_weight=w)
    for given in (pd.Series(w, index=np.arange(20)[::-1]), w.tolist(), tuple(w)):
        assert_same_model(
            EPClassifier(margin_noise=1.0).fit(X, y, sample_weight=given), expected, X
        )
    doubled = EPClassifier(margin_noise=1.0).fit(X, y, sample_weight=2)
    twice = EPClassifier(margin_noise=1.0).fit(X.repeat(2, axis=0), y.repeat(2))
    assert_same_model(doubled, twice, X)


def test_what_rounding_leaves_beside_a_whole_number_is_no_part():
    X, y = problem(20)
    tenths = np.full(20, 0.1 * 3 * 10)
    assert tenths[0] != 3.0
    one = ADFClassifier(margin_noise=1.0).fit(X, y, sample_weight=tenths)
    assert one.n_seen_ == 60


def test_memory_does_not_grow_with_weights():
    repeated = Repetitions(3, np.array([5.0e7, 0.0, 0.5]))
    for k, some in enumerate(repeated.visits()):
        assert len(some.which) <= weighing.AT_ONCE
        if k == 2:
            break
    assert repeated.n_visits == 50_000_001
