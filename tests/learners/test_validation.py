"""Bad rows, labels and parameters: what is said about them, and that nothing else happens."""

import copy
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.utils._param_validation import InvalidParameterError

from tests.learners.learner_examples import LEARNERS, assert_same_model, every_learner, problem
from virtualvector import VVMClassifier

COLUMNS = ["length", "width", "height", "weight"]


def cell(value, dtype=float):
    def spoil(X):
        X = X.astype(dtype)
        X[7, 2] = value
        return X

    return spoil


def listed(value):
    return lambda X: cell(value, object)(X).tolist()


def frame(value):
    return lambda X: pd.DataFrame(cell(value, object)(X), columns=COLUMNS)


def typed_frame(value, dtype):
    return lambda X: frame(value)(X).astype(dict.fromkeys(COLUMNS, dtype))


def polars_frame(value, kind):
    """A frame whose third column is of another kind."""

    def spoil(X):
        columns = {name: X[:, k] for k, name in enumerate(COLUMNS)}
        columns["height"] = [kind(v) for v in X[:, 2]]
        columns["height"][7] = value
        return pl.DataFrame(columns)

    return spoil


HERE = r"at row 7, column 2(?! \()"
NAMED = r"at row 7, column 2 \('height'\)"

BAD_ROWS = {
    "nan": (cell(np.nan), f"Input X contains NaN {HERE}; expected finite numbers"),
    "infinity": (cell(np.inf), f"Input X contains infinity {HERE}; expected finite"),
    "minus infinity": (cell(-np.inf), f"Input X contains infinity {HERE}; expected finite"),
    "none": (cell(None, object), f"Input X contains NaN {HERE}; expected finite"),
    "none in a list": (listed(None), f"Input X contains NaN {HERE}; expected finite"),
    "text": (cell("tall", object), f"Input X has 'tall' {HERE}; expected a number"),
    "text in a list": (listed("tall"), f"Input X has 'tall' {HERE}; expected a number"),
    "empty text": (cell("", object), f"Input X has '' {HERE}; expected a number"),
    "all texts": (lambda X: cell("tall", "U30")(X), f"Input X has 'tall' {HERE}; expected a num"),
    "dict": (cell({}, object), f"Input X has {{}} {HERE}; expected a number"),
    "missing object": (cell(pd.NA, object), f"Input X has <NA> {HERE}; expected a number"),
    "huge integer": (cell(10**400, object), f"Input X has 1000.* {HERE}; expected a number"),
    "nan in a frame": (frame(np.nan), f"Input X contains NaN {NAMED}; expected finite"),
    "nan in Arrow": (
        typed_frame(None, "float64[pyarrow]"), f"Input X contains NaN {NAMED}; expected finite"
    ),
    "nan in nullable": (typed_frame(None, "Float64"), f"Input X contains NaN {NAMED}; expected"),
    "text in a frame": (frame("tall"), f"Input X has 'tall' {NAMED}; expected a number"),
    "date in a frame": (
        frame(pd.Timestamp("2020-01-01")), f"Input X has Timestamp.* {NAMED}; expected a number"
    ),
    "null in polars": (polars_frame(None, float), f"Input X contains NaN {NAMED}; expected"),
    "text in polars": (polars_frame("tall", str), f"Input X has 'tall' {NAMED}; expected"),
    "null in pyarrow": (
        lambda X: polars_frame(None, float)(X).to_arrow(), f"Input X contains NaN {NAMED}; expected"
    ),
    "text in pyarrow": (
        lambda X: polars_frame("tall", str)(X).to_arrow(), f"Input X has 'tall' {NAMED}; expected"
    ),
    "one dimension": (lambda X: X[:, 0], "Expected 2D array, got 1D array"),
    "three dimensions": (lambda X: X[np.newaxis], "Found array with dim 3"),
    "no rows": (lambda X: X[:0], r"0 sample\(s\) .* minimum of 1 is required"),
    "no columns": (lambda X: X[:, :0], r"0 feature\(s\) .* minimum of 1 is required"),
    "complex": (lambda X: X + 1j, "Complex data not supported"),
    "none at all": (lambda X: None, "Expected 2D array"),
    "a text at all": (lambda X: "X.csv", "could not convert string to float: 'X.csv'"),
    "ragged": (lambda X: [*X.tolist()[:-1], [1.0]], "inhomogeneous shape"),
}  # fmt: skip


def label(value, dtype):
    def spoil(y):
        y = y.astype(dtype)
        y[9] = value
        return y

    return spoil


MISSING = "Input y contains NaN: the label at row 9 is missing; expected a class"

BAD_LABELS = {
    "nan": (label(np.nan, float), MISSING),
    "nan in a list": (lambda y: label(np.nan, float)(y).tolist(), MISSING),
    "nan among objects": (label(np.nan, object), MISSING),
    "nan among texts": (lambda y: label(np.nan, object)(y.astype(str)), MISSING),
    "nan in a list of texts": (lambda y: label(np.nan, object)(y.astype(str)).tolist(), MISSING),
    "decimal nan": (label(Decimal("nan"), object), MISSING),
    "none": (label(None, object), MISSING),
    "none in a list": (lambda y: label(None, object)(y).tolist(), MISSING),
    "none among texts": (lambda y: label(None, object)(y.astype(str)), MISSING),
    "missing object": (label(pd.NA, object), MISSING),
    "missing integer": (lambda y: pd.Series(label(pd.NA, object)(y), dtype="Int64"), MISSING),
    "missing boolean": (lambda y: pd.Series(label(pd.NA, object)(y), dtype="boolean"), MISSING),
    "missing text": (lambda y: pd.Series(label(None, object)(y.astype(str)), dtype="str"), MISSING),
    "missing in Arrow": (
        lambda y: pd.Series(label(None, object)(y), dtype="int64[pyarrow]"), MISSING
    ),
    "missing category": (lambda y: pd.Series(label(None, object)(y), dtype="category"), MISSING),
    "null in polars": (lambda y: pl.Series(label(None, object)(y).tolist()), MISSING),
    "null in pyarrow": (lambda y: pa.array(label(None, object)(y).tolist()), MISSING),
    "no date": (lambda y: label("NaT", "M8[D]")(y), MISSING),
    "continuous": (label(0.25, float), "Unknown label type: input y has 0.25 at row 9"),
    "continuous in a list": (
        lambda y: label(0.25, float)(y).tolist(), "Unknown label type: input y has 0.25 at row 9"
    ),
    "infinity": (label(np.inf, float), "Unknown label type: input y has inf at row 9, .* expected"),
    "a number among texts": (
        lambda y: label(3, object)(y.astype(str)), "Unknown label type: input y has 3 at row 9"
    ),
    "a number in a list of texts": (
        lambda y: label(3, object)(y.astype(str)).tolist(), "y has 3 at row 9, .* only texts"
    ),
    "objects": (lambda y: y.astype(object), "y has [01] at row 0, among labels of type object"),
    "bytes": (lambda y: y.astype("S1"), "input y has b'[01]' at row 0, among labels of type |S1"),
    "continuous column": (lambda y: label(0.25, float)(y)[:, np.newaxis], "y has 0.25 at row 9"),
    "two columns": (lambda y: np.column_stack([y, y]), r"1d array, got .* shape \(20, 2\)"),
    "one number": (lambda y: 1, r"1d array, got .* shape \(\)"),
    "none at all": (lambda y: None, "requires y to be passed"),
    "too few": (lambda y: y[:-1], r"inconsistent numbers of samples: \[20, 19\]"),
    "too many": (lambda y: [*y, 0], r"inconsistent numbers of samples: \[20, 21\]"),
    "no labels": (lambda y: y[:0], r"inconsistent numbers of samples: \[20, 0\]"),
}  # fmt: skip

every_bad_row = pytest.mark.parametrize(("spoil", "message"), BAD_ROWS.values(), ids=BAD_ROWS)
every_bad_label = pytest.mark.parametrize(("spoil", "message"), BAD_LABELS.values(), ids=BAD_LABELS)


def like(rows, X):
    """Good rows, with names of columns where the others have them."""
    return pd.DataFrame(X, columns=COLUMNS) if hasattr(rows, "columns") else X


def trained(X, y):
    model = LEARNERS["vvm"](margin_noise=0.3)
    return model.partial_fit(X[:10], y[:10]).partial_fit(X[10:], y[10:])


def assert_refused(model, method, arguments, message, X):
    before = copy.deepcopy(model)
    with pytest.raises((ValueError, TypeError, OverflowError), match=message):
        getattr(model, method)(*arguments)
    assert_same_model(model, before, X)
    assert model.n_seen_ == before.n_seen_
    # and it goes on learning as if nothing had happened
    X, y = X[:3], before.classes_[[0, 1, 0]]
    assert_same_model(model.partial_fit(X, y), before.partial_fit(X, y), X)


@every_bad_row
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_bad_rows_are_named_and_not_learned(method, spoil, message):
    X, y = problem(rows=20)
    rows = spoil(X)
    X = like(rows, X)
    assert_refused(trained(X, y), method, (rows, y), message, X)


@every_bad_label
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
@pytest.mark.filterwarnings("ignore:A column-vector y was passed")
def test_bad_labels_are_named_and_not_learned(method, spoil, message):
    X, y = problem(rows=20)
    assert_refused(trained(X, y), method, (X, spoil(y)), message, X)


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
@pytest.mark.filterwarnings("ignore:A column-vector y was passed")
def test_a_bad_first_call_leaves_an_unfitted_estimator(method):
    X, y = problem(rows=20)
    expected = LEARNERS["vvm"]().fit(X[:, :3], y)
    calls = [(spoil(X), y) for spoil, _ in BAD_ROWS.values()]
    calls += [(X, spoil(y)) for spoil, _ in BAD_LABELS.values()]
    for bad_rows, bad_labels in calls:
        model = LEARNERS["vvm"]()
        with pytest.raises((ValueError, TypeError, OverflowError)):
            getattr(model, method)(bad_rows, bad_labels)
        assert model.__getstate__() == LEARNERS["vvm"]().__getstate__()
        with pytest.raises(NotFittedError):
            model.predict(X)
        assert_same_model(model.fit(X[:, :3], y), expected, X[:, :3])


@every_bad_row
@pytest.mark.parametrize("method", ["predict", "predict_proba", "decision_function"])
def test_bad_rows_are_named_and_not_predicted(method, spoil, message):
    X, y = problem(rows=20)
    rows = spoil(X)
    X = like(rows, X)
    assert_refused(trained(X, y), method, (rows,), message, X)


@every_learner
@pytest.mark.parametrize("columns", [1, 3, 5])
def test_the_number_of_columns_cannot_change(learner, columns):
    X, y = problem(rows=20)
    wrong = np.ones((len(X), columns))
    model = learner(margin_noise=0.3).fit(X, y)
    message = f"X has {columns} features, but .* is expecting 4 features"
    for method, arguments in [
        ("partial_fit", (wrong, y)),
        ("predict", (wrong,)),
        ("predict_proba", (wrong,)),
        ("decision_function", (wrong,)),
    ]:
        assert_refused(model, method, arguments, message, X)


BAD_PARAMETERS = [
    ("label_noise", 0.5, r"a float among {0.0} or a float in the range \[1e-300, 0.5\). Got 0.5"),
    ("label_noise", -0.1, r"a float among {0.0} or a float in the range \[1e-300, 0.5\). Got -0.1"),
    (
        "label_noise",
        np.nan,
        r"a float among {0.0} or a float in the range \[1e-300, 0.5\). Got nan",
    ),
    (
        "label_noise",
        "a little",
        r"a float among {0.0} or a float in the range \[1e-300, 0.5\). Got 'a little'",
    ),
    ("margin_noise", -1e-9, r"a float in the range \[0.0, inf\). Got -1e-09"),
    ("margin_noise", np.nan, r"a float in the range \[0.0, inf\). Got nan"),
    ("margin_noise", np.inf, r"a float in the range \[0.0, inf\). Got inf"),
    ("margin_noise", None, r"a float in the range \[0.0, inf\). Got None"),
    ("prior_variance", 0, r"a float in the range \(0.0, inf\). Got 0"),
    ("prior_variance", -1.0, r"a float in the range \(0.0, inf\). Got -1.0"),
    ("prior_variance", np.inf, r"a float in the range \(0.0, inf\). Got inf"),
    ("fit_intercept", "yes", "an instance of 'bool'.* Got 'yes'"),
    ("buffer_size", -1, r"an int in the range \[0, inf\). Got -1"),
    ("buffer_size", 1.5, r"an int in the range \[0, inf\). Got 1.5"),
    ("buffer_size", None, r"an int in the range \[0, inf\). Got None"),
    ("merge_pairs", -1, r"an int in the range \[0, inf\). Got -1"),
    ("eviction", "oldest", r"a str among \{('divergence|margin|, |')+\}. Got 'oldest'"),
    ("tol", -1e-3, r"a float in the range \[0.0, inf\). Got -0.001"),
    ("max_sweeps", 0, r"an int in the range \[1, inf\). Got 0"),
]


@pytest.mark.parametrize(
    ("learner", "parameter", "value", "expected"),
    [
        (learner, *bad)
        for learner in LEARNERS.values()
        for bad in BAD_PARAMETERS
        if bad[0] in learner().get_params()
    ],
)
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_bad_parameters_are_named(learner, method, parameter, value, expected):
    X, y = problem(rows=20)
    model = learner(margin_noise=0.3).fit(X, y)
    before = copy.deepcopy(model)
    model.set_params(**{parameter: value})
    message = f"The '{parameter}' parameter of {type(model).__name__} must be {expected} instead"
    with pytest.raises(InvalidParameterError, match=message):
        getattr(model, method)(X, y)
    model.set_params(**{parameter: getattr(before, parameter)})
    assert_same_model(model, before, X)


@every_learner
def test_parameters_may_be_numpy_scalars_of_any_width(learner):
    X, y = problem(rows=20)
    expected = learner(margin_noise=0.5).fit(X, y)
    model = learner(margin_noise=np.float32(0.5), fit_intercept=np.True_)
    widths = {"buffer_size": np.uint8, "merge_pairs": np.int16, "max_sweeps": np.int32}
    for name, width in widths.items():
        if name in model.get_params():
            model.set_params(**{name: width(getattr(model, name))})
    assert_same_model(model.fit(X, y), expected, X)


@every_learner
def test_nothing_can_be_read_before_anything_is_learned(learner):
    X, _ = problem(rows=20)
    model = learner()
    for method in ("predict", "predict_proba", "predict_log_proba", "decision_function"):
        with pytest.raises(NotFittedError):
            getattr(model, method)(X)
    for name in ("coef_", "intercept_", "covariance_", "virtual_points_", "n_seen_",
                 "log_evidence_", "counters_"):  # fmt: skip
        with pytest.raises(NotFittedError):
            getattr(model, name)


def test_more_sweeps_than_can_be_waited_for_are_refused_before_anything_is_learned():
    X, y = [[0.0, 1.0], [1.0, 0.0]], [0, 1]
    VVMClassifier(30, max_sweeps=1000).fit(X, y)
    with pytest.raises(ValueError, match=r"found max_sweeps = 10000000 .*; expected at most"):
        VVMClassifier(30, max_sweeps=10**7).fit(X, y)
