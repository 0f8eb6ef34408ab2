"""Where labels may be wrong, VVM is hedged by ADF: it loses no more than log 3/2 to it, ever."""

import math
from functools import partial

import numpy as np
import pytest
from scipy.sparse import csr_array

import virtualvector
from tests.learners.learner_examples import assert_same_model, in_pieces, problem
from virtualvector import ADFClassifier, VVMClassifier, WindowEPClassifier, pool
from virtualvector.learners.hedge import Hedged
from virtualvector.learners.rounds import begun, ended
from virtualvector.posterior.state import POINTS, ROWS

NOISE = {"label_noise": 0.05}
TO_ADF, TO_VVM = math.log(1.5), math.log(3.0)  # what may be lost: ADF is trusted twice as much


def lengthwise(rng, n):
    """Two half moons, which no line separates, and rows that are ever longer."""
    angle = np.pi * rng.random(n)
    labels = rng.integers(2, size=n)
    rows = np.column_stack([np.cos(angle), np.sin(angle)]) * np.where(labels, 1, -1)[:, np.newaxis]
    rows += 0.4 * rng.normal(size=(n, 2)) + labels[:, np.newaxis] * [1.0, 0.3]
    return rows * np.exp(rng.normal(size=(n, 1))), labels


def turning(rng, n):
    """Labels that mean the opposite half-way."""
    rows = rng.normal(size=(n, 3))
    labels = (rows[:, 0] > 0.0).astype(int)
    return rows, np.where(np.arange(n) < n // 2, labels, 1 - labels)


def coins(rng, n):
    """Labels that have nothing to do with rows."""
    return rng.normal(size=(n, 3)), rng.integers(2, size=n)


def grid(rng, n):
    """Rows that repeat, with turned labels."""
    rows = rng.integers(-2, 3, size=(n, 2)).astype(float)
    labels = (rows.sum(axis=1) > 0.0).astype(int)
    return rows, np.where(rng.random(n) < 0.2, 1 - labels, labels)


def three(rng, n):
    """Three classes that meet in a point."""
    rows = rng.normal(size=(n, 2))
    labels = np.argmax(rows @ np.array([[1.0, -0.5, -0.5], [0.0, 0.9, -0.9]]), axis=1)
    return rows, np.where(rng.random(n) < 0.2, rng.integers(3, size=n), labels)


HOSTILE = [lengthwise, turning, coins, grid, three]


def losses(model, rows, labels):
    """What each row costs, predicted before it is learned."""
    said = model.predict_then_learn(rows, labels, classes=np.unique(labels)).probabilities
    return -np.log(said[np.arange(len(rows)), np.searchsorted(np.unique(labels), labels)])


@pytest.mark.parametrize("stream", HOSTILE, ids=lambda stream: stream.__name__)
@pytest.mark.parametrize(
    "more", [{}, {"margin_noise": 0.2}, {"half_life": 80.0}], ids=["", "margin noise", "half-life"]
)
@pytest.mark.parametrize("label_noise", [0.01, 0.1])
def test_no_more_is_lost_than_may_be(stream, more, label_noise):
    rows, labels = stream(np.random.default_rng(3), 300)
    noise = {"label_noise": label_noise, **more}
    ours = losses(VVMClassifier(8, **noise), rows, labels).sum()
    adf = losses(ADFClassifier(**noise), rows, labels).sum()
    vvm = losses(VVMClassifier(8, hedge=False, **noise), rows, labels).sum()
    assert ours <= min(adf + TO_ADF, vvm + TO_VVM) + 1e-9
    assert ours == pytest.approx(-np.logaddexp(-adf - TO_ADF, -vvm - TO_VVM), rel=1e-10)


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize(
    "more", [{}, {"margin_noise": 0.3, "prior_variance": 2.0}, {"half_life": 60.0}]
)
def test_predictions_are_those_of_both_run_apart_by_their_evidence(n_classes, more):
    X, y = problem(rows=120, n_classes=n_classes, flipped=0.2)
    noise = {**NOISE, **more}
    model, adf = VVMClassifier(6, **noise), ADFClassifier(**noise)
    vvm = VVMClassifier(6, hedge=False, **noise)
    classes = np.arange(n_classes)
    ours, theirs, alone = (
        each.predict_then_learn(X, y, classes=classes).probabilities for each in (model, adf, vvm)
    )
    evidence = [np.log(each[np.arange(120), y]) for each in (theirs, alone)]
    before = [np.concatenate([[0.0], np.cumsum(each)]) for each in evidence]
    trust = 1.0 / (1.0 + 2.0 * np.exp(before[0] - before[1]))
    mixed = trust[:-1, np.newaxis] * alone + (1.0 - trust[:-1, np.newaxis]) * theirs
    np.testing.assert_allclose(ours, mixed, rtol=1e-12)
    after = trust[-1] * vvm.predict_proba(X) + (1.0 - trust[-1]) * adf.predict_proba(X)
    np.testing.assert_allclose(model.predict_proba(X), after, rtol=1e-12)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), after, rtol=1e-12)
    np.testing.assert_array_equal(model.predict(X), np.argmax(after, axis=1))


def test_the_posterior_is_that_of_vvm():
    X, y = problem(n_classes=3)
    model, alone = (VVMClassifier(6, hedge=h, **NOISE).partial_fit(X, y) for h in (True, False))
    np.testing.assert_array_equal(model.coef_, alone.coef_)
    np.testing.assert_array_equal(model.covariance_, alone.covariance_)
    np.testing.assert_array_equal(model.log_evidence_, alone.log_evidence_)
    assert model.counters_ == alone.counters_
    for ours, theirs in zip(model.virtual_points_, alone.virtual_points_, strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize(
    "model",
    [
        VVMClassifier(6, margin_noise=0.3),
        VVMClassifier(0, label_noise=0.1),
        VVMClassifier(6, hedge=False, label_noise=0.1),
        ADFClassifier(label_noise=0.1),
        WindowEPClassifier(6, label_noise=0.1),
    ],
)
def test_nothing_else_is_hedged(model):
    X, y = problem()
    assert not isinstance(model.partial_fit(X, y)._posterior, Hedged)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_scores_order_rows_as_probabilities_do(n_classes):
    X, y = problem(rows=200, n_classes=n_classes)
    model = VVMClassifier(6, **NOISE).partial_fit(X, y)
    scores, probabilities = model.decision_function(X), model.predict_proba(X)
    if n_classes == 2:
        scores, probabilities = scores[:, np.newaxis], probabilities[:, 1:]
    else:
        np.testing.assert_allclose(scores, np.log(probabilities / (1.0 - probabilities)), rtol=1e-9)
    for score, probability in zip(scores.T, probabilities.T, strict=True):
        assert np.all(np.diff(probability[np.argsort(score)]) >= -1e-15)


def test_scores_of_two_classes_do_not_end_where_label_noise_does():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 1))
    y = (X[:, 0] > 0.0).astype(int)
    model = VVMClassifier(6, margin_noise=1.0, fit_intercept=False, **NOISE).partial_fit(X, y)
    far = np.array([[2.0], [3.0], [5.0], [9.0]])
    assert np.ptp(model.predict_proba(far)[:, 1]) < 1e-15
    assert np.all(np.diff(model.decision_function(far)) > 1.0)
    assert np.all(np.diff(model.decision_function(-far)) < -1.0)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("declared", [True, False])
def test_a_stream_may_be_cut_anywhere(n_classes, declared):
    X, y = problem(rows=90, n_classes=n_classes)
    classes = {"classes": np.arange(n_classes)} if declared else {}
    whole = VVMClassifier(6, **NOISE).partial_fit(X, y, **classes)
    for cuts in ([1], [2, 3, 40], range(1, 90)):
        pieces = in_pieces(VVMClassifier(6, **NOISE), X, y, cuts, **classes)
        assert_same_model(pieces, whole, X)
        assert pieces._posterior.lead == whole._posterior.lead
    one_by_one = VVMClassifier(6, **NOISE).partial_fit(X[:1], y[:1], **classes)
    for row, label in zip(X[1:], y[1:], strict=True):
        one_by_one.learn_one(row, label)
    assert_same_model(one_by_one, whole, X)
    assert one_by_one._posterior.lead == whole._posterior.lead
    if declared:
        predicted = VVMClassifier(6, **NOISE)
        predicted.predict_then_learn(X, y, **classes)
        assert_same_model(predicted, whole, X)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("covariance", ["full", "low-rank"])
def test_a_row_alone_has_the_bits_that_it_has_in_a_table(n_classes, covariance):
    X, y = problem(rows=60, columns=9, n_classes=n_classes)
    how = {"margin_noise": 0.3, "covariance": covariance, "rank": 3}
    model = VVMClassifier(6, **NOISE, **how).partial_fit(X[:50], y[:50], classes=range(n_classes))
    table = model.predict_proba(X)
    for row, expected in zip(X, table, strict=True):
        np.testing.assert_array_equal(model.predict_proba_one(row), expected)
    np.testing.assert_array_equal(model.predict_proba(csr_array(X)), table)


def test_threads_change_nothing():
    from joblib import parallel_config

    X, y = problem(rows=80, n_classes=4)
    one = VVMClassifier(6, **NOISE).partial_fit(X, y)
    with parallel_config(backend="threading", n_jobs=2):
        two = VVMClassifier(6, **NOISE).partial_fit(X, y)
    assert_same_model(one, two, X)
    assert one._posterior.lead == two._posterior.lead


@pytest.mark.parametrize("n_classes", [2, 3])
def test_two_classes_that_come_late_are_as_if_known_all_along(n_classes):
    X, y = problem(rows=80, n_classes=n_classes, flipped=0.0)
    order = np.argsort(y == 0, kind="stable")[::-1]  # all rows of the first class come first
    X, y = X[order], y[order]
    late = VVMClassifier(6, **NOISE).partial_fit(X, y)
    known = VVMClassifier(6, **NOISE).partial_fit(X, y, classes=np.arange(n_classes))
    np.testing.assert_array_equal(late.coef_, known.coef_)
    if n_classes == 2:
        assert_same_model(late, known, X)
        assert late._posterior.lead == known._posterior.lead
    else:  # of the third, nothing was said before it came: that is no evidence
        assert late._posterior.lead != known._posterior.lead


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_saved_model_is_the_same_to_the_last_bit(n_classes, tmp_path):
    X, y = problem(rows=90, n_classes=n_classes)
    model = VVMClassifier(6, **NOISE).partial_fit(X[:60], y[:60])
    model.save(tmp_path / "model.vvm")
    again = virtualvector.load(tmp_path / "model.vvm")
    assert again.hedge
    assert again._posterior.lead == model._posterior.lead
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    for each in (model, again):
        each.partial_fit(X[60:], y[60:])
    assert_same_model(again, model, X)


def test_a_model_of_other_parameters_is_not_saved(tmp_path):
    X, y = problem()
    for before, after in ((True, False), (False, True)):
        model = VVMClassifier(6, hedge=before, **NOISE).fit(X, y).set_params(hedge=after)
        with pytest.raises(ValueError, match="another hedge than what was learned with"):
            model.save(tmp_path / "model.vvm")


@pytest.mark.parametrize("n_classes", [2, 3])
def test_whole_weights_are_repeated_rows_and_parts_count_as_much(n_classes):
    X, y = problem(rows=50, n_classes=n_classes)
    weights = np.tile([1.0, 2.0, 0.0, 3.0, 1.0], 10)
    times = weights.astype(int)
    weighted = VVMClassifier(6, **NOISE).partial_fit(
        X, y, classes=range(n_classes), sample_weight=weights
    )
    repeated = VVMClassifier(6, **NOISE).partial_fit(
        np.repeat(X, times, axis=0), np.repeat(y, times), classes=range(n_classes)
    )
    assert_same_model(weighted, repeated, X)
    half = VVMClassifier(6, **NOISE)
    half.partial_fit(X[:30], y[:30], classes=range(n_classes))
    before, said = half._posterior.lead, {}
    for name, model in {
        "adf": ADFClassifier(**NOISE), "vvm": VVMClassifier(6, hedge=False, **NOISE)
    }.items():  # fmt: skip
        model.partial_fit(X[:30], y[:30], classes=range(n_classes))
        said[name] = np.log(model.predict_proba(X[30:31])[0, y[30]])
    half.partial_fit(X[30:31], y[30:31], sample_weight=[0.5])
    gain = half._posterior.lead - before
    assert gain == pytest.approx(0.5 * (said["vvm"] - said["adf"]), abs=1e-12)


def test_new_columns_are_as_if_they_had_always_been_zero():
    X, y = problem(rows=60, columns=4)
    X[:30, 3] = 0.0
    wide = VVMClassifier(6, **NOISE).partial_fit(X, y)
    narrow = VVMClassifier(6, **NOISE).partial_fit(X[:30, :3], y[:30])
    grown = narrow.with_more_features(1).partial_fit(X[30:], y[30:])
    np.testing.assert_allclose(grown.predict_proba(X), wide.predict_proba(X), rtol=1e-8)
    assert grown._posterior.lead == pytest.approx(wide._posterior.lead, abs=1e-8)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_pooled_models_have_won_what_each_has(n_classes):
    X, y = problem(rows=240, n_classes=n_classes)
    learn = partial(VVMClassifier, 6, margin_noise=0.3, **NOISE)
    start = learn().partial_fit(X[:60], y[:60], classes=range(n_classes))
    spans = [slice(60, 120), slice(120, 180), slice(180, 240)]
    shards = [
        learn().partial_fit(X[:60], y[:60], range(n_classes)).partial_fit(X[s], y[s]) for s in spans
    ]
    together = pool(shards, common=start)
    lead = start._posterior.lead
    won = [shard._posterior.lead - lead for shard in shards]
    assert together._posterior.lead == pytest.approx(lead + sum(won), abs=1e-12)
    apart = [
        ADFClassifier(margin_noise=0.3, **NOISE)
        .partial_fit(X[:60], y[:60], range(n_classes))
        .partial_fit(X[s], y[s])
        for s in spans
    ]
    common = ADFClassifier(margin_noise=0.3, **NOISE).partial_fit(X[:60], y[:60], range(n_classes))
    beside = pool(apart, common=common)
    vvm = learn(hedge=False).partial_fit(X[:60], y[:60], range(n_classes))
    alone = pool(
        [
            learn(hedge=False).partial_fit(X[:60], y[:60], range(n_classes)).partial_fit(X[s], y[s])
            for s in spans
        ],
        common=vvm,
    )
    trust = 1.0 / (1.0 + np.exp(-(lead + sum(won))))
    expected = trust * alone.predict_proba(X) + (1.0 - trust) * beside.predict_proba(X)
    np.testing.assert_allclose(together.predict_proba(X), expected, rtol=1e-10)
    again = pool(shards[::-1], common=start)
    np.testing.assert_array_equal(again.predict_proba(X), together.predict_proba(X))
    with pytest.raises(ValueError, match="differ in hedge: True and False"):
        pool([start, vvm])


def test_rounds_go_on_with_both():
    X, y = problem(rows=200)
    model = VVMClassifier(6, margin_noise=0.3, **NOISE).partial_fit(X[:100], y[:100])
    shards = [begun(model).partial_fit(X[s], y[s]) for s in (slice(100, 150), slice(150, 200))]
    done = ended(model, shards)
    assert done.n_seen_ == 200
    assert done._posterior.beside.states[0].counts[POINTS] == 0  # as ADF has none
    assert done._posterior.beside.states[0].counts[ROWS] == 200
    leads = [each._posterior.lead for each in (model, *shards)]
    assert done._posterior.lead == pytest.approx(sum(leads[1:]) - leads[0], abs=1e-12)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_lead_of_any_size_gives_probabilities(n_classes):
    X, y = problem(n_classes=n_classes)
    model = VVMClassifier(6, **NOISE).partial_fit(X, y)
    known = model._posterior
    for lead in (-1e300, -1e3, 1e3, 1e300):
        model._posterior = Hedged(
            known.settings, None, known.classes, known.states, known.unseen, known.beside, lead
        )
        found = model.predict_proba(X)
        one = known.beside if lead < 0.0 else super(Hedged, known)
        np.testing.assert_array_equal(found, one.probabilities(X))
        assert np.isfinite(model.predict_log_proba(X)).all()
        assert np.isfinite(model.decision_function(X)).all()
        np.testing.assert_array_equal(model.predict_proba_one(X[0]), found[0])


def test_rows_that_are_refused_leave_both_as_they_were():
    X, y = problem()
    model = VVMClassifier(6, **NOISE).partial_fit(X[:20], y[:20])
    before = model.predict_proba(X)
    for row in (np.full(4, np.nan), np.full(4, np.inf)):
        with pytest.raises(ValueError, match="nan or infinity"):
            model.learn_one(row, 0)
        with pytest.raises(ValueError, match="nan or infinity"):
            model.predict_proba_one(row)
    np.testing.assert_array_equal(model.predict_proba(X), before)
    assert model.n_seen_ == 20
