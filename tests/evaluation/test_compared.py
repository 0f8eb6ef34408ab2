import numpy as np
import pytest

from virtualvector.evaluation import all_learners, predict_then_learn

NAMES = [
    "AutoVVM", "VVM", "ADF", "window-EP", "SOGP", "PA", "NG", "Perceptron", "logistic", "Kalman",
    "second-order perceptron", "CW", "AROW", "budget perceptron",
]  # fmt: skip


@pytest.fixture
def stream():
    random = np.random.default_rng(0)
    rows = random.normal(size=(120, 4))
    signs = np.where(rows @ [1.0, -2.0, 0.5, 0.0] + random.normal(size=120) > 0, 1, -1)
    return rows, signs


def test_names_and_their_order():
    assert list(all_learners(4)) == NAMES


def test_buffer_size_is_that_of_vvm_and_window_ep():
    learners = all_learners(4, buffer_size=7)
    assert learners["VVM"].buffer_size == 7
    assert learners["window-EP"].buffer_size == 7


def test_pa_is_the_published_pa_1_with_c_2(stream):
    """Crammer et al. (2006), figure 1: τ = min(C, loss/|x|²), w ← w + τyx.

    A bias is scikit-learn's addition: it moves by τy, and does not count in |x|².
    """
    rows, signs = stream
    model = all_learners(4)["PA"]
    weights, bias, full_steps = np.zeros(4), 0.0, 0
    for row, sign in zip(rows, signs, strict=True):
        loss = max(0.0, 1.0 - sign * (weights @ row + bias))
        step = min(2.0, loss / (row @ row))
        full_steps += step == 2.0
        weights, bias = weights + step * sign * row, bias + step * sign
        model.partial_fit(row[None], [sign], classes=[-1, 1])
        np.testing.assert_allclose(model.coef_[0], weights, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(model.intercept_[0], bias, rtol=1e-9, atol=1e-12)
    assert 0 < full_steps < len(rows)  # C binds at times, and not always


def test_pa_without_a_bias_is_the_published_algorithm_exactly(stream):
    rows, signs = stream
    model = all_learners(4)["PA"].set_params(fit_intercept=False)
    weights = np.zeros(4)
    for row, sign in zip(rows, signs, strict=True):
        step = min(2.0, max(0.0, 1.0 - sign * (weights @ row)) / (row @ row))
        weights = weights + step * sign * row
        model.partial_fit(row[None], [sign], classes=[-1, 1])
    np.testing.assert_allclose(model.coef_[0], weights, rtol=1e-9)


def test_perceptron_learns_from_its_mistakes_only(stream):
    """Rosenblatt's rule: if the sign is wrong, w ← w + yx and b ← b + y."""
    rows, signs = stream
    model = all_learners(4)["Perceptron"]
    weights, bias = np.zeros(4), 0.0
    for row, sign in zip(rows, signs, strict=True):
        if sign * (weights @ row + bias) <= 0.0:
            weights, bias = weights + sign * row, bias + sign
        model.partial_fit(row[None], [sign], classes=[-1, 1])
        np.testing.assert_allclose(model.coef_[0], weights, atol=1e-12)
        np.testing.assert_allclose(model.intercept_[0], bias, atol=1e-12)


def test_logistic_takes_gradient_steps_that_shrink_as_the_root_of_their_number(stream):
    rows, signs = stream
    model = all_learners(4)["logistic"]
    weights, bias = np.zeros(4), 0.0
    for t, (row, sign) in enumerate(zip(rows, signs, strict=True), start=1):
        step = 0.3 / np.sqrt(t) / (1.0 + np.exp(sign * (weights @ row + bias)))
        weights, bias = weights + step * sign * row, bias + step * sign
        model.partial_fit(row[None], [sign], classes=[-1, 1])
    np.testing.assert_allclose(model.coef_[0], weights, rtol=1e-6)
    np.testing.assert_allclose(model.intercept_[0], bias, rtol=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_all_learn_two_classes(name, stream):
    rows, signs = stream
    predictions = predict_then_learn(all_learners(4)[name], rows, signs)
    assert np.mean(predictions.labels[60:] != signs[60:]) < 0.4
    if predictions.probabilities is not None:
        np.testing.assert_allclose(predictions.probabilities.sum(axis=1), 1.0)


@pytest.mark.parametrize("name", NAMES)
def test_all_learn_three_classes(name):
    random = np.random.default_rng(0)
    labels = random.integers(0, 3, size=120)
    centres = np.array([[2.0, 0.0], [-1.0, 1.7], [-1.0, -1.7]])
    rows = centres[labels] + 0.3 * random.normal(size=(120, 2))
    names = np.array(["a", "bb", "ccc"])
    predictions = predict_then_learn(all_learners(2, n_classes=3)[name], rows, names[labels])
    assert np.mean(predictions.labels[60:] != names[labels][60:]) < 0.1
    if predictions.probabilities is not None:
        assert predictions.probabilities.shape == (120, 3)
        np.testing.assert_allclose(predictions.probabilities.sum(axis=1), 1.0)
