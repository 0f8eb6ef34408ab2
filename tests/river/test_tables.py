"""Data frames of rows: with the same result as one by one."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from river import feature_extraction

from tests.learners.learner_examples import assert_same_model
from tests.river.classifier_examples import (
    dicts,
    every_classifier,
    every_linear_classifier,
    learned,
    probabilities,
    rows_and_classes,
)
from virtualvector.river import ADFClassifier, AutoVVMClassifier, VVMClassifier

LIBRARIES = {
    "pandas": (pd.DataFrame, pd.Series),
    "polars": (pl.DataFrame, pl.Series),
    "arrow": (pa.table, lambda labels: pa.chunked_array([labels])),
}


@every_classifier
@pytest.mark.parametrize(("frame", "series"), LIBRARIES.values(), ids=LIBRARIES)
def test_a_table_is_learned_as_its_rows_are(classifier, frame, series):
    X, y = rows_and_classes(3)
    table = frame({name: X[:, k] for k, name in enumerate("dbac")})
    rows = [dict(zip("dbac", row, strict=True)) for row in X.tolist()]
    many, one = classifier(), learned(classifier, rows, y)
    many.learn_many(table[:20], series(y[:20]))
    many.learn_many(table[20:], series(y[20:]))
    assert many.features == one.features == list("abcd")
    assert many.predict_proba_one(rows[0]) == one.predict_proba_one(rows[0])
    predictions = many.predict_proba_many(table)
    assert type(predictions) is type(table)
    values = np.column_stack([predictions[name].to_numpy() for name in ("ant", "bee", "crow")])
    np.testing.assert_array_equal(values, probabilities(one, rows))
    labels = many.predict_many(table).to_numpy().tolist()
    assert labels == [one.predict_one(x) for x in rows]


@every_linear_classifier
def test_columns_may_come_and_go(classifier):
    X, y = rows_and_classes(rows=60)
    batches = [("ab", slice(0, 20)), ("cdb", slice(20, 40)), ("a", slice(40, 60))]
    many, one = classifier(), classifier()
    for names, some in batches:
        batch = pd.DataFrame(X[some, : len(names)], columns=list(names))
        many.learn_many(batch, pd.Series(y[some]))
        for x, label in zip(batch.to_dict("records"), y[some], strict=True):
            one.learn_one(x, label)
    assert many.features == one.features == list("abcd")
    assert_same_model(many.learner, one.learner, X)
    unknown = pd.DataFrame({"e": [1.0, 2.0], "a": [0.5, 0.5]})
    expected = probabilities(one, unknown.to_dict("records"))
    np.testing.assert_array_equal(many.predict_proba_many(unknown), expected)
    assert many.features == list("abcd")


def test_a_committee_takes_a_column_that_is_not_there_as_missing():
    X, y = rows_and_classes()
    many, one = AutoVVMClassifier(), AutoVVMClassifier()
    for some, names in ((slice(0, 30), "abcd"), (slice(30, 60), "bd")):
        batch = pd.DataFrame(X[some], columns=list("abcd"))[list(names)]
        many.learn_many(batch, pd.Series(y[some]))
        for x, label in zip(batch.to_dict("records"), y[some], strict=True):
            one.learn_one(x, label)
    assert many.learner.n_missing_.tolist() == one.learner.n_missing_.tolist() == [30, 0, 30, 0]
    assert many.predict_proba_one({"a": 1.0}) == one.predict_proba_one({"a": 1.0})


@every_classifier
def test_a_table_may_be_empty_and_come_before_all_others(classifier):
    model = classifier()
    table = pd.DataFrame({"a": [1.0, 2.0]}, index=[5, 7])
    predictions = model.predict_proba_many(table)
    assert predictions.shape == (2, 0)
    assert predictions.index.tolist() == [5, 7]
    assert model.predict_many(table).tolist() == [None, None]
    model.learn_many(table[:0], pd.Series([], dtype=object))
    assert model.predict_proba_one({"a": 1.0}) == {}
    model.learn_many(table, pd.Series(["yes", "no"], name="answer", index=table.index))
    assert model.predict_proba_many(table[:0]).columns.tolist() == ["no", "yes"]
    predicted = model.predict_many(table)
    assert predicted.name == "answer"
    assert predicted.index.tolist() == [5, 7]


def test_classes_are_the_names_of_columns_where_these_may_be_other_than_texts():
    X, y = rows_and_classes()
    table = pd.DataFrame(dicts(X))
    model = VVMClassifier(margin_noise=0.5)
    model.learn_many(table, pd.Series(y == "bee"))
    assert model.predict_proba_many(table).columns.tolist() == [False, True]
    assert model.predict_many(table).dtype == bool


def test_counts_of_words_are_learned():
    texts = pd.Series(["good film", "bad bad film", "good good", "bad plot", "good plot"])
    labels = pd.Series([True, False, True, False, True])
    many = feature_extraction.BagOfWords() | ADFClassifier(margin_noise=1.0)
    one = many.clone()
    many.learn_many(texts, labels)
    for text, label in zip(texts, labels, strict=True):
        one.learn_one(text, label)
    assert sorted(many["ADFClassifier"].features) == ["bad", "film", "good", "plot"]
    predictions = many.predict_proba_many(texts)[True]
    expected = [one.predict_proba_one(text)[True] for text in texts]
    np.testing.assert_allclose(predictions, expected, rtol=1e-9)
    assert (predictions > 0.5).tolist() == labels.tolist()


@every_linear_classifier
@pytest.mark.parametrize("by_row", [False, True])
def test_weights_are_how_often_rows_are_seen(classifier, by_row):
    X, y = rows_and_classes()
    weights = pd.Series(np.resize([2.0, 0.0, 1.0], len(X))) if by_row else 2.0
    many, one = classifier(), classifier()
    many.learn_many(pd.DataFrame(dicts(X)), pd.Series(y), w=weights)
    for x, label, weight in zip(dicts(X), y, np.broadcast_to(weights, len(X)), strict=True):
        one.learn_one(x, label, w=weight)
    assert_same_model(many.learner, one.learner, X)
    before = pickle.dumps(many)
    many.learn_many(pd.DataFrame(dicts(X)), pd.Series(y), w=0.0)
    assert pickle.dumps(many) == before


@pytest.mark.parametrize(
    ("column", "found"),
    [
        ([1.0, "red"], r"'red' at row 1, column 1 \('b'\)"),
        ([1.0, None], r"NaN at row 1, column 1 \('b'\)"),
        (pd.to_datetime(["2026-11-16", "2026-11-17"]), "dates, times or durations in 'b'"),
    ],
    ids=["text", "missing", "dates"],
)
@every_linear_classifier
def test_a_cell_that_is_no_number_is_named_and_nothing_is_learned(classifier, column, found):
    X, y = rows_and_classes()
    model = learned(classifier, dicts(X), y)
    before = pickle.dumps(model)
    table = pd.DataFrame({"a": [1.0, 2.0], "b": column})
    with pytest.raises(ValueError, match=found):
        model.learn_many(table, pd.Series(["ant", "bee"]))
    with pytest.raises(ValueError, match=found):
        model.predict_proba_many(table)
    assert pickle.dumps(model) == before
