from itertools import pairwise

import matplotlib
import numpy as np
import pytest
from sklearn.calibration import calibration_curve
from sklearn.exceptions import NotFittedError

from tests import forking
from virtualvector import AutoVVMClassifier
from virtualvector.auto.experts import DEFAULT
from virtualvector.evaluation import ReliabilityDisplay, WeightsDisplay
from virtualvector.learners.expert import Expert, describe

matplotlib.use("agg")
import matplotlib.pyplot as plt

CLASSES = np.array(["ham", "spam"])
A, B, C, D = (Expert(0.5, s) for s in (0.1, 0.2, 0.3, 0.4))


class WithHistory:
    """Stands in for a classifier whose experts came and went in a known way."""

    n_seen_ = 400
    history_ = (
        {"n_rows": 128, "weights": {A: 0.6, B: 0.3, C: 0.1}},
        {"n_rows": 256, "weights": {A: 0.2, B: 0.7, C: 0.1}},
        {"n_rows": 384, "weights": {B: 0.75, D: 0.25}},
    )


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def stream():
    random = np.random.default_rng(0)
    X = random.normal(size=(900, 2))
    return X, CLASSES[(X[:, 0] + random.normal(size=900) > 0).astype(int)]


@pytest.fixture(scope="module")
def model(stream):
    X, y = stream
    return AutoVVMClassifier(n_frequencies=20).fit(X[:600], y[:600])


@pytest.fixture
def stated():
    random = np.random.default_rng(1)
    second = random.uniform(size=500)
    labels = CLASSES[(random.uniform(size=500) < second**2).astype(int)]
    return labels, np.column_stack([1.0 - second, second])


def heights(display):
    """Return how high each drawn area is in the middle of each stretch between two moments."""
    edges = np.append(0, display.n_rows)
    middles = (edges[1:] + edges[:-1]) / 2
    return np.array([[_height(area, x) for x in middles] for area in display.ax_.collections])


def _height(area, x):
    corners = area.get_paths()[0].vertices
    crossed = [
        y0
        for (x0, y0), (x1, _) in pairwise(corners)
        if min(x0, x1) < x < max(x0, x1)  # all edges are level or upright
    ]
    return max(crossed) - min(crossed)


def test_areas_are_the_weights_with_the_largest_mean_lowest():
    display = WeightsDisplay.from_estimator(WithHistory())
    expected = [[0.3, 0.7, 0.75], [0.6, 0.2, 0.0], [0.0, 0.0, 0.25], [0.1, 0.1, 0.0]]
    np.testing.assert_allclose(heights(display), expected, atol=1e-12)
    assert display.names == [describe(e) for e in (B, A, D, C)]


def test_experts_beyond_the_most_are_summed_as_others():
    display = WeightsDisplay.from_estimator(WithHistory(), most=2)
    expected = [[0.3, 0.7, 0.75], [0.6, 0.2, 0.0], [0.1, 0.1, 0.25]]
    np.testing.assert_allclose(heights(display), expected, atol=1e-12)
    shown = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert shown == ["others", "rbf ×0.5, s² 0.1", "rbf ×0.5, s² 0.2"]  # as they are stacked


def test_drawn_weights_of_a_classifier_are_those_of_its_history(model):
    display = WeightsDisplay.from_estimator(model, most=1000)
    drawn = heights(display)
    assert display.n_rows.tolist() == [128, 256, 384, 512]
    np.testing.assert_allclose(drawn.sum(axis=0), 1.0)
    for k, moment in enumerate(model.history_):
        by_name = dict(zip(display.names, drawn[:, k], strict=True))
        for expert, weight in moment["weights"].items():
            assert by_name[describe(expert)] == pytest.approx(weight, abs=1e-12)


def test_one_block_is_enough_to_see_weights(stream):
    X, y = stream
    model = AutoVVMClassifier(n_frequencies=20).fit(X[:128], y[:128])
    assert heights(WeightsDisplay.from_estimator(model)).sum() == pytest.approx(1.0)


def test_less_than_a_block_is_an_error_that_says_how_many_rows_are_needed(stream):
    X, y = stream
    model = AutoVVMClassifier(n_frequencies=20).fit(X[:127], y[:127])
    with pytest.raises(ValueError, match=r"at least 128 rows have to be learned, .* learned 127"):
        WeightsDisplay.from_estimator(model)
    with pytest.raises(NotFittedError):
        WeightsDisplay.from_estimator(AutoVVMClassifier())


def test_one_expert_has_all_the_weight_however_few_rows_there_are(stream):
    X, y = stream
    model = AutoVVMClassifier(experts=[A], n_frequencies=20).fit(X[:100], y[:100])
    display = WeightsDisplay.from_estimator(model)
    assert display.n_rows.tolist() == [100]
    assert display.names == [describe(A)]
    assert heights(display).sum() == pytest.approx(1.0)


def test_no_expert_to_show_is_an_error(model):
    with pytest.raises(ValueError, match=r"At least 1 expert .* most=0"):
        WeightsDisplay.from_estimator(model, most=0)


def test_no_two_areas_look_alike_in_grey(model):
    areas = WeightsDisplay.from_estimator(model, most=8).ax_.collections
    assert len(areas) == 9
    assert len({area.get_hatch() or str(area.get_facecolor()) for area in areas}) == 9


def test_descriptions_tell_all_that_differs():
    assert describe(Expert(None, 1.0, buffer_size=10)) == "linear, s² 1, 10 points"
    full = Expert(0.5, 0.1, 0.02, 10, 1e6, 2, 3, "margin")
    assert describe(full) == (
        "rbf ×0.5, s² 0.1, ε 0.02, 10 points, 3 pairs, eviction by margin, half-life 1000000, "
        "detail 2"
    )
    assert len({describe(expert) for expert in DEFAULT}) == len(DEFAULT)


def test_points_agree_with_scikit_learn(stated):
    labels, probabilities = stated
    display = ReliabilityDisplay.from_predictions(labels, probabilities, CLASSES)
    observed, predicted = calibration_curve(labels == "spam", probabilities[:, 1], n_bins=15)
    drawn = display.ax_.containers[0].lines[0]
    np.testing.assert_allclose(drawn.get_xdata(), predicted)
    np.testing.assert_allclose(drawn.get_ydata(), observed)


def test_bars_of_right_predictions_reach_the_diagonal_19_times_of_20():
    random = np.random.default_rng(2)
    middles = (np.arange(15) + 0.5) / 15
    second = np.repeat(middles, 200)
    predictions = np.column_stack([1.0 - second, second])
    reached = []
    for _ in range(20):
        labels = (random.uniform(size=3000) < second).astype(int)
        ends = _bars(ReliabilityDisplay.from_predictions(labels, predictions, [0, 1]))
        reached.append((ends[:, 0] <= middles) & (ends[:, 1] >= middles))
        plt.close("all")
    assert abs(np.mean(reached) - 0.954) < 0.036  # 3 standard errors of 300 bars


def _bars(display):
    segments = display.ax_.containers[0].lines[2][0].get_segments()
    return np.array([segment[:, 1] for segment in segments])


def test_bars_are_two_binomial_standard_errors():
    predictions = np.tile([0.8, 0.2], (25, 1))
    display = ReliabilityDisplay.from_predictions([1] * 5 + [0] * 20, predictions, [0, 1])
    np.testing.assert_allclose(_bars(display), [[0.2 - 0.16, 0.2 + 0.16]])  # 2 √(0.2 0.8 / 25)


def test_counts_are_drawn_below(stated):
    labels, probabilities = stated
    display = ReliabilityDisplay.from_predictions(labels, probabilities, CLASSES)
    expected, _ = np.histogram(probabilities[:, 1], bins=15, range=(0.0, 1.0))
    assert [bar.get_height() for bar in display.counts_ax_.patches] == expected.tolist()
    display.figure_.canvas.draw()
    assert display.counts_ax_.get_position().y1 < display.ax_.get_position().y0


def test_diagonal_is_drawn(stated):
    display = ReliabilityDisplay.from_predictions(*stated, CLASSES)
    assert display.ax_.lines[0].get_xydata().tolist() == [[0.0, 0.0], [1.0, 1.0]]


def test_axes_are_labelled(model, stated):
    weights = WeightsDisplay.from_estimator(model)
    assert (weights.ax_.get_xlabel(), weights.ax_.get_ylabel()) == (
        "rows seen",
        "weight of experts",
    )
    display = ReliabilityDisplay.from_predictions(*stated, CLASSES)
    assert display.ax_.get_ylabel() == "observed share of class spam"
    assert display.counts_ax_.get_xlabel() == "predicted probability of class spam"
    assert display.counts_ax_.get_ylabel() == "rows"


def test_of_three_classes_the_most_probable_counts():
    predictions = [[0.5, 0.3, 0.2], [0.5, 0.2, 0.3], [0.0, 0.9, 0.1]]
    display = ReliabilityDisplay.from_predictions([0, 2, 1], predictions, [0, 1, 2])
    drawn = display.ax_.containers[0].lines[0]
    np.testing.assert_allclose(drawn.get_xydata(), [[0.5, 0.5], [0.9, 1.0]])
    assert display.counts_ax_.get_xlabel() == "predicted probability of the most probable class"


def test_from_estimator_draws_what_the_classifier_predicts(model, stream):
    X, y = stream
    one = ReliabilityDisplay.from_estimator(model, X[600:], y[600:])
    other = ReliabilityDisplay.from_predictions(y[600:], model.predict_proba(X[600:]), CLASSES)
    assert one.n_rows.sum() == 300
    for name in ("n_rows", "predicted", "observed", "standard_error"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


@pytest.mark.parametrize(
    ("labels", "predictions", "message"),
    [
        (["ham"], [[0.5, 0.25, 0.25]], r"shape \(1, 3\); expected \(1, 2\)"),
        (["ham", "spam"], [[0.5, 0.5]], r"shape \(1, 2\); expected \(2, 2\)"),
        ([], np.empty((0, 2)), "Found 0 labels"),
        (["ham"], [[1.5, -0.5]], r"not in \[0, 1\]"),
        (["ham"], [[np.nan, 0.5]], r"not in \[0, 1\]"),
        (["eggs"], [[0.5, 0.5]], "label 'eggs' at row 0"),
    ],
)
def test_what_cannot_be_compared_is_an_error(labels, predictions, message):
    with pytest.raises(ValueError, match=message):
        ReliabilityDisplay.from_predictions(labels, predictions, CLASSES)


def test_axes_outside_a_grid_are_an_error(stated):
    ax = plt.figure().add_axes((0.1, 0.1, 0.8, 0.8))
    with pytest.raises(ValueError, match="no place in a grid"):
        ReliabilityDisplay.from_predictions(*stated, CLASSES, ax)


def test_given_axes_are_drawn_on(model, stated):
    figure, (left, right) = plt.subplots(1, 2)
    weights = WeightsDisplay.from_estimator(model, left)
    display = ReliabilityDisplay.from_predictions(*stated, CLASSES, ax=right)
    assert (weights.ax_, display.ax_) == (left, right)
    assert weights.figure_ is display.figure_ is figure
    assert plt.get_fignums() == [figure.number]


def test_matplotlib_is_imported_only_to_draw():
    code = "import sys, virtualvector.evaluation; sys.exit('matplotlib' in sys.modules)"
    assert forking.run(code).code == 0  # from a process that has not drawn


@pytest.mark.parametrize("name", ["$\\frac$", "$x_$ and $", "a\x1bb"])
def test_names_are_drawn_as_they_are(name):
    labels = np.array(["a", name] * 10)
    classes = np.array(sorted({"a", name}))
    probabilities = np.full((20, 2), 0.5)
    display = ReliabilityDisplay.from_predictions(labels, probabilities, classes)
    display.figure_.canvas.draw()
    history = [(100, {name: 0.5, "others": 0.5}), (200, {name: 0.7, "others": 0.3})]
    display = WeightsDisplay.from_history(history)
    display.figure_.canvas.draw()
    drawn = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert drawn == ["others", name.replace("\x1b", "\\x1b")]
