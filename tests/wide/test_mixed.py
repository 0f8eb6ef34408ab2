"""Wide rows, learned by several whose predictions are mixed."""

import numpy as np
import pytest
from scipy import sparse
from scipy.special import softmax

import virtualvector
from tests.wide.test_classifier import notes, wide
from virtualvector import ADFClassifier, WideVVMClassifier
from virtualvector.kernels.calibration import TRUST_IN_MIX
from virtualvector.learners.expert import described
from virtualvector.learners.sparse_rows import SparseTable
from virtualvector.wide.mixed import Mixed
from virtualvector.wide.rates import Rates

NOISES = (1.0, 0.25, 4.0)


def stream(n_rows=600, classes=2):
    rows, labels = wide(n_rows, 80, classes)
    return sparse.csr_array(rows), labels


def said_by_each(rows, labels, rank):
    """What single learners say of rows, each before it learned the row: the asked one first."""
    models = [ADFClassifier(margin_noise=1.0, covariance="low-rank", rank=rank)]
    models += [ADFClassifier(margin_noise=noise, covariance="independent") for noise in NOISES]
    classes = np.unique(labels)
    said = [model.predict_then_learn(rows, labels, classes=classes) for model in models]
    return np.array([*(each.probabilities for each in said), said_by_rates(rows, labels)])


def said_by_rates(rows, labels, half_life=None):
    """Naive Bayes by presence, whose rates have a prior of one row, written out with logarithms."""
    rows, n_classes = rows.toarray() != 0.0, len(np.unique(labels))
    said = []
    for t in range(len(labels)):
        ages = t - np.arange(t)  # of a row that comes now
        weights = np.ones(t) if half_life is None else 0.5 ** (ages / half_life)
        own = np.array([weights[labels[:t] == k].sum() for k in range(n_classes)])
        counts = np.array([weights * (labels[:t] == k) @ rows[:t] for k in range(n_classes)])
        overall = (counts.sum(axis=0) + 0.5) / (own.sum() + 1.0)
        rates = (counts + overall) / (own + 1.0)[:, np.newaxis]
        scores = np.log(own + 1.0) + np.log(rates[:, rows[t]]).sum(axis=1)
        said.append(softmax(scores / max(rows[t].sum(), 1)))
    return np.array(said)


@pytest.mark.parametrize("classes", [2, 3])
def test_evidence_is_that_of_the_single_learners(classes):
    rows, labels = stream(classes=classes)
    model = WideVVMClassifier(rank=3, scale=False)
    model.partial_fit(rows, labels, classes=np.unique(labels))
    of_label = said_by_each(rows, labels, 3)[:, np.arange(len(labels)), labels]
    found = [expert["evidence"] for expert in model.experts_]
    np.testing.assert_allclose(found, np.log(of_label).sum(axis=1), rtol=1e-10)
    assert [expert["margin_noise"] for expert in model.experts_] == [1.0, *NOISES, 1.0]
    assert sum(expert["weight"] for expert in model.experts_) == pytest.approx(1.0)
    assert [expert["rank"] for expert in model.experts_] == [model.rank_, 0, 0, 0, 0]
    assert [described(expert) for expert in model.experts_][1:4:2] == [
        "linear, s² 1, rank 0, independent weights",
        "linear, s² 4, rank 0, independent weights",
    ]
    assert described(model.experts_[4]) == "rates of places in classes"
    assert model.n_awake_ == 5


@pytest.mark.parametrize("classes", [2, 3])
def test_the_mix_loses_little_more_than_the_best_learner(classes):
    rows, labels = stream(classes=classes)
    each = said_by_each(rows, labels, 3)[:, np.arange(len(labels)), labels]
    model = WideVVMClassifier(rank=3, scale=False)
    said = model.predict_then_learn(rows, labels, classes=np.unique(labels)).probabilities
    loss = -np.log(said[np.arange(len(labels)), labels]).sum()
    best = -np.log(each).sum(axis=1).min()
    # One of five, and of ways to correct the mix none; what is given away at each row is next to
    # nothing but for the tenth over the number of rows so far (`kernels/calibration.py`).
    n = len(labels)
    given = -np.log1p(-0.1 / (np.arange(n) + 10.0)).sum() + n * 4e-5
    assert loss <= best + np.log(5.0) - np.log(TRUST_IN_MIX) + given
    np.testing.assert_allclose(said.sum(axis=1), 1.0, rtol=1e-12)


def test_what_is_known_of_weights_is_what_the_learner_alone_knows():
    rows, labels = stream()
    one, other = (WideVVMClassifier(rank=3, mix=mix).fit(rows, labels) for mix in (True, False))
    assert one.weight_table_ == other.weight_table_
    assert one.counters_ == other.counters_
    assert np.abs(one.predict_proba(rows) - other.predict_proba(rows)).max() > 1e-3
    # A mean and a precision for each of three beside it, two rates, and marks.
    assert one.n_bytes_ - other.n_bytes_ > 3 * 2 * 8 * 81 + 2 * 8 * 80


def test_of_two_the_same_one_is_left_out():
    rows, labels = stream(100)
    model = WideVVMClassifier(covariance="independent").fit(rows, labels)
    assert [expert["margin_noise"] for expert in model.experts_] == [1.0, 0.25, 4.0, 1.0]


def test_a_third_class_comes_and_no_more_may_come_then():
    rows, labels = stream(300, classes=3)
    later = (labels != 2) | (np.arange(300) > 60)
    rows, labels = rows[later], labels[later]
    model = WideVVMClassifier(rank=2).partial_fit(rows, labels)
    assert isinstance(model._posterior, Mixed)
    assert model._posterior.trust.counts.sum() == pytest.approx(len(labels), abs=2.0)
    assert np.mean(model.predict(rows) == labels) > 0.6
    model.close_classes()
    with pytest.raises(ValueError, match="one of the classes known from the start"):
        model.partial_fit(rows[:1], [9])


def test_a_mix_goes_on_from_a_file_to_the_same_bits(tmp_path):
    table, labels = notes()
    model = WideVVMClassifier(rank=2, text_features=["note"], n_hashed=2**10)
    model.partial_fit(table[:60], labels[:60]).save(tmp_path / "m.vvm")
    again = virtualvector.load(tmp_path / "m.vvm")
    for one in (model, again):
        one.partial_fit(table[60:], labels[60:])
    np.testing.assert_array_equal(again.predict_proba(table), model.predict_proba(table))
    assert again.experts_ == model.experts_


def test_of_more_classes_than_memory_is_there_for_fewer_learn_and_that_is_said():
    rows, labels = wide(60, 50, classes=3)
    wider = sparse.csr_array((60, 2**20 - 50))
    table = sparse.hstack([sparse.csr_array(rows), wider], format="csr")
    model = WideVVMClassifier(rank=5).partial_fit(table, labels, classes=[0, 1, 2])
    assert model.n_awake_ == 1 + 1
    assert model.given_up_ == ["3 of those that would learn beside it, and be mixed with it"]
    assert model.experts_[1]["kind"] == "rates of places in classes"


@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("weights", lambda a: a * 2.0),
        ("weights", lambda a: a[:2]),
        ("evidence", lambda a: a + np.inf),
        ("corrections", lambda a: -a),
        ("counts", lambda a: a - 1e6),
    ],
)
def test_forged_trust_is_refused(field, change):
    rows, labels = stream(60)
    known = WideVVMClassifier(rank=2).fit(rows, labels)._posterior
    forged = known.trust._replace(**{field: change(getattr(known.trust, field))})
    with pytest.raises(ValueError, match="expected"):
        forged.check(5, 2)


@pytest.mark.parametrize("half_life", [None, 20.0, 0.5])
@pytest.mark.parametrize("cut", [1, 7, 150])
def test_rates_are_those_of_naive_bayes_written_out_wherever_rows_are_cut(half_life, cut):
    rows, labels = stream(150, classes=3)
    rows[3] *= 0.0  # without an entry, and with zeros written out
    rates, parts = Rates.start(80, 3), []
    for start in range(0, 150, cut):
        some = slice(start, start + cut)
        rates, said = rates.predict_then_learn(
            SparseTable(rows[some]), labels[some], np.inf if half_life is None else half_life
        )
        parts.append(said)
    exact = said_by_rates(rows, labels, half_life)
    np.testing.assert_allclose(np.vstack(parts), exact, rtol=1e-9, atol=1e-12)
    whole, again = Rates.start(80, 3).predict_then_learn(
        SparseTable(rows), labels, np.inf if half_life is None else half_life
    )
    assert all(np.array_equal(one, other) for one, other in zip(rates, whole, strict=True))
    np.testing.assert_array_equal(np.vstack(parts), again)
    assert 1.0 <= rates.unit[0] <= 2.0**200


def test_a_row_of_some_power_counts_as_much():
    rows, labels = stream(40)
    table, powers = SparseTable(rows), np.linspace(0.1, 1.0, 40)
    rates, _ = Rates.start(80, 2).predict_then_learn(table, labels, np.inf, powers)
    np.testing.assert_allclose(rates.rows, [powers[labels == k].sum() for k in (0, 1)])
    ones = (rows.toarray() != 0.0) * powers[:, np.newaxis]
    np.testing.assert_allclose(rates.counts[:, 1], ones[labels == 1].sum(axis=0), atol=1e-12)


def test_rates_of_a_class_that_comes_later_are_as_if_it_had_been_known():
    rows, labels = stream(90, classes=3)
    order = np.argsort(labels == 1, kind="stable")
    rows, labels = rows[order], labels[order]
    known = WideVVMClassifier(rank=1, scale=False).partial_fit(rows, labels)._posterior
    expected = [np.count_nonzero(rows[labels == k].toarray(), axis=0) for k in range(3)]
    np.testing.assert_array_equal(known.rates.counts, np.transpose(expected))
    np.testing.assert_array_equal(known.rates.rows, np.bincount(labels))


@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("counts", lambda a: a[:-1]),
        ("counts", lambda a: a + 1e6),
        ("counts", lambda a: a * np.nan),
        ("rows", lambda a: -a),
        ("rows", lambda a: a + 1e6),
        ("unit", lambda a: a * 0.0),
    ],
)
def test_forged_rates_are_refused(field, change):
    rows, labels = stream(60)
    known = WideVVMClassifier(rank=2).fit(rows, labels)._posterior
    forged = known.rates._replace(**{field: change(getattr(known.rates, field))})
    known.rates.check(80, 2, 60)
    with pytest.raises(ValueError, match="expected"):
        forged.check(80, 2, 60)
