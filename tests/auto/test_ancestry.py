"""What tells that a committee has not gone on from another one."""

import numpy as np
import pytest

from tests.auto.test_pooling import FEW, learned, table
from virtualvector import AutoVVMClassifier, pool


def of_first(n, **changes):
    """Return a committee that has learned some rows, as they are but for some columns."""
    rows, labels = table(0, n)
    rows = {"u": rows[:, 0], "v": rows[:, 1], "colour": ["red", "blue"] * (n // 2)} | changes
    return AutoVVMClassifier(experts=FEW, n_frequencies=10).partial_fit(rows, labels)


@pytest.mark.parametrize(
    ("common", "words"),
    [
        (lambda: learned(1, 300), "model 0 has learned 300 rows and common as many, but others"),
        (lambda: learned(1, 40, 3), r"has the classes \['a', 'b'\] and common also \['c'\]"),
        (
            lambda: learned(1, 150).partial_fit(np.zeros((120, 4)), ["a"] * 120),
            r"model 0 has 1\d\d rows of the class 'a' and common 1\d\d, which model 0 did not",
        ),
    ],
)
def test_what_a_committee_has_less_of_than_the_common_one_is_named(common, words):
    with pytest.raises(ValueError, match=words):
        pool([learned(0)], common())


def test_columns_tell_whether_a_common_committee_is_no_ancestor():
    model, none = of_first(60), np.full(40, np.nan)
    with pytest.raises(ValueError, match="has 0 missing values of 'v' and common 40, which"):
        pool([model], of_first(40, v=none))
    gone = of_first(60, u=np.append(none, np.zeros(20)))
    with pytest.raises(ValueError, match="has 20 values of 'u' and common 40, which"):
        pool([gone], of_first(40))
    with pytest.raises(ValueError, match="'colour = red' as input 1 of categories and common 'c"):
        pool([model], of_first(40, colour=["blue", "red"] * 20))
    assert pool([model], of_first(60)).n_seen_ == 60
