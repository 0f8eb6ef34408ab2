"""Texts and sparse rows, learned in Python."""

import itertools

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.feature_extraction import FeatureHasher

import virtualvector
from virtualvector import ADFClassifier, VVMClassifier, WideVVMClassifier
from virtualvector.posterior import precision_of
from virtualvector.streams.columns import sparse_type
from virtualvector.wide.classifier import affordable_rank

SMALL = 2**10  # places


def notes(n_rows=120, seed=0):
    """Texts of random words, some of which tell the class; a town, a price, and labels."""
    rng = np.random.default_rng(seed)
    words = np.array([f"w{k}" for k in range(40)])
    weights = rng.normal(size=40)
    which = [rng.choice(40, 6) for _ in range(n_rows)]
    towns, prices = rng.choice(["Rome", "Oslo"], n_rows), rng.lognormal(2.0, 1.0, n_rows)
    score = [weights[k].sum() for k in which] + (towns == "Oslo") + rng.normal(size=n_rows)
    texts = [" ".join(words[k]) for k in which]
    table = pd.DataFrame({"price": prices, "town": towns, "note": texts})
    return table, np.where(score > 0, "good", "bad")


def words_and_pairs(text):
    words = text.split()
    return [*words, *(" ".join(pair) for pair in itertools.pairwise(words))]


def wide(n_rows=150, columns=60, classes=2, seed=0):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n_rows, columns)) * (rng.random((n_rows, columns)) < 0.1)
    scores = rows @ rng.normal(size=(columns, classes)) + rng.normal(size=(n_rows, classes))
    labels = np.argmax(scores, axis=1)
    labels[:classes] = np.arange(classes)
    return rows, labels


def long_notes():
    """As `notes`, with texts that are plainly some: long ones, which differ."""
    table, labels = notes()
    return table.assign(note="as it was said on that day: " + table["note"]), labels


def test_a_column_that_plainly_holds_texts_is_learned_by_its_words_and_warned_of(tmp_path):
    table, labels = long_notes()
    found, told = (WideVVMClassifier(rank=2, text_features=t) for t in (None, ["note"]))
    with pytest.warns(UserWarning, match=r"\['note'\] plainly hold texts.*by their words"):
        found.partial_fit(table[:100], labels[:100])
    told.partial_fit(table[:100], labels[:100])
    assert found.is_text_.tolist() == [False, False, True]
    expected = told.predict_proba(table[100:])
    np.testing.assert_array_equal(found.predict_proba(table[100:]), expected)
    found.save(tmp_path / "notes.vvm")
    again = virtualvector.load(tmp_path / "notes.vvm")
    np.testing.assert_array_equal(again.predict_proba(table[100:]), expected)


@pytest.mark.parametrize("as_said", [{"text_features": []}, {"categorical_features": ["note"]}])
def test_texts_that_are_said_to_be_something_else_are_not_looked_for(as_said):
    table, labels = long_notes()
    model = WideVVMClassifier(rank=0, n_hashed=SMALL, **as_said).fit(table[["note"]], labels)
    assert model.is_categorical_.tolist() == [True]


def test_times_stay_times_where_it_is_said_what_is_categorical():
    table, labels = notes()
    table["when"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(len(table)), "D")
    told = {"text_features": ["note"], "n_hashed": SMALL, "rank": 1}
    found, said = (
        WideVVMClassifier(**told, categorical_features=chosen).partial_fit(table, labels)
        for chosen in (None, ["town"])
    )
    np.testing.assert_array_equal(found.predict_proba(table), said.predict_proba(table))


def test_texts_are_found_in_arrays_too_and_not_where_pandas_has_categories():
    table, labels = long_notes()
    with pytest.warns(UserWarning, match=r"columns \[1\] plainly"):
        model = WideVVMClassifier(rank=0).fit(table[["price", "note"]].to_numpy(object), labels)
    assert model.is_text_.tolist() == [False, True]
    table = table.astype({"note": "category"})
    assert not WideVVMClassifier(rank=0).fit(table, labels).is_text_.any()


@pytest.mark.parametrize("rank", [0, 3])
def test_texts_are_learned_as_adf_learns_what_feature_hasher_makes_of_words_and_pairs(rank):
    table, labels = notes()
    hasher = FeatureHasher(SMALL, input_type="string", alternate_sign=False)
    tokens = [[f"note: {each}" for each in words_and_pairs(text)] for text in table["note"]]
    rows = (hasher.transform(tokens) > 0).astype(float)
    known = ADFClassifier(margin_noise=1.0, covariance="low-rank", rank=rank)
    known.partial_fit(rows[:100], labels[:100])
    found = WideVVMClassifier(rank=rank, mix=False, text_features=["note"], n_hashed=SMALL)
    found.partial_fit(table[["note"]][:100], labels[:100])
    expected = known.predict_proba(rows[100:])
    np.testing.assert_array_equal(found.predict_proba(table[["note"]][100:]), expected)


def test_points_are_those_of_a_vvm():
    rows, labels = wide()
    known = VVMClassifier(5, margin_noise=1.0, covariance="low-rank", rank=2)
    found = WideVVMClassifier(5, merge_pairs=5, rank=2, mix=False, scale=False)
    for one in (known, found):
        one.partial_fit(sparse.csr_array(rows[:100]), labels[:100])
    np.testing.assert_array_equal(
        found.predict_proba(sparse.csr_array(rows[100:])), known.predict_proba(rows[100:])
    )


def test_how_a_stream_is_cut_changes_no_bit():
    table, labels = notes()
    options = {"text_features": ["note"], "n_hashed": SMALL, "rank": 3}
    whole = WideVVMClassifier(**options)
    at_once = whole.predict_then_learn(table, labels, classes=[])
    pieces, parts = WideVVMClassifier(**options), []
    for start, stop in [(0, 1), (1, 2), (2, 50), (50, 120)]:
        some = slice(start, stop)
        said = pieces.predict_then_learn(table[some], labels[some], classes=[])
        parts.append(np.pad(said.probabilities, ((0, 0), (0, 2 - said.probabilities.shape[1]))))
    assert whole.classes_.tolist() == pieces.classes_.tolist() == ["bad", "good"]
    np.testing.assert_array_equal(np.vstack(parts)[2:], at_once.probabilities[2:])
    np.testing.assert_array_equal(whole.predict_proba(table), pieces.predict_proba(table))
    assert whole._encoder.words == pieces._encoder.words


def test_classes_that_come_later_are_learned_as_if_they_had_been_declared():
    rows, labels = wide(classes=4)
    rows = sparse.csr_array(rows)
    # Of a mix, trust has come from what was said of fewer classes.
    declared = WideVVMClassifier(rank=2, mix=False)
    declared.partial_fit(rows, labels, classes=[0, 1, 2, 3])
    coming = WideVVMClassifier(rank=2, mix=False)
    said = coming.predict_then_learn(rows, labels, classes=[])
    np.testing.assert_allclose(
        coming.predict_proba(rows), declared.predict_proba(rows), rtol=0, atol=1e-12
    )
    first = [int(np.argmax(labels == k)) for k in range(4)]
    assert all(said.probabilities[row, labels[row]] == 0.0 for row in first)
    assert coming.close_classes().takes_new_classes_ is False
    with pytest.raises(ValueError, match="one of the classes known from the start"):
        coming.partial_fit(rows[:1], [9])


def test_a_sparse_table_a_column_of_lists_and_an_array_are_the_same():
    rows, labels = wide()
    lists = [[(k, row[k]) for k in np.flatnonzero(row)] for row in rows]
    column = pa.table({"x": pa.array(lists, sparse_type())})
    models = [WideVVMClassifier(rank=2, n_places=60) for _ in range(2)]
    models[0].partial_fit(sparse.csr_array(rows[:100]), labels[:100])
    models[1].partial_fit(column[:100], labels[:100])
    expected = models[0].predict_proba(sparse.csr_array(rows[100:]))
    np.testing.assert_array_equal(models[1].predict_proba(column[100:]), expected)
    np.testing.assert_array_equal(models[0].predict_proba(rows[100:]), expected)


def test_columns_of_sparse_rows_in_any_units_give_the_same_probabilities():
    rows, labels = wide()
    units = 10.0 ** np.random.default_rng(1).integers(-3, 4, rows.shape[1])
    one, other = (
        WideVVMClassifier(rank=2).fit(sparse.csr_array(r), labels) for r in (rows, rows * units)
    )
    found = other.predict_proba(sparse.csr_array(rows * units))
    np.testing.assert_allclose(found, one.predict_proba(sparse.csr_array(rows)), rtol=1e-9)


@pytest.mark.parametrize("rank", [0, 3])
def test_weights_have_the_means_and_deviations_of_the_dense_posterior(rank):
    rows, labels = wide()
    model = WideVVMClassifier(4, rank=rank).fit(sparse.csr_array(rows), labels)
    (state,) = model._posterior.states
    covariance = np.linalg.inv(precision_of(state))
    table = model.weight_table_
    places = [int(line["column"][1:]) for line in table]
    assert sorted(places) == np.flatnonzero(rows.any(axis=0)).tolist()
    deviations = [line["deviation"] for line in table]
    np.testing.assert_allclose(deviations, np.sqrt(np.diag(covariance))[places], rtol=1e-9)
    certainty = [abs(line["mean"]) / line["deviation"] for line in table]
    assert certainty == sorted(certainty, reverse=True)


def test_words_that_tell_most_are_found_again():
    rng = np.random.default_rng(0)
    labels = rng.random(300) < 0.5
    texts = [
        f"{'sweet' if y else 'dry'} wine number {k % 17} of many" for k, y in enumerate(labels)
    ]
    model = WideVVMClassifier(text_features=["note"]).fit({"note": texts}, labels)
    tell = {f"note: {word}{more}" for word in ("sweet", "dry") for more in ("", " wine")}
    assert {line["column"] for line in model.weight_table_[:4]} == tell


def test_a_model_goes_on_from_a_file_to_the_same_bits(tmp_path):
    table, labels = notes()
    model = WideVVMClassifier(3, rank=2, text_features=["note"], n_hashed=SMALL)
    model.partial_fit(table[:60], labels[:60]).save(tmp_path / "m.vvm")
    again = virtualvector.load(tmp_path / "m.vvm")
    for one in (model, again):
        one.partial_fit(table[60:], labels[60:])
    np.testing.assert_array_equal(again.predict_proba(table), model.predict_proba(table))
    assert again.weight_table_ == model.weight_table_
    assert again.n_missing_.tolist() == [0, 0, 0]


def test_missing_texts_and_categories_never_met_are_counted():
    table = {"note": ["a b", None, "c"], "town": ["Rome", "Oslo", None]}
    model = WideVVMClassifier(text_features=["note"], n_hashed=SMALL).fit(table, [0, 1, 1])
    assert model.n_missing_.tolist() == [1, 1]
    assert model.is_text_.tolist() == [True, False]
    new = {"note": [None, "d"], "town": ["Bonn", "Rome"]}
    assert model.count_unseen(new).tolist() == [0, 1]
    assert np.isfinite(model.predict_proba(new)).all()


def test_rows_without_any_entry_are_learned_by_the_bias():
    empty = sparse.csr_array((50, 7))
    model = WideVVMClassifier().fit(empty, [0] * 40 + [1] * 10)
    assert 0.1 < model.predict_proba(empty[:1])[0, 1] < 0.35


def test_a_row_of_weight_two_is_one_seen_twice():
    table, labels = notes(40)
    twice = np.repeat(np.arange(40), 2)
    options = {"text_features": ["note"], "n_hashed": SMALL, "rank": 2}
    weighted = WideVVMClassifier(**options).partial_fit(table, labels, sample_weight=[2.0] * 40)
    repeated = WideVVMClassifier(**options).partial_fit(table.iloc[twice], labels[twice])
    np.testing.assert_array_equal(weighted.predict_proba(table), repeated.predict_proba(table))


def test_many_classes_have_a_rank_that_memory_is_there_for():
    assert affordable_rank(2**18, 2) == 20
    assert all(8 * 2**18 * n * (affordable_rank(2**18, n) + 3) <= 2**28 for n in range(2, 43))
    rows, labels = wide(classes=3)
    model = WideVVMClassifier(rank=None).fit(sparse.csr_array(rows), labels)
    assert (model.rank_, model.given_up_) == (20, [])


@pytest.mark.parametrize(
    ("options", "table", "message"),
    [
        ({"text_features": ["nota"]}, {"note": ["a"]}, "text_features has 'nota'"),
        ({"rank": -1}, {"x": [1.0]}, "'rank' parameter"),
        ({"margin_noise": 0.0}, {"x": [1.0]}, "'margin_noise' parameter"),
        ({}, {"x": [np.inf]}, "infinity"),
    ],
)
def test_what_cannot_be_is_said(options, table, message):
    with pytest.raises(ValueError, match=message):
        WideVVMClassifier(**options).partial_fit(table, [1], classes=[0, 1])


def test_an_index_beyond_those_declared_is_an_error():
    column = pa.table({"x": pa.array([[(1, 1.0)], [(9, 1.0)]], sparse_type())})
    with pytest.raises(ValueError, match="from 1 to 9; expected them from 0 to 4"):
        WideVVMClassifier(n_places=5).partial_fit(column, [0, 1])


def test_after_an_error_nothing_was_learned():
    rows, labels = wide()
    model = WideVVMClassifier(rank=2).partial_fit(sparse.csr_array(rows), labels)
    before = model.predict_proba(rows)
    broken = rows.copy()
    broken[3, 3] = np.nan
    with pytest.raises(ValueError, match="row 3, column 3"):
        model.partial_fit(sparse.csr_array(broken), labels)
    np.testing.assert_array_equal(model.predict_proba(rows), before)
