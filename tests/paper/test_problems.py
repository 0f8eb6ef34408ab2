"""The data as the experiments see it."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.model_selection import KFold, cross_val_predict

from virtualvector import EPClassifier
from virtualvector.datasets import load_spambase
from virtualvector.paper.problems import FeatureMap, Problem, load_problem, typical_distance
from virtualvector.paper.validation import Noise, Validation, choose, validate


@pytest.mark.parametrize(
    ("name", "shape", "ones"),
    [("spambase", (4601, 57), 1813), ("thyroid", (215, 5), 65), ("ionosphere", (351, 34), 225)],
)
def test_data_sets_are_the_papers(name, shape, ones):
    problem = load_problem(name)
    assert problem.rows.shape == shape
    assert problem.labels.sum() == ones


@pytest.mark.parametrize("name", ["thyroid", "ionosphere"])
def test_columns_are_standardised(name):
    rows = load_problem(name).rows
    varying = np.ptp(rows, axis=0) > 0
    np.testing.assert_allclose(rows[:, varying].mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(rows[:, varying].std(axis=0), 1)


def test_counts_of_spambase_are_logarithms():
    np.testing.assert_allclose(
        np.exp(load_problem("spambase").rows) - 1, load_spambase().data, atol=1e-9
    )


def test_a_seed_means_one_order_of_the_same_rows():
    problem = load_problem("thyroid")
    first, again, other = (problem.shuffled(seed) for seed in ([0, 1], [0, 1], [0, 2]))
    np.testing.assert_array_equal(first.rows, again.rows)
    assert not np.array_equal(first.rows, other.rows)
    pairs = {(tuple(row), label) for row, label in zip(*problem, strict=True)}
    assert {(tuple(row), label) for row, label in zip(*first, strict=True)} == pairs


def test_the_unit_of_bandwidths_is_the_median_distance():
    distances = euclidean_distances(load_problem("thyroid").rows)
    distances = distances[np.triu_indices_from(distances, 1)]
    assert typical_distance("thyroid") == pytest.approx(np.median(distances[distances > 0]))


def test_features_of_rows_are_as_many_as_asked_for_and_the_same_for_a_seed():
    rows = load_problem("thyroid").rows
    waves = FeatureMap(100, 2.0)
    assert waves(rows, [1, 2]).shape == (215, 100)
    np.testing.assert_array_equal(waves(rows, [1, 2]), waves(rows, [1, 2]))
    assert not np.array_equal(waves(rows, [1, 2]), waves(rows, [1, 3]))
    assert FeatureMap()(rows, [1]) is rows


def test_validation_is_scikit_learns_cross_validation_of_ep():
    rows, labels = (part[:60] for part in load_problem("thyroid").shuffled([0]))
    features, noise = FeatureMap(20, 2.0), Noise(0.0, 0.1)
    predictions = cross_val_predict(
        EPClassifier(margin_noise=0.1),
        features(rows, [7, 0]),
        labels,
        cv=KFold(5),
        method="predict_proba",
    )
    error, loss = validate(Problem(rows, labels), features, noise, [7])
    assert error == pytest.approx(100 * np.mean(predictions.argmax(axis=1) != labels))
    assert loss == pytest.approx(-np.log(predictions[np.arange(60), labels]).mean())


def test_the_smallest_error_is_chosen_and_among_equals_the_smallest_log_loss():
    tried = {"a": Validation(2.0, 0.1), "b": Validation(1.0, 0.5), "c": Validation(1.0, 0.4)}
    assert choose(tried) == "c"
