import numpy as np
import pandas as pd
import pytest

from baselines import LEARNERS, as_probabilities, filled, numbers
from streams import Stream, load

TABLE = pd.DataFrame(
    {
        "size": [np.nan, 2.0, np.nan, 6.0, np.nan],
        "colour": pd.Categorical(["red", None, "blue", "red", "green"]),
    }
)


def test_a_gap_is_filled_by_what_came_before_it():
    table = filled(TABLE)
    assert table["size"].tolist() == [0.0, 2.0, 2.0, 6.0, 4.0]
    assert table["colour"].tolist() == ["red", "missing", "blue", "red", "green"]


def test_a_category_that_is_still_to_come_leaves_no_trace():
    early, late = numbers(TABLE[:3]), numbers(TABLE)[:3]
    pd.testing.assert_frame_equal(late[early.columns], early)
    assert (late.drop(columns=early.columns) == 0.0).all(axis=None)


def test_no_answer_means_that_all_classes_are_equal():
    np.testing.assert_allclose(as_probabilities([{}, {}], 4), 0.25)


def test_classes_that_are_not_mentioned_share_what_laplace_gives_them():
    predictions = as_probabilities([{}, {2: 1.0}, {2: 3.0, 0: 1.0}], 3)
    np.testing.assert_allclose(predictions[1], [1 / 4, 1 / 4, 1 / 2])
    np.testing.assert_allclose(predictions[2], [1 / 5, 1 / 5, 3 / 5])


def test_votes_of_zero_for_all_are_equal_votes():
    np.testing.assert_allclose(as_probabilities([{0: 0.0, 1: 0.0}], 2), 0.5)


OF_RIVER = ["LogReg", "ARF", "SRP", "LevBag", "AMF", "kNN", "HAT"]


@pytest.mark.parametrize("name", [*OF_RIVER, "AROW", "SOGP", "VVM", "VVM-RFF"])
@pytest.mark.parametrize("stream", ["thyroid", "wine"])
def test_what_is_said_of_a_row_does_not_depend_on_its_label_or_later_rows(name, stream):
    if name in OF_RIVER:
        pytest.importorskip("river", reason="river is not installed")
    known = load(stream).first(60)
    X, y = known.X.copy(), known.y.copy()
    y[40:] = y[40:][::-1]
    X[41:] = X[41:][::-1]
    predictions, otherwise = (
        LEARNERS[name].ask(rows).probabilities for rows in (known, Stream("changed", X, y))
    )
    np.testing.assert_array_equal(predictions[:41], otherwise[:41])
    np.testing.assert_allclose(predictions.sum(axis=1), 1.0)
    assert (predictions >= 0.0).all()
