"""What running counts say of classes, against scikit-learn and brute force."""

import json

import numpy as np
import pytest
from sklearn import metrics
from sklearn.dummy import DummyClassifier

from virtualvector.evaluation import Tally
from virtualvector.evaluation.judgement import label_order
from virtualvector.evaluation.outcomes import COSTS, MOST_RANKED, Outcomes


def stream(n_rows=4000, shares=(0.94, 0.06), sharpness=1.5, seed=0):
    """Labels, and calibrated probabilities of classes that may be rare."""
    rng = np.random.default_rng(seed)
    scores = np.log(shares) + sharpness * rng.normal(size=(n_rows, len(shares)))
    predictions = np.exp(scores - scores.max(axis=1, keepdims=True))
    predictions /= predictions.sum(axis=1, keepdims=True)
    classes = np.array([f"c{k:02}" for k in range(len(shares))])
    labels = classes[(predictions.cumsum(axis=1) > rng.random((n_rows, 1))).argmax(axis=1)]
    return classes, labels, predictions


def tally_of(classes, labels, predictions):
    return Tally(tuple(classes.tolist())).with_rows(labels, predictions)


@pytest.mark.parametrize("shares", [(0.94, 0.06), (0.02, 0.98), (0.6, 0.3, 0.1), (0.04,) * 25])
def test_measures_of_classes_are_those_of_scikit_learn(shares):
    classes, labels, predictions = stream(shares=shares)
    tally = tally_of(classes, labels, predictions)
    predicted = classes[predictions.argmax(axis=1)]
    confusion = metrics.confusion_matrix(labels, predicted, labels=classes)
    np.testing.assert_array_equal(tally.outcomes.confusion, confusion)
    precision, recall, _, rows = metrics.precision_recall_fscore_support(
        labels, predicted, labels=classes, zero_division=np.nan
    )
    for k, found in enumerate(tally.by_class):
        assert (found.class_, found.rows) == (classes[k], rows[k])
        assert found.recall == pytest.approx(recall[k])
        assert found.precision == (None if np.isnan(precision[k]) else pytest.approx(precision[k]))


@pytest.mark.parametrize("shares", [(0.94, 0.06), (0.02, 0.98), (0.6, 0.3, 0.1), (0.04,) * 25])
@pytest.mark.parametrize("sharpness", [0.2, 1.5, 6.0])
def test_rankings_from_bins_are_those_of_all_rows_within_what_is_said(shares, sharpness):
    classes, labels, predictions = stream(shares=shares, sharpness=sharpness)
    for k, found in enumerate(tally_of(classes, labels, predictions).by_class):
        exact = metrics.roc_auc_score(labels == classes[k], predictions[:, k])
        assert found.roc_auc == pytest.approx(exact, abs=3e-3)
        exact = metrics.average_precision_score(labels == classes[k], predictions[:, k])
        assert found.average_precision == pytest.approx(exact, abs=1e-2)


def test_the_base_rate_is_that_of_guesses_which_know_the_shares():
    classes, labels, predictions = stream()
    always, error, log_loss = tally_of(classes, labels, predictions).base_rate
    nothing = np.zeros((len(labels), 1))
    guess = DummyClassifier(strategy="prior").fit(nothing, labels)
    assert always == guess.predict(nothing[:1])[0]
    assert error == pytest.approx(1.0 - guess.score(nothing, labels))
    assert log_loss == pytest.approx(metrics.log_loss(labels, guess.predict_proba(nothing)))


@pytest.mark.parametrize("shares", [(0.9, 0.1), (0.1, 0.9)])
def test_cutoffs_cost_what_errors_cost(shares):
    classes, labels, predictions = stream(shares=shares)
    found = tally_of(classes, labels, predictions).cutoffs
    rare = int(np.argmin(shares))
    is_rare, chance = labels == classes[rare], predictions[:, rare]
    assert [line.cost_of_miss for line in found] == list(COSTS)
    for line in found:
        flagged = chance > 1.0 / (1.0 + line.cost_of_miss)
        cost = (flagged & ~is_rare) + line.cost_of_miss * (~flagged & is_rare)
        assert line.class_ == classes[rare]
        assert line.cutoff == pytest.approx(1.0 / (1.0 + line.cost_of_miss))
        assert line.flagged == pytest.approx(flagged.mean())
        assert line.recall == pytest.approx(metrics.recall_score(is_rare, flagged))
        assert line.cost == pytest.approx(cost.mean())
        guesses = (~is_rare).mean(), line.cost_of_miss * is_rare.mean()
        assert line.cost_without_model == pytest.approx(min(guesses))
        # What probabilities that are right promise: no other cut-off is much cheaper.
        others = [
            ((chance > c) & ~is_rare).mean() + line.cost_of_miss * ((chance <= c) & is_rare).mean()
            for c in np.linspace(0.0, 1.0, 101)
        ]
        assert line.cost < 1.15 * min(others)


def test_a_row_at_a_half_is_counted_once_whichever_class_is_rarer():
    predictions = np.array([[0.5, 0.5], [0.2, 0.8], [0.9, 0.1], [0.5, 0.5]])
    for labels in (["a", "b", "b", "b"], ["a", "b", "a", "a"]):
        tally = Tally(("a", "b")).with_rows(np.array(labels), predictions)
        line = next(line for line in tally.cutoffs if line.cost_of_miss == 1.0)
        assert line.cost == tally.measures.error


def test_what_no_row_says_is_none_and_never_nan():
    one = Tally(("a", "b", "c")).with_rows(np.array(["a"] * 5), np.full((5, 3), 1 / 3))
    assert [line.recall for line in one.by_class] == [1.0, None, None]
    assert [line.precision for line in one.by_class] == [1.0, None, None]
    assert {line.roc_auc for line in one.by_class} == {None}
    assert one.cutoffs == []
    for tally in (one, Tally(), Tally(("a", "b"))):
        json.dumps([tally.base_rate, tally.by_class, tally.label_order], allow_nan=False)


def test_of_very_many_classes_none_is_ranked_and_files_still_keep_all():
    shares = np.full(MOST_RANKED + 10, 1.0 / (MOST_RANKED + 10))
    classes, labels, predictions = stream(300, shares)
    tally = Tally()
    for start in range(0, 300, 7):  # classes come as they come, beyond the bound
        tally = tally.with_rows(labels[start : start + 7], predictions[start : start + 7], classes)
    assert tally.by_class[0].roc_auc is None
    assert Tally.from_dict(json.loads(json.dumps(tally.as_dict()))) == tally


def test_a_class_that_comes_late_had_no_probability_before():
    labels = np.array(["b", "b", "a", "b", "c", "c"])
    predictions = np.array(
        [[0, 1, 0], [0, 1, 0], [0, 1, 0], [0.3, 0.7, 0], [0.4, 0.6, 0], [0.1, 0.2, 0.7]]
    )
    tally = Tally().with_rows(labels, predictions, np.array(["a", "b", "c"]))
    alike = predictions.copy()
    alike[4] = 1 / 3  # as if all had seemed alike
    last = tally.by_class[2]
    assert last.roc_auc == metrics.roc_auc_score(labels == "c", alike[:, 2])
    # Nothing is predicted of the first row; every other one is somewhere.
    np.testing.assert_array_equal(tally.outcomes.confusion, [[0, 1, 0], [0, 2, 0], [0, 1, 1]])
    assert tally.outcomes.counts.tolist() == [1, 3, 2]


def runs_of(labels):
    classes, observed = np.unique(labels, return_inverse=True)
    none = Outcomes.none(len(classes))
    predictions = np.full((len(labels), len(classes)), 1.0 / len(classes))
    return label_order(none.with_rows(observed, predictions, observed))


@pytest.mark.parametrize("shares", [(0.5, 0.5), (0.95, 0.05), (0.2, 0.3, 0.5), (0.1,) * 10])
def test_runs_in_a_random_order_are_as_many_as_permutations_have(shares):
    rng = np.random.default_rng(0)
    labels = rng.choice(len(shares), 200, p=shares)
    counted = [1 + np.count_nonzero(np.diff(rng.permutation(labels))) for _ in range(4000)]
    order = runs_of(labels)
    assert order.expected == pytest.approx(np.mean(counted), abs=4 * order.deviation / 4000**0.5)
    assert order.deviation == pytest.approx(np.std(counted), rel=0.1)
    assert not order.in_blocks


@pytest.mark.parametrize(
    ("labels", "in_blocks"),
    [
        (np.repeat([0, 1, 2], 50), True),  # sorted, as iris
        (np.repeat([0, 1], [995, 5]), True),  # the rare ones at the end
        (np.tile(np.repeat([0, 1], 40), 25), True),
        (np.arange(300) % 3, False),  # in turns
        (np.random.default_rng(1).integers(2, size=300), False),
        (np.repeat([0, 1], 3), False),  # too few to say
        (np.zeros(50, int), False),
        (np.random.default_rng(2).integers(2, size=2000).repeat(2)[:2000] , False),  # in pairs
    ],
)  # fmt: skip
def test_blocks_are_noticed_and_nothing_else(labels, in_blocks):
    assert runs_of(labels).in_blocks == in_blocks


def test_a_tally_that_does_not_add_up_is_refused():
    classes, labels, predictions = stream(200)
    stored = tally_of(classes, labels, predictions).as_dict()
    for name, wrong in {
        "counts": [100, 100],
        "confusion": [[0, 0, 200]],
        "scores": [],
        "n_runs": 500,
        "last": 7,
    }.items():
        changed = json.loads(json.dumps(stored))
        changed["outcomes"][name] = wrong
        with pytest.raises(ValueError, match="does not add up"):
            Tally.from_dict(changed)


def test_a_tally_of_an_earlier_version_begins_anew():
    classes, labels, predictions = stream(200)
    stored = tally_of(classes, labels, predictions).as_dict()
    del stored["outcomes"]
    assert Tally.from_dict(stored) == Tally(tuple(classes.tolist()))
