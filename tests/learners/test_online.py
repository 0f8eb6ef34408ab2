"""The direct route for single rows leads where `partial_fit` leads, to the last bit."""

import contextlib
import copy
import math
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from tests.learners.learner_examples import assert_same_model, problem
from virtualvector import ADFClassifier, EPClassifier, VVMClassifier, WindowEPClassifier, load
from virtualvector.learners.online_posterior import OnlinePosterior
from virtualvector.posterior import engine

LEARNERS = {
    "ADF": ADFClassifier(margin_noise=0.3),
    "VVM": VVMClassifier(6, margin_noise=0.3),
    "VVM without noise": VVMClassifier(6),
    "VVM with label noise": VVMClassifier(6, label_noise=0.05, margin_noise=0.3),
    "VVM that forgets": VVMClassifier(6, margin_noise=0.3, half_life=50.0),
    "VVM that grows": VVMClassifier(40, margin_noise=0.3),
    "without bias": VVMClassifier(6, margin_noise=0.3, fit_intercept=False),
    "window-EP": WindowEPClassifier(6, margin_noise=0.3),
    "EP": EPClassifier(margin_noise=0.3),
}
every_learner = pytest.mark.parametrize("name", LEARNERS)


def fresh(name):
    """A learner that has learned nothing."""
    return copy.deepcopy(LEARNERS[name])


@every_learner
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("declared", [True, False])
def test_single_rows_are_learned_as_in_a_table(name, n_classes, declared):
    X, y = problem(rows=80, n_classes=n_classes)
    options = {"classes": np.unique(y)} if declared else {}
    table = fresh(name).partial_fit(X, y, **options)
    rows = fresh(name).partial_fit(X[:1], y[:1], **options)
    for x, label in zip(X[1:], y[1:], strict=True):
        assert rows.learn_one(x, label) is rows
    assert_same_model(rows, table, X)
    assert rows.n_seen_ == 80
    assert rows.counters_ == table.counters_


@every_learner
@pytest.mark.parametrize("n_classes", [2, 3])
def test_single_rows_are_predicted_as_in_a_table_and_change_nothing(name, n_classes):
    X, y = problem(rows=60, n_classes=n_classes)
    plain = fresh(name).partial_fit(X[:5], y[:5], classes=np.unique(y))
    asked = fresh(name).partial_fit(X[:5], y[:5], classes=np.unique(y))
    for t in range(5, 60):
        # The row itself, which may be remembered, and others, which may not be taken for it.
        for x in (X[t - 1], X[t], -X[t], X[t])[t % 4 :]:
            found = asked.predict_proba_one(x)
            np.testing.assert_allclose(found, plain.predict_proba([x])[0], rtol=1e-9, atol=1e-12)
        plain.partial_fit(X[t : t + 1], y[t : t + 1])
        asked.learn_one(X[t], y[t])
    assert_same_model(asked, plain, X)


@every_learner
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_table_of_one_row_is_predicted_as_a_single_row(name, n_classes):
    X, y = problem(rows=60, n_classes=n_classes)
    model, asked = (fresh(name).partial_fit(X[:50], y[:50]) for _ in range(2))
    tables = np.vstack([asked.predict_proba(X[t : t + 1]) for t in range(60)])
    singles = np.vstack([asked.predict_proba_one(x) for x in X])
    np.testing.assert_array_equal(tables, singles)
    np.testing.assert_allclose(tables, model.predict_proba(X), rtol=1e-9, atol=1e-12)
    # Asking changes nothing that is learned afterwards.
    assert_same_model(asked.partial_fit(X[50:], y[50:]), model.partial_fit(X[50:], y[50:]), X)


def test_classes_that_come_late_are_taken_in():
    X, y = problem(rows=60, n_classes=3)
    order = np.argsort(y, kind="stable")
    model = VVMClassifier(5, margin_noise=0.3)
    for x, label in zip(X[order], y[order], strict=True):
        model.learn_one(x, label)
    assert_same_model(model, VVMClassifier(5, margin_noise=0.3).partial_fit(X[order], y[order]), X)


def test_both_ways_can_be_mixed():
    X, y = problem(rows=90)
    whole = VVMClassifier(5, margin_noise=0.3).partial_fit(X, y, classes=[0, 1])
    mixed = VVMClassifier(5, margin_noise=0.3).partial_fit(X[:30], y[:30], classes=[0, 1])
    for t in range(30, 50):
        mixed.learn_one(X[t], y[t])
    mixed.partial_fit(X[50:70], y[50:70])
    mixed.learn_one(X[70].tolist(), int(y[70]))
    mixed.predict_then_learn(X[71:80], y[71:80])
    for t in range(80, 90):
        mixed.learn_one(X[t], y[t])
    assert_same_model(mixed, whole, X)


def test_labels_may_be_text_and_rows_whole_numbers():
    X = np.random.default_rng(0).integers(-3, 4, size=(40, 3))
    y = np.where(X @ [1, -2, 1] > 0, "yes", "no")
    model = VVMClassifier(5, margin_noise=0.3).partial_fit(X[:1], y[:1], classes=["no", "yes"])
    for t in range(1, 40):
        model.learn_one(X[t].astype(np.int8), str(y[t]))
    assert_same_model(model, VVMClassifier(5, margin_noise=0.3).partial_fit(X, y), X)


@pytest.mark.parametrize(
    ("x", "message"),
    [
        ([1.0, 2.0], "found a row of shape .* expected 4 numbers"),
        (np.ones((1, 4)), "found a row of shape .* expected 4 numbers"),
        (["a", "b", "c", "d"], "type <U1; expected 4 numbers"),
        ([1.0, math.nan, 0.0, 0.0], "found nan or infinity"),
        ([1.0, 0.0, -math.inf, 0.0], "found nan or infinity"),
    ],
)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_bad_rows_are_refused_and_nothing_is_lost(x, message, n_classes):
    X, y = problem(rows=40, columns=4, n_classes=n_classes)
    model = VVMClassifier(5, margin_noise=0.3).partial_fit(X[:39], y[:39], classes=np.unique(y))
    before = model.predict_proba_one(X[39])
    with pytest.raises(ValueError, match=message):
        model.learn_one(x, y[0])
    with pytest.raises(ValueError, match=message):
        model.predict_proba_one(x)
    np.testing.assert_array_equal(model.predict_proba_one(X[39]), before)
    expected = VVMClassifier(5, margin_noise=0.3).partial_fit(X, y, classes=np.unique(y))
    assert_same_model(model.learn_one(X[39], y[39]), expected, X)


@pytest.mark.parametrize("label", [2, "no", None, math.nan])
def test_labels_that_were_not_declared_are_refused(label):
    X, y = problem(rows=40)
    model = VVMClassifier(5, margin_noise=0.3).partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match=r"Input y|Unknown label"):
        model.learn_one(X[0], label)
    assert model.n_seen_ == 40


def test_a_model_without_rows_has_no_probabilities():
    with pytest.raises(NotFittedError):
        VVMClassifier().predict_proba_one([1.0])


@pytest.mark.parametrize("how", [copy.copy, copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies_learn_on_their_own(how):
    X, y = problem(rows=60)
    model = VVMClassifier(5, margin_noise=0.3).partial_fit(X[:20], y[:20], classes=[0, 1])
    for t in range(20, 40):
        model.learn_one(X[t], y[t])
    twin = how(model)
    for t in range(40, 60):
        model.learn_one(X[t], y[t])
        twin.learn_one(-X[t], y[t])
    assert_same_model(model, VVMClassifier(5, margin_noise=0.3).partial_fit(X, y), X)
    other = np.vstack([X[:40], -X[40:]])
    assert_same_model(twin, VVMClassifier(5, margin_noise=0.3).partial_fit(other, y), X)


def test_what_was_read_stays_as_it_was():
    X, y = problem(rows=60)
    model = VVMClassifier(5, margin_noise=0.3).partial_fit(X[:20], y[:20], classes=[0, 1])
    model.learn_one(X[20], y[20])
    weights, points, known = model.coef_, model.virtual_points_, model._posterior
    before = [array.copy() for array in (weights, points, known.states[0].factor)]
    for t in range(21, 60):
        model.learn_one(X[t], y[t])
    for array, copied in zip((weights, points, known.states[0].factor), before, strict=True):
        np.testing.assert_array_equal(array, copied)


def test_the_file_of_a_model_does_not_tell_how_rows_came(tmp_path):
    X, y = problem(rows=60)
    table = VVMClassifier(5, margin_noise=0.3).partial_fit(X, y, classes=[0, 1])
    rows = VVMClassifier(5, margin_noise=0.3).partial_fit(X[:1], y[:1], classes=[0, 1])
    for t in range(1, 60):
        rows.predict_proba_one(X[t])
        rows.learn_one(X[t], y[t])
    table.save(tmp_path / "table")
    rows.save(tmp_path / "rows")
    assert (tmp_path / "rows").read_bytes() == (tmp_path / "table").read_bytes()
    again = load(tmp_path / "rows")
    np.testing.assert_array_equal(again.predict_proba_one(X[0]), rows.predict_proba_one(X[0]))


def test_threads_take_turns():
    X, y = problem(rows=400, columns=30)
    model = VVMClassifier(20, margin_noise=0.3).partial_fit(X[:5], y[:5], classes=[0, 1])
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda t: model.learn_one(X[t], y[t]), range(5, 400)))
        predictions = list(pool.map(model.predict_proba_one, X))
    assert model.n_seen_ == 400
    assert np.isfinite(model.covariance_).all()
    np.testing.assert_allclose(predictions, model.predict_proba(X), rtol=1e-9)


@pytest.mark.parametrize("at", [0, 1, 2])
def test_posteriors_stay_in_step_when_an_interrupt_comes_between_them(monkeypatch, at):
    X, y = problem(rows=40, n_classes=3)
    model = VVMClassifier(5, margin_noise=0.3).partial_fit(X[:39], y[:39], classes=np.unique(y))
    model.predict_proba_one(X[0])
    learn, calls = OnlinePosterior._learn, []

    def interrupted(self, *arguments):
        calls.append(arguments)
        if len(calls) == at + 1:
            raise KeyboardInterrupt
        learn(self, *arguments)

    monkeypatch.setattr(OnlinePosterior, "_learn", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.learn_one(X[39], y[39])
    monkeypatch.undo()
    if at == 0:  # nobody had learned the row
        model.learn_one(X[39], y[39])
    assert_same_model(model, VVMClassifier(5, margin_noise=0.3).partial_fit(X, y), X)


@every_learner
@pytest.mark.parametrize("n_classes", [2, 3])
def test_tables_of_one_row_take_the_same_route(name, n_classes):
    X, y = problem(rows=50, n_classes=n_classes)
    classes = np.unique(y).tolist()
    whole = fresh(name).partial_fit(X, y, classes=classes)
    rows = fresh(name).partial_fit(X[:1], y[:1], classes=classes)
    for t in range(1, 50):
        predictions = rows.predict_proba(X[t : t + 1])
        np.testing.assert_allclose(
            predictions, rows.predict_proba(X[[t, t]])[:1], rtol=1e-9, atol=1e-12
        )
        rows.partial_fit(X[t : t + 1], y[t : t + 1], classes=classes if t % 2 else None)
    assert_same_model(rows, whole, X)


def test_tables_of_one_row_are_checked_like_others():
    X, y = problem(rows=20, columns=3)
    model = VVMClassifier(5, margin_noise=0.3).fit(X, y).partial_fit(X[:1], y[:1])
    with pytest.raises(ValueError, match="NaN at row 0, column 1"):
        model.partial_fit(np.array([[0.0, np.nan, 0.0]]), [1])
    with pytest.raises(ValueError, match="infinity at row 0, column 2"):
        model.predict_proba(np.array([[0.0, 0.0, np.inf]]))
    with pytest.raises(ValueError, match="has 2 features"):
        model.partial_fit(np.ones((1, 2)), [1])
    with pytest.raises(ValueError, match="label 5 at row 0"):
        model.partial_fit(X[:1], [5])
    with pytest.raises(ValueError, match="not the same as on last call"):
        model.partial_fit(X[:1], y[:1], classes=[0, 1, 2])
    with pytest.raises(ValueError, match="'margin_noise' parameter"):
        model.set_params(margin_noise=-1.0).partial_fit(X[:1], y[:1])
    assert model.n_seen_ == 21


@pytest.mark.parametrize("kernel", ["merge_or_evict", "yield_to_contradiction"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_row_is_learned_whole_when_an_interrupt_comes_between_two_kernels(
    monkeypatch, kernel, n_classes
):
    X, y = problem(rows=200, flipped=0.2, n_classes=n_classes)
    whole = VVMClassifier(5).partial_fit(X, y, classes=np.unique(y))
    model = VVMClassifier(5).partial_fit(X[:10], y[:10], classes=np.unique(y))
    work, armed, interrupts = getattr(engine, kernel), [], []

    def interrupted(*arguments):
        if armed:
            interrupts.append(armed.pop())
            raise KeyboardInterrupt
        work(*arguments)

    monkeypatch.setattr(engine, kernel, interrupted)
    for t in range(10, 200):
        armed.append(t)
        with contextlib.suppress(KeyboardInterrupt):
            model.learn_one(X[t], y[t])
        armed.clear()
    assert len(interrupts) > 10
    assert_same_model(model, whole, X)
