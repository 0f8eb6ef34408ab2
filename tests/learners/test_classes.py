"""Classes: how many, of which kind, and when they come."""

import copy
import threading

import joblib
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.learners.learner_examples import (
    LEARNERS,
    assert_same_model,
    every_learner,
    every_learner_alone,
    every_noise,
    in_pieces,
    problem,
    same_states,
)
from virtualvector import VVMClassifier
from virtualvector.learners import one_vs_rest
from virtualvector.learners.hedge import Hedged
from virtualvector.posterior import learn

NOISE = {"margin_noise": 0.4, "label_noise": 0.02}

NAMES = {
    "integers": np.array([-3, 0, 7, 12]),
    "texts": np.array(["ant", "bee", "crow", "dodo"]),
    "objects": np.array(["ant", "bee", "crow", "dodo"], dtype=object),
    "whole floats": np.array([-1.0, 0.0, 2.0, 1e9]),
    "unsigned bytes": np.array([0, 1, 128, 255], dtype=np.uint8),
}


@every_learner_alone
@every_noise
def test_each_of_many_classes_is_learned_against_the_rest(learner, margin_noise, label_noise):
    X, y = problem(n_classes=4)
    noise = {"margin_noise": margin_noise, "label_noise": label_noise}
    model = learner(**noise).fit(X, y)
    scores = []
    for k in range(4):
        binary = learner(**noise).fit(X, y == k)
        for ours, theirs in zip(
            model._posterior.states[k], binary._posterior.states[0], strict=True
        ):
            np.testing.assert_array_equal(ours, theirs)
        np.testing.assert_array_equal(model.coef_[k], binary.coef_[0])
        np.testing.assert_array_equal(model.intercept_[k], binary.intercept_[0])
        np.testing.assert_array_equal(model.covariance_[k], binary.covariance_)
        scores.append(binary.predict_proba(X))
    no, yes = np.moveaxis(scores, -1, 0).swapaxes(1, 2)
    # That it is this class, and none of the others.
    alone = [yes[:, k] * np.delete(no, k, axis=1).prod(axis=1) for k in range(4)]
    expected = np.array(alone).T / np.sum(alone, axis=0)[:, np.newaxis]
    np.testing.assert_allclose(model.predict_proba(X), expected, rtol=1e-9)


@every_learner
@pytest.mark.parametrize("names", NAMES.values(), ids=NAMES)
@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_labels_of_any_kind_mean_the_same(learner, names, n_classes):
    X, y = problem(n_classes=n_classes)
    plain = learner(**NOISE).fit(X, y)
    named = learner(**NOISE).fit(X, names[y])
    assert same_states(plain, named)
    np.testing.assert_array_equal(named.classes_, names[:n_classes])
    np.testing.assert_array_equal(named.predict(X), names[plain.predict(X)])
    assert named.predict(X).dtype == names.dtype
    np.testing.assert_array_equal(named.predict_proba(X), plain.predict_proba(X))


@every_learner
def test_labels_may_be_booleans(learner):
    X, y = problem()
    plain = learner(**NOISE).fit(X, y)
    named = learner(**NOISE).fit(X, y == 1)
    assert same_states(plain, named)
    np.testing.assert_array_equal(named.predict(X), plain.predict(X) == 1)


def test_there_may_be_as_many_classes_as_rows():
    X, _ = problem(rows=30)
    model = LEARNERS["adf"](margin_noise=0.5).fit(X, np.arange(30))
    assert model.predict_proba(X).shape == (30, 30)
    assert in_pieces(LEARNERS["adf"](), X, np.arange(30), [25]).classes_.tolist() == [*range(30)]


@every_learner
def test_swapping_two_classes_swaps_their_probabilities(learner):
    X, y = problem()
    plain, swapped = learner(**NOISE).fit(X, y), learner(**NOISE).fit(X, 1 - y)
    np.testing.assert_array_equal(swapped.coef_, -plain.coef_)
    np.testing.assert_array_equal(swapped.predict_proba(X), plain.predict_proba(X)[:, ::-1])


ARRIVALS = {
    "the first class alone for long": [0] * 25 + [1, 0] * 10,
    "the second class sorts before the first": [1] * 20 + [0, 1] * 12,
    "the last class comes first": [2] * 12 + [0] * 12 + [1] * 12 + [0, 1, 2] * 3,
    "a class in the middle comes late": [0, 2] * 12 + [1] + [2, 1, 0] * 5,
    "the third class at the last row": [1, 0] * 18 + [2],
    "all at once": [3, 1, 2, 0] * 10,
    "one after the other, from the end": [3] * 8 + [2] * 8 + [1] * 8 + [0] * 8 + [1, 3, 2, 0],
}


@every_learner_alone
@pytest.mark.parametrize("batch", [1, 7, 100])
@pytest.mark.parametrize("arrival", ARRIVALS.values(), ids=ARRIVALS)
def test_classes_that_come_over_time_are_learned_as_if_known_before(learner, arrival, batch):
    y = np.array(arrival)
    X, _ = problem(rows=len(y))
    cuts = range(batch, len(y), batch)
    declared = in_pieces(learner(**NOISE), X, y, cuts, classes=np.unique(y))
    as_they_come = in_pieces(learner(**NOISE), X, y, cuts)
    assert_same_model(as_they_come, declared, X)
    assert_same_model(as_they_come, learner(**NOISE).fit(X, y), X)
    np.testing.assert_array_equal(as_they_come.log_evidence_, declared.log_evidence_)


@every_learner_alone
def test_a_model_in_use_is_not_changed_by_the_classes_that_come_later(learner):
    X, y = problem(n_classes=3)
    y = np.where(np.arange(len(y)) < 40, np.minimum(y, 1), y)
    model = learner(**NOISE).partial_fit(X[:40], y[:40])
    assert model.predict_proba(X).shape == (60, 2)
    model.partial_fit(X[40:], y[40:])
    assert_same_model(model, learner(**NOISE).fit(X, y), X)


@st.composite
def streams(draw):
    """Labels of up to four classes in any order, cut into pieces anywhere."""
    y = np.array(draw(st.lists(st.integers(0, 3), min_size=1, max_size=45)))
    X = np.random.default_rng(draw(st.integers(0, 99))).normal(size=(len(y), 3))
    cuts = sorted(draw(st.sets(st.integers(1, len(y) - 1)))) if len(y) > 1 else []
    return X, y, cuts


@given(
    name=st.sampled_from(sorted(LEARNERS)),
    stream=streams(),
    margin_noise=st.sampled_from([0.0, 0.5]),
    label_noise=st.sampled_from([0.0, 0.05]),
)
@settings(max_examples=100, deadline=None)
def test_a_stream_may_be_cut_anywhere(name, stream, margin_noise, label_noise):
    X, y, cuts = stream

    def model():
        return LEARNERS[name](margin_noise=margin_noise, label_noise=label_noise)

    whole = model().fit(X, y)
    assert_same_model(in_pieces(model(), X, y, cuts, classes=np.unique(y)), whole, X)
    taken = model().partial_fit(X, y)
    assert_same_model(in_pieces(model(), X, y, range(1, len(X))), taken, X)
    assert_same_model(in_pieces(model(), X, y, cuts), taken, X)
    # What was said before a third class came depends on whether it was known: so does a hedge.
    assert same_states(taken, whole)
    if len(whole.classes_) < 3 or not isinstance(whole._posterior, Hedged):
        assert_same_model(taken, whole, X)


@every_learner
@pytest.mark.parametrize("rows", [700, 2500])
def test_a_long_stream_may_be_cut_anywhere(learner, rows):
    # Long enough for what is otherwise only updated to be computed anew.
    if learner is LEARNERS["ep"]:
        rows = 400
    X, y = problem(rows=rows, columns=8, n_classes=3)
    cuts = np.sort(np.random.default_rng(2).choice(np.arange(1, rows), 20, replace=False))
    whole = learner(**NOISE).fit(X, y)
    assert_same_model(in_pieces(learner(**NOISE), X, y, cuts), whole, X)


@every_learner
def test_fit_forgets_what_was_learned_before(learner):
    X, y = problem()
    model = learner(**NOISE).fit(*problem(columns=7, n_classes=3, seed=5))
    assert_same_model(model.fit(X, y), learner(**NOISE).fit(X, y), X)


@every_learner
def test_learning_goes_on_after_fit(learner):
    X, y = problem()
    model = learner(**NOISE).fit(X[:30], y[:30])
    assert_same_model(model.partial_fit(X[30:], y[30:]), learner(**NOISE).fit(X, y), X)


@every_learner
@pytest.mark.parametrize("by", ["fit", "classes"])
def test_a_label_that_is_none_of_the_classes_is_refused_and_nothing_is_learned(learner, by):
    X, y = problem()
    model = learner(**NOISE)
    if by == "fit":
        model.fit(X, y)
    else:
        model.partial_fit(X, y, classes=[1, 0])
    before = copy.deepcopy(model)
    y[11] = 5
    with pytest.raises(ValueError, match=r"label 5 at row 11; expected one of .*\[0, 1\]"):
        model.partial_fit(X, y)
    assert_same_model(model, before, X)


@every_learner
def test_a_refused_first_call_leaves_nothing_behind(learner):
    X, y = problem()
    model = learner(**NOISE)
    with pytest.raises(ValueError, match="label 1 at row"):
        model.partial_fit(X, y, classes=[0, 2])
    assert model.__getstate__() == learner(**NOISE).__getstate__()
    assert_same_model(model.partial_fit(X[:, :2], y), learner(**NOISE).fit(X[:, :2], y), X[:, :2])


@every_learner
@pytest.mark.parametrize("later", [[0, 1, 2], [0], [1, 2], ["a", "b"]])
def test_classes_cannot_be_changed_later(learner, later):
    X, y = problem()
    model = learner(**NOISE).partial_fit(X, y, classes=[0, 1])
    before = copy.deepcopy(model)
    with pytest.raises(ValueError, match=r"not the same as on last call.*was: \[0, 1\]"):
        model.partial_fit(X, y, classes=later)
    assert_same_model(model, before, X)
    model.partial_fit(X, y, classes=[1, 0])  # their order does not matter


@pytest.mark.parametrize(
    ("classes", "message"),
    [
        ([], "classes is \\[\\]; expected a list"),
        ("ab", "classes is 'ab'; expected a list"),
        (2, "classes is 2; expected a list"),
        ([[0, 1]], "classes is \\[\\[0, 1\\]\\]; expected a list"),
        ([0, None], "classes contains NaN: the label at row 1"),
        ([np.nan, 1], "classes contains NaN: the label at row 0"),
        (["a", 1], "classes has 1 at row 1, .* expected"),
        ([0, 0.5], "classes has 0.5 at row 1, .* expected"),
    ],
)
def test_classes_must_be_a_list_of_labels(classes, message):
    X, y = problem()
    model = LEARNERS["vvm"]()
    with pytest.raises(ValueError, match=message):
        model.partial_fit(X, y, classes=classes)
    assert model.__getstate__() == LEARNERS["vvm"]().__getstate__()


@every_learner
@pytest.mark.parametrize(
    ("first", "later", "message"),
    [
        (lambda y: y, lambda y: NAMES["objects"][y], r"label '\w+' at row 0; .*\[0, 1\]"),
        (lambda y: NAMES["texts"][y], lambda y: y, r"label [01] at row 0; .*\['ant', 'bee'\]"),
        (lambda y: NAMES["objects"][y], lambda y: y, r"label [01] at row 0; .*\['ant', 'bee'\]"),
    ],
    ids=["objects after integers", "integers after texts", "… objects"],
)
def test_numbers_and_texts_do_not_mix(learner, first, later, message):
    X, y = problem()
    model = learner(**NOISE).partial_fit(X, first(y))
    before = copy.deepcopy(model)
    with pytest.raises(ValueError, match=message):
        model.partial_fit(X, later(y))
    assert_same_model(model, before, X)


@every_learner
@pytest.mark.parametrize("kind", [str, float, bool, object])
def test_labels_of_another_type_are_the_classes_they_mean(learner, kind):
    X, y = problem()
    model = learner(**NOISE).partial_fit(X, y)
    expected = copy.deepcopy(model).partial_fit(X, y)
    assert_same_model(model.partial_fit(X, y.astype(kind).astype(str)), expected, X)
    texts = learner(**NOISE).partial_fit(X, y.astype(str)).partial_fit(X, y)
    assert texts.classes_.tolist() == ["0", "1"]
    np.testing.assert_array_equal(texts.predict_proba(X), expected.predict_proba(X))


@every_learner_alone
def test_longer_texts_may_come_later(learner):
    X, y = problem(n_classes=3)
    names = np.array(["b", "bee", "bee with a hat"])
    y[:20] = 0
    model = in_pieces(learner(**NOISE), X, names[y].tolist(), [20, 40])
    np.testing.assert_array_equal(model.classes_, names)
    assert_same_model(model, learner(**NOISE).fit(X, names[y]), X)


@pytest.mark.parametrize("n_jobs", [2, 3, 7])
def test_classes_can_be_learned_side_by_side(n_jobs, monkeypatch):
    X, y = problem(rows=200, n_classes=4)
    alone = VVMClassifier(8, margin_noise=0.3).fit(X, y)
    threads = set()

    def noting(*arguments):
        threads.add(threading.get_ident())
        return learn(*arguments)

    monkeypatch.setattr(one_vs_rest, "learned", noting)
    with joblib.parallel_config("threading", n_jobs=n_jobs):
        together = VVMClassifier(8, margin_noise=0.3).fit(X, y)
        predictions = VVMClassifier(8, margin_noise=0.3).predict_then_learn(X, y)
    assert threading.get_ident() not in threads
    assert_same_model(together, alone, X)
    expected = VVMClassifier(8, margin_noise=0.3).predict_then_learn(X, y)
    np.testing.assert_array_equal(predictions.probabilities, expected.probabilities)
