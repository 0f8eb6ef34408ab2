"""The first rows are kept, and learned again on the scale that their columns have by then."""

import copy

import numpy as np
import pandas as pd
import pytest

from faults.sealing import changed
from tests.learners.learner_examples import problem
from virtualvector import ADFClassifier, AutoVVMClassifier, Expert, load, pool
from virtualvector.auto.first_rows import REPLAYED_AT
from virtualvector.auto.working import WorkingCommittee
from virtualvector.persistence.mixin import contents_of

LAST = REPLAYED_AT[-1]
LINEAR = (Expert(None, 1.0),)
FEW = (Expert(None, 1.0, buffer_size=3), Expert(None, 3.0, label_noise=0.02), Expert(0.5, 0.1))


def few(**options):
    return AutoVVMClassifier(experts=FEW, n_frequencies=5, **options)


def walking(n_rows, n_columns=3, seed=0):
    """Rows whose columns begin far from where they will be, in other units; and two classes."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_columns)) * [1.0, 100.0, 0.01][:n_columns]
    X[0] *= 5.0
    return X, (X[:, 0] + 0.5 * rng.normal(size=n_rows) > 0).astype(int)


def by_hand(X, n_rows):
    """The first rows in deviations of the first rows, then asinh: as numpy has them."""
    first = X[:n_rows]
    return np.arcsinh((first - np.nanmean(first, axis=0)) / np.nanstd(first, axis=0))


@pytest.mark.parametrize("n_rows", [n for n in REPLAYED_AT if n < 10])  # later ones may be cut off
def test_what_is_known_after_a_replay_is_what_rows_on_one_scale_teach(n_rows):
    X, y = walking(n_rows)
    y[:2] = [0, 1]
    model = AutoVVMClassifier(experts=LINEAR).partial_fit(X, y, classes=[0, 1])
    alone = ADFClassifier(margin_noise=1.0).partial_fit(by_hand(X, n_rows), y, classes=[0, 1])
    means = [row["mean"] for row in model.weight_table_]
    np.testing.assert_allclose(means, alone.coef_[0], rtol=1e-9)


def test_after_the_last_replay_the_scale_is_that_of_thirty_rows_that_count_as_three_hundred():
    X, y = walking(LAST)
    X[0] /= 5.0  # so that nothing is further out than four deviations
    model = AutoVVMClassifier(experts=LINEAR).partial_fit(X, y, classes=[0, 1])
    weights = np.r_[np.full(30, 10.0), np.ones(LAST - 30)]
    mean = np.average(X, axis=0, weights=weights)
    deviation = np.sqrt(np.average((X - mean) ** 2, axis=0, weights=weights))
    assert np.all(np.abs(X - mean) < 4.0 * deviation)
    scaled = np.arcsinh((X - mean) / deviation)
    alone = ADFClassifier(margin_noise=1.0).partial_fit(scaled, y, classes=[0, 1])
    means = [row["mean"] for row in model.weight_table_]
    np.testing.assert_allclose(means, alone.coef_[0], rtol=1e-9)


def test_a_row_between_two_replays_is_learned_as_it_comes():
    X, y = walking(5)
    y[:2] = [0, 1]
    model = AutoVVMClassifier(experts=LINEAR).partial_fit(X, y, classes=[0, 1])
    rows = np.vstack([by_hand(X, 4), by_hand(X, 5)[4:]])
    alone = ADFClassifier(margin_noise=1.0).partial_fit(rows, y, classes=[0, 1])
    means = [row["mean"] for row in model.weight_table_]
    np.testing.assert_allclose(means, alone.coef_[0], rtol=1e-9)


def test_evidence_is_of_what_was_predicted_before_the_label_was_known():
    X, y = walking(60)
    model = AutoVVMClassifier(experts=LINEAR)
    predicted = model.predict_then_learn(X, y, classes=[0, 1]).probabilities
    said = np.log(predicted[np.arange(len(y)), y]).sum()
    assert model.experts_[0]["evidence"] == pytest.approx(said, rel=1e-12)
    later = copy.copy(y)
    later[LAST - 1] = 1 - later[LAST - 1]
    other = AutoVVMClassifier(experts=LINEAR).predict_then_learn(X, later, classes=[0, 1])
    np.testing.assert_array_equal(other.probabilities[:LAST], predicted[:LAST])
    assert np.any(other.probabilities[LAST:] != predicted[LAST:])


def test_columns_that_are_not_scaled_have_nothing_to_replay():
    X, y = problem(rows=40)
    model = AutoVVMClassifier(experts=LINEAR, scale=False).partial_fit(X, y, classes=[0, 1])
    alone = ADFClassifier(margin_noise=1.0).partial_fit(X, y, classes=[0, 1])
    assert model.partial_fit(X[:1], y[:1])._committee.first_rows is None
    means = [row["mean"] for row in model.weight_table_]
    np.testing.assert_allclose(means, alone.partial_fit(X[:1], y[:1]).coef_[0], rtol=1e-9)


def mixed(n_rows):
    """Numbers with gaps, times, categories of which there are many; a class that comes late."""
    rng = np.random.default_rng(1)
    table = pd.DataFrame({"n": rng.normal(size=n_rows), "town": rng.integers(14, size=n_rows)})
    table["town"] = table["town"].map("town {}".format)
    table["day"] = np.datetime64("2024-01-01", "s") + rng.integers(10**8, size=n_rows)
    table.loc[3:40:5, "n"] = np.nan
    labels = np.where(rng.random(n_rows) < 0.5, "b", "c")
    labels[11::3] = "a"
    return table, labels


CUTS = {"rows": 1, "threes": 3, "sevens": 7, "two": 33}


@pytest.mark.parametrize("size", CUTS.values(), ids=CUTS)
@pytest.mark.parametrize("classes", [None, ["a", "b", "c"]], ids=["as they come", "declared"])
def test_bits_do_not_depend_on_the_cut_nor_on_files_in_between(size, classes, tmp_path):
    table, labels = mixed(50)
    whole = few().partial_fit(table, labels, classes=classes)
    model = few().partial_fit(table[:2], labels[:2], classes=classes)
    for start in range(2, 50, size):
        model.partial_fit(table[start : start + size], labels[start : start + size])
        if start < LAST + 2 and start % 4 < 2:
            model.save(tmp_path / "model.vvm")
            model = load(tmp_path / "model.vvm")
    assert contents_of(model) == contents_of(whole)
    assert contents_of(few(n_jobs=2).partial_fit(table, labels, classes=classes).set_params(
        n_jobs=1
    )) == contents_of(whole)  # fmt: skip


def test_rows_as_dicts_leave_the_bits_of_a_table_after_each_of_the_first():
    table, labels = mixed(LAST + 3)
    rows = table.to_dict("records")
    one = few().partial_fit(table[:2], labels[:2], classes=["a", "b", "c"])
    two = copy.copy(one)
    for t in range(2, len(rows)):
        one.predict_proba_one(rows[t])
        one.learn_one(rows[t], labels[t])
        two = copy.copy(two).partial_fit(table[t : t + 1], labels[t : t + 1])
        assert contents_of(one) == contents_of(two)


def test_a_column_that_comes_between_is_as_if_the_rows_before_had_lacked_it():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.normal(size=40), "b": rng.normal(size=40)})
    table.loc[:9, "b"] = np.nan
    labels = (table["a"] > 0).astype(int).to_numpy()
    told = AutoVVMClassifier(experts=LINEAR).partial_fit(table, labels, classes=[0, 1])
    late = AutoVVMClassifier(experts=LINEAR, new_columns="add")
    late.partial_fit(table[["a"]][:10], labels[:10], classes=[0, 1])
    late.partial_fit(table[10:], labels[10:])
    means = [[row["mean"] for row in model.weight_table_] for model in (told, late)]
    np.testing.assert_allclose(*means, rtol=1e-9)


def test_weights_of_rows_are_those_of_rows_that_come_several_times():
    X, y = walking(20)
    twice = few().partial_fit(np.repeat(X, 2, axis=0), np.repeat(y, 2), classes=[0, 1])
    assert contents_of(few().partial_fit(X, y, [0, 1], np.full(20, 2.0))) == contents_of(twice)


def test_no_row_is_kept_after_the_last_replay():
    X, y = walking(LAST + 1)
    model = few().partial_fit(X[: LAST - 1], y[: LAST - 1], classes=[0, 1])
    assert model._committee.first_rows.numbers.shape == (LAST - 1, 3)
    before = model.n_bytes_
    for t in (LAST - 1, LAST):
        assert model.learn_one(X[t], y[t])._committee.first_rows is None
    assert model.n_bytes_ < before


def test_a_call_that_is_interrupted_in_a_replay_leaves_no_trace(monkeypatch):
    X, y = walking(40)
    model = few().partial_fit(X[:10], y[:10], classes=[0, 1])
    before, replay = contents_of(model), WorkingCommittee.replay

    def interrupted(self, rows, team):
        replay(self, rows, team)
        raise KeyboardInterrupt

    monkeypatch.setattr(WorkingCommittee, "replay", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(X[10:], y[10:])
    assert contents_of(model) == before


def log_loss_of(model, X, y):
    return -np.mean(np.log(model.predict_proba(X)[np.arange(len(y)), y]))


def test_models_that_replayed_the_rows_of_a_common_one_do_better_together():
    """What each has learned of these rows since is on its own scale, so quotients are not exact."""
    X, y = walking(1000)
    common = few().partial_fit(X[:10], y[:10], classes=[0, 1])
    shards = [copy.copy(common).partial_fit(X[a : a + 60], y[a : a + 60]) for a in (10, 70, 130)]
    together = pool(shards, common=common)
    assert (together.n_seen_, together._committee.first_rows) == (190, None)
    assert contents_of(together)  # a model that can be
    rest = X[190:], y[190:]
    assert log_loss_of(together, *rest) < np.mean([log_loss_of(each, *rest) for each in shards])


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("observed", lambda a: 1 - a),
        ("observed", lambda a: a + 2),
        ("observed", lambda a: a[:-1]),
        ("powers", lambda a: 0.0 * a),
        ("powers", lambda a: 2.0 * a),
        ("numbers", lambda a: a[:-1]),
        ("numbers", lambda a: np.pad(a, ((0, 0), (0, 1)))),
        ("missing", lambda a: ~a),
        ("others", lambda a: np.zeros((len(a), 9))),
        ("others", lambda a: np.zeros((len(a) + 1, 0))),
    ],
)
def test_first_rows_that_cannot_be_are_refused(name, change, tmp_path):
    X, y = walking(9)
    y[:] = [0, 1, 1, 1, 1, 0, 1, 1, 1]
    content = contents_of(few().partial_fit(X, y, classes=[0, 1]))
    place = f"committee/first_rows/{name}"
    path = tmp_path / "model.vvm"
    path.write_bytes(changed(content, arrays=lambda a: a.update({place: change(a[place])})))
    with pytest.raises(ValueError, match="found what cannot have been learned"):
        load(path)


def test_experts_of_low_rank_replay_as_well():
    X, y = walking(LAST + 2)
    experts = (Expert(None, 1.0, rank=2), Expert(None, 3.0, rank=0))
    whole = AutoVVMClassifier(experts=experts).partial_fit(X, y, classes=[0, 1])
    model = AutoVVMClassifier(experts=experts).partial_fit(X[:1], y[:1], classes=[0, 1])
    for row, label in zip(X[1:], y[1:], strict=True):
        model.learn_one(row, label)
    assert contents_of(model) == contents_of(whole)
    full = AutoVVMClassifier(experts=LINEAR).partial_fit(X[:8], y[:8], classes=[0, 1])
    same = AutoVVMClassifier(experts=(Expert(None, 1.0, rank=8),))
    same.partial_fit(X[:8], y[:8], classes=[0, 1])
    means = [[row["mean"] for row in each.weight_table_] for each in (full, same)]
    np.testing.assert_allclose(*means, rtol=1e-9)
