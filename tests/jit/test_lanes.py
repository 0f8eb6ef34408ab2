"""Eight numbers at once: what kernels may take them from."""

import numpy as np
import pytest

from virtualvector.jit.compiled import ordered
from virtualvector.jit.lanes import lanes, total


@ordered
def total_of_eight(x):
    return total(lanes(x, 0))


def test_entries_that_do_not_lie_side_by_side_are_refused():
    x = np.arange(16.0)
    assert total_of_eight(x) == 28.0
    assert total_of_eight(x[8:]) == 92.0
    with pytest.raises(TypeError, match="expected entries that lie side by side"):
        total_of_eight(x[::2])
