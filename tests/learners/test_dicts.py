"""Rows as dicts: by the names of columns, in any order."""

import numpy as np
import pandas as pd
import pytest

from tests.learners.learner_examples import assert_same_model, every_learner, problem


@every_learner
def test_dicts_are_rows_of_a_data_frame(learner):
    X, y = problem(rows=40)
    names = ["b", "a", "d", "c"]
    frame = pd.DataFrame(X, columns=names)
    rows, table = learner(margin_noise=0.5), learner(margin_noise=0.5)
    for t, row in enumerate(frame.to_dict("records")):
        rows.learn_one(dict(reversed(row.items())) if t else row, y[t])
    assert_same_model(rows, table.partial_fit(frame, y), frame)
    for t, row in enumerate(frame[:5].to_dict("records")):
        np.testing.assert_array_equal(rows.predict_proba_one(row), table.predict_proba(frame)[t])
        assert rows.predict_one(row) == table.predict(frame[t : t + 1])[0]
        assert rows.predict_one(X[t]) == table.predict(frame[t : t + 1])[0]


@every_learner
@pytest.mark.parametrize(
    ("row", "message"),
    [({"a": 1.0}, "without .*'b'"), ({"a": 1.0, "b": 2.0, "c": 3.0}, "with .*'c'")],
)
def test_a_dict_of_other_columns_is_refused(learner, row, message):
    frame = pd.DataFrame({"a": [0.0, 1.0], "b": [1.0, 0.0]})
    model = learner(margin_noise=0.5).partial_fit(frame, [0, 1])
    before = model.coef_
    for call in (lambda: model.learn_one(row, 0), lambda: model.predict_one(row)):
        with pytest.raises(ValueError, match=message):
            call()
    np.testing.assert_array_equal(model.coef_, before)
