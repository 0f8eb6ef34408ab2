import numpy as np
import pandas as pd
import pytest

from streams import HELD_OUT, STREAMS, load, shuffled

OF_ALWAYS_INSTALLED = ("spambase", "thyroid", "ionosphere", "breast cancer", "digits", "wine")


@pytest.mark.parametrize("name", OF_ALWAYS_INSTALLED)
def test_a_stream_is_the_same_every_time_and_not_sorted_by_class(name):
    stream, again = load(name), load(name)
    np.testing.assert_array_equal(stream.X, again.X)
    np.testing.assert_array_equal(stream.y, again.y)
    assert len(np.unique(stream.y[:50])) == len(stream.classes)


def test_there_are_enough_streams_and_none_of_them_is_also_held_out():
    assert len(STREAMS) >= 16
    assert not set(STREAMS) & set(HELD_OUT)


def test_names_and_gaps_stay_in_a_data_frame(monkeypatch):
    table = pd.DataFrame({7: [1.0, np.nan, 3.0], 8: ["a", "b", None]})
    monkeypatch.setitem(STREAMS, "raw", lambda: (table, [0, 1, 0]))
    X = load("raw").X
    assert list(X.columns) == ["7", "8"]
    assert X["8"].dtype == "category"
    assert X.isna().sum().tolist() == [1, 1]


def test_plain_numbers_become_an_array(monkeypatch):
    monkeypatch.setitem(STREAMS, "plain", lambda: (pd.DataFrame({"a": [1, 2]}), [0, 1]))
    assert isinstance(load("plain").X, np.ndarray)


def test_shuffling_keeps_rows_and_labels_together():
    X, y = shuffled(pd.DataFrame({"a": np.arange(50)}), np.arange(50))
    np.testing.assert_array_equal(X["a"], y)
    assert not np.array_equal(y, np.arange(50))
