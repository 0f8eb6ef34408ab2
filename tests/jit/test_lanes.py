"""Eight numbers at once: what kernels may take them from."""

import numpy as np
import pytest

from virtualvector.jit.compiled import ordered
from virtualvector.jit.lanes import lanes, lanes_before, total, write_lanes, write_lanes_before


@ordered
def total_of_eight(x):
    return total(lanes(x, 0))


def test_entries_that_do_not_lie_side_by_side_are_refused():
    x = np.arange(16.0)
    assert total_of_eight(x) == 28.0
    assert total_of_eight(x[8:]) == 92.0
    with pytest.raises(TypeError, match="expected entries that lie side by side"):
        total_of_eight(x[::2])


@ordered
def copy_before(x, i, stop, out, read_in_part):
    if read_in_part:
        write_lanes(lanes_before(x, i, stop), out, i)
    else:
        write_lanes_before(lanes(x, i), out, i, stop)


@pytest.mark.parametrize("n", range(9))
def test_a_vector_is_read_and_written_in_part(n):
    x = np.arange(1.0, 17.0)
    for read_in_part, beyond in (True, 0.0), (False, -1.0):
        out = np.full(16, -1.0)
        copy_before(x, 3, 3 + n, out, read_in_part)
        expected = np.full(16, -1.0)
        expected[3:11] = beyond
        expected[3 : 3 + n] = x[3 : 3 + n]
        assert np.array_equal(out, expected)
