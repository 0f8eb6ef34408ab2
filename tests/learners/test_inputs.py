"""Tables of any kind say the same."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tests.learners.learner_examples import LEARNERS, assert_same_model, every_learner, problem

COLUMNS = ["length", "width", "height", "weight"]


def memory_map(X, folder):
    path = folder / "rows.dat"
    np.memmap(path, dtype=float, mode="w+", shape=X.shape)[:] = X
    return np.memmap(path, dtype=float, mode="r", shape=X.shape)


def read_only(X):
    X = X.copy()
    X.flags.writeable = False
    return X


def unaligned(X):
    memory = np.zeros(X.nbytes + 1, np.uint8)
    rows = memory[1:].view(X.dtype).reshape(X.shape)
    rows[:] = X
    return rows


ARRAYS = {
    "list of lists": lambda X: X.tolist(),
    "list of rows": list,
    "32 bits": lambda X: X.astype(np.float32),
    "16 bits": lambda X: X.astype(np.float16),
    "integers": lambda X: X.astype(int),
    "bytes": lambda X: X.astype(np.int8),
    "objects": lambda X: X.astype(object),
    "other byte order": lambda X: X.astype(">f8"),
    "Fortran order": np.asfortranarray,
    "every second row": lambda X: np.repeat(X, 2, axis=0)[::2],
    "every second column": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "backwards": lambda X: X[::-1].copy()[::-1],
    "read-only": read_only,
    "unaligned": unaligned,
}

FRAMES = {
    "pandas": lambda X: pd.DataFrame(X, columns=COLUMNS),
    "pandas of Arrow": lambda X: pd.DataFrame(X, columns=COLUMNS).astype("float64[pyarrow]"),
    "pandas that may miss": lambda X: pd.DataFrame(X, columns=COLUMNS).astype("Float64"),
    "pandas of several kinds": lambda X: pd.DataFrame(X, columns=COLUMNS).astype(
        {"length": int, "width": np.float32, "height": "int16[pyarrow]", "weight": object}
    ),
    "polars": lambda X: pl.DataFrame(X, schema=COLUMNS),
    "pyarrow": lambda X: pa.table(dict(zip(COLUMNS, X.T, strict=True))),
    "pyarrow's record batch": lambda X: pa.record_batch(dict(zip(COLUMNS, X.T, strict=True))),
}


def whole_numbers(rows=60):
    """A problem whose numbers are the same in every type."""
    X, y = problem(rows=rows, n_classes=3)
    return np.round(3 * X), y


def contents(table):
    return np.array(table, dtype=object) if isinstance(table, list) else np.asarray(table)


@every_learner
@pytest.mark.parametrize("make", [*ARRAYS.values(), *FRAMES.values()], ids=[*ARRAYS, *FRAMES])
def test_every_kind_of_table_says_the_same_and_stays_as_it_is(learner, make):
    X, y = whole_numbers()
    plain = learner(margin_noise=0.5).fit(X, y)
    table, labels = make(X), y.copy()
    model = learner(margin_noise=0.5).fit(table, labels)
    np.testing.assert_array_equal(model.coef_, plain.coef_)
    np.testing.assert_array_equal(model.covariance_, plain.covariance_)
    np.testing.assert_array_equal(model.predict_proba(table), plain.predict_proba(X))
    np.testing.assert_array_equal(model.predict(table), plain.predict(X))
    model.partial_fit(table, labels)
    np.testing.assert_array_equal(model.coef_, plain.partial_fit(X, y).coef_)
    np.testing.assert_array_equal(contents(table).astype(float), X)
    np.testing.assert_array_equal(labels, y)


@every_learner
def test_a_memory_map_need_not_be_writeable(learner, tmp_path):
    X, y = whole_numbers()
    rows = memory_map(X, tmp_path)
    assert_same_model(learner().fit(rows, y), learner().fit(X, y), X)


@every_learner
def test_rows_that_are_changed_afterwards_change_nothing(learner):
    X, y = whole_numbers()
    rows, labels, classes = X.copy(), y.copy(), np.unique(y)
    model = learner().partial_fit(rows, labels, classes=classes)
    rows[:], labels[:], classes[:] = 1e6, 0, 0
    assert_same_model(model, learner().fit(X, y), X)


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
def test_names_of_columns_are_kept(make):
    X, y = whole_numbers()
    model = LEARNERS["vvm"]().fit(make(X), y)
    assert model.feature_names_in_.tolist() == COLUMNS
    assert model.n_features_in_ == 4
    assert not hasattr(LEARNERS["vvm"]().fit(X, y), "feature_names_in_")


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
def test_columns_must_come_in_their_order(make):
    X, y = whole_numbers()
    model = LEARNERS["vvm"]().fit(make(X), y)
    table = make(X)
    table = table.select(COLUMNS[::-1]) if hasattr(table, "select") else table[COLUMNS[::-1]]
    for use in (model.predict, model.predict_proba, lambda X: model.partial_fit(X, y)):
        with pytest.raises(ValueError, match="must be in the same order as they were in fit"):
            use(table)


LABELS = {
    "list": list,
    "tuple": lambda y: tuple(y.tolist()),
    "pandas": pd.Series,
    "pandas with another index": lambda y: pd.Series(y, index=range(1000, 1000 + len(y))),
    "pandas of Arrow": lambda y: pd.Series(y, dtype="int64[pyarrow]"),
    "pandas that may miss": lambda y: pd.Series(y, dtype="Int64"),
    "polars": pl.Series,
    "pyarrow": pa.array,
    "text": lambda y: y.astype(str),
    "pandas text": lambda y: pd.Series(y.astype(str)),
    "pandas text of Arrow": lambda y: pd.Series(y.astype(str), dtype="string[pyarrow]"),
    "pandas categories": lambda y: pd.Series(y.astype(str), dtype="category"),
    "polars text": lambda y: pl.Series(y.astype(str)),
    "pyarrow text": lambda y: pa.array(y.astype(str)),
}


@pytest.mark.parametrize("make", LABELS.values(), ids=LABELS)
def test_every_kind_of_labels_says_the_same(make):
    X, y = whole_numbers()
    model = LEARNERS["vvm"]().partial_fit(X[:30], make(y[:30]))
    model.partial_fit(X[30:], make(y[30:]))
    plain = LEARNERS["vvm"]().fit(X, y)
    np.testing.assert_array_equal(model.coef_, plain.coef_)
    np.testing.assert_array_equal(model.predict(X).astype(int), plain.predict(X))
