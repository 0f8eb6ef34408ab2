import gc
import subprocess
import sys

import numpy as np
import pytest

from virtualvector.jit.alignment import aligned_copies, aligned_zeros

LARGE = 2**18


def address(array):
    return array.__array_interface__["data"][0]


def test_memory_that_nobody_holds_is_used_again_and_is_clear():
    first = aligned_zeros((LARGE,))[0]
    first[:] = 7.0
    held = address(first)
    del first
    gc.collect()
    again = aligned_zeros((LARGE,))[0]
    assert address(again) == held
    assert not again.any()


def test_memory_of_which_a_part_is_held_is_left_alone():
    (large, small) = aligned_zeros((LARGE + 8,), (3,))
    small[:] = 5.0
    part = small[1:]
    del large, small
    gc.collect()
    other = aligned_zeros((LARGE + 8,), (3,))
    other[0][:] = other[1][:] = 1.0
    assert part.tolist() == [5.0, 5.0]


def test_copies_in_memory_that_was_used_have_what_they_are_copies_of():
    used = aligned_zeros((LARGE,), (4,))
    used[0][:] = used[1][:] = np.nan
    del used
    gc.collect()
    numbers, places = np.arange(float(LARGE)), np.arange(4)
    copies = aligned_copies([numbers, places])
    assert np.array_equal(copies[0], numbers)
    assert np.array_equal(copies[1], places)
    assert copies[1].dtype == places.dtype


@pytest.mark.processes
def test_memory_that_is_held_until_the_interpreter_ends_is_no_trouble():
    held = (
        "import sys; from virtualvector.jit.alignment import aligned_zeros; "
        f"sys.held = aligned_zeros(({LARGE},)); held = aligned_zeros(({LARGE},))"
    )
    ended = subprocess.run([sys.executable, "-c", held], capture_output=True, check=True)
    assert ended.stderr == b""
