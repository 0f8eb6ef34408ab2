"""Data frames of any library keep the names of their columns, on any version of scikit-learn."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from virtualvector import AutoVVMClassifier, RandomFourierFeatures, VVMClassifier
from virtualvector.dataframes import labels_of
from virtualvector.features import RunningStandardScaler
from virtualvector.learners.expert import Expert

COLUMNS = ["length", "width"]
ROWS = np.random.default_rng(0).normal(size=(40, 2))
LABELS = (ROWS[:, 0] > 0).astype(int)


class UnknownFrame:
    """A data frame of a library that scikit-learn has never heard of."""

    def __init__(self, columns):
        self._columns = columns

    @property
    def columns(self):
        return list(self._columns)

    @property
    def shape(self):
        return len(self), len(self._columns)

    def __len__(self):
        return len(next(iter(self._columns.values())))

    def __getitem__(self, name):
        return self._columns[name]

    def __array__(self, dtype=None, copy=None):
        return np.column_stack(list(self._columns.values())).astype(dtype or float)


FRAMES = [pd.DataFrame, pl.DataFrame, pa.table, pa.record_batch, UnknownFrame]
every_frame = pytest.mark.parametrize(
    "frame", FRAMES, ids=["pandas", "polars", "Arrow", "record batch", "unknown"]
)
every_estimator = pytest.mark.parametrize(
    "estimator",
    [
        VVMClassifier(),
        AutoVVMClassifier(experts=(Expert(None, 1.0),)),
        RandomFourierFeatures(4, random_state=0),
        RunningStandardScaler(),
    ],
    ids=lambda estimator: type(estimator).__name__,
)


def columns_in(order):
    return {name: ROWS[:, COLUMNS.index(name)].copy() for name in order}


@every_frame
@every_estimator
def test_names_are_kept_and_another_order_is_noticed(estimator, frame):
    right, wrong = frame(columns_in(COLUMNS)), frame(columns_in(COLUMNS[::-1]))
    assert labels_of(right) == COLUMNS
    estimator.fit(right, LABELS)
    assert estimator.feature_names_in_.tolist() == COLUMNS
    assert estimator.n_features_in_ == 2
    use = getattr(estimator, "predict", None) or estimator.transform
    use(right)
    for again in (use, lambda X: estimator.partial_fit(X, LABELS)):
        with pytest.raises(ValueError, match="must be in the same order as they were in fit"):
            again(wrong)
        with pytest.raises(ValueError, match="Feature names seen at fit time, yet now missing"):
            again(frame(columns_in(COLUMNS[:1])))


@every_frame
@every_estimator
def test_a_table_says_what_its_array_says(estimator, frame):
    table = frame(columns_in(COLUMNS))
    kind = "transform" if hasattr(estimator, "transform") else "predict_proba"
    of_table = getattr(estimator.fit(table, LABELS), kind)(table)
    of_array = getattr(estimator.fit(ROWS, LABELS), kind)(ROWS)
    assert not hasattr(estimator, "feature_names_in_")
    np.testing.assert_array_equal(of_table, of_array)


@every_frame
def test_what_is_wrong_in_a_table_is_named_by_its_column(frame):
    columns = columns_in(COLUMNS)
    columns["width"][3] = np.nan
    with pytest.raises(ValueError, match=r"NaN at row 3, column 1 \('width'\)"):
        VVMClassifier().fit(frame(columns), LABELS)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        VVMClassifier().fit(frame(columns_in(COLUMNS)), LABELS[1:])


@pytest.mark.parametrize("make", [pa.table, pa.record_batch])
@pytest.mark.parametrize("index", [pa.int32(), pa.uint32()])
def test_what_is_missing_in_a_dictionary_of_arrows_is_missing(make, index):
    numbers = [*ROWS[:-1, 1].tolist(), None]
    encoded = pa.array(numbers).dictionary_encode().cast(pa.dictionary(index, pa.float64()))
    table = make({"length": ROWS[:, 0], "width": encoded})
    with pytest.raises(ValueError, match=r"NaN at row 39, column 1 \('width'\)"):
        VVMClassifier().fit(table, LABELS)
    committee = AutoVVMClassifier(experts=(Expert(None, 1.0),))
    plain = pd.DataFrame({"length": ROWS[:, 0], "width": numbers})
    np.testing.assert_array_equal(
        committee.fit(table, LABELS).predict_proba(table),
        committee.fit(plain, LABELS).predict_proba(plain),
    )


@pytest.mark.parametrize("model", [AutoVVMClassifier(), VVMClassifier()])
@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([{"length": 1.0}] * 40, "a list of dicts; expected a table, such as pandas.DataFrame"),
        (pl.DataFrame(ROWS, schema=COLUMNS).lazy(), r"a LazyFrame.*; expected.*X\.collect\(\)"),
        (pd.DataFrame(ROWS, columns=COLUMNS).to_records(), "a structured array; expected a table"),
        (pd.DataFrame(index=range(40)), "0 feature"),
    ],
)
def test_rows_in_a_form_without_columns_are_refused_by_what_to_make_of_them(model, rows, expected):
    with pytest.raises(ValueError, match=f"Found .*{expected}"):
        model.fit(rows, LABELS)
