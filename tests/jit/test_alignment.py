import gc
import subprocess
import sys
from typing import NamedTuple

import numpy as np
import pytest

from virtualvector.jit.alignment import (
    Layout,
    aligned_copies,
    aligned_zeros,
    clear,
    copied_for_later,
    lines_of,
)

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


def filled(shapes):
    """Arrays of different numbers, of which the last ones are whole."""
    arrays = aligned_zeros(*shapes)
    arrays[-1] = arrays[-1].view(np.int64)
    for k, array in enumerate(arrays):
        array[...] = np.arange(array.size).reshape(array.shape) + 1000 * k
    return arrays


@pytest.mark.parametrize("n", [0, 1, 5, 8, LARGE])
def test_a_copy_for_later_has_what_there_was_when_it_was_made(n):
    arrays = filled([(3,), (n,), (2, n), (0, 4), (5,)])
    expected = [array.copy() for array in arrays]
    later = copied_for_later(arrays)
    for array in arrays:
        array[...] = -1
    copies = later()
    for copy, array in zip(copies, expected, strict=True):
        assert np.array_equal(copy, array)
        assert copy.dtype == array.dtype
        assert copy.size == 0 or address(copy) % 64 == 0
    copies[0][:] = 7.0
    assert (arrays[0] == -1.0).all()


@pytest.mark.parametrize(
    "some",
    [
        lambda: [np.arange(6.0), np.arange(4)],  # of nobody's block
        lambda: [*np.arange(24.0).reshape(3, 8)],  # of one block that was made elsewhere
        lambda: [*filled([(4,), (3,)]), *filled([(2, 2), (1,)])],  # of two blocks
        lambda: [filled([(6, 4), (2,)])[0].T, filled([(9,), (1,)])[0][::2]],  # not contiguous
        lambda: [each[1:] for each in filled([(6, 4), (3,)])],  # of which a part is meant
    ],
)
def test_arrays_of_any_memory_are_copied(some):
    arrays = some()
    expected = [array.copy() for array in arrays]
    later = copied_for_later(arrays)
    for array in arrays:
        array[...] = -1
    for copy, array in zip(later(), expected, strict=True):
        assert np.array_equal(copy, array)
        assert copy.dtype == array.dtype
        assert copy.flags.c_contiguous


@pytest.mark.processes
def test_memory_that_is_held_until_the_interpreter_ends_is_no_trouble():
    held = (
        "import sys; from virtualvector.jit.alignment import aligned_zeros; "
        f"sys.held = aligned_zeros(({LARGE},)); held = aligned_zeros(({LARGE},))"
    )
    ended = subprocess.run([sys.executable, "-c", held], capture_output=True, check=True)
    assert ended.stderr == b""


class Both(NamedTuple):
    matrix: np.ndarray
    places: np.ndarray
    none: np.ndarray
    vector: np.ndarray


def both(n):
    shapes = {"vector": (n,), "none": (0, 3), "places": (n,), "matrix": (2, n)}
    return Layout(Both, shapes, ["places"]).zeros()


def test_arrays_that_were_made_together_are_listed_as_if_each_was_asked_where_it_is():
    for n in (1, 5, 8, LARGE):
        made = both(n)
        assert made.places.dtype == np.int64
        expected = [
            (address(array) if array.size else 0, *array.shape, *(0,) * (3 - array.ndim))
            for array in made
        ]
        assert [tuple(line) for line in lines_of(made).tolist()] == expected


@pytest.mark.parametrize(
    "change",
    [
        lambda made: made._replace(vector=made.vector.copy()),
        lambda made: made._replace(vector=made.vector[:]),
        lambda made: made._replace(vector=both(4).vector),
        lambda made: made._replace(matrix=made.places, places=made.matrix),
        lambda made: made[:2],
        lambda made: (1.0, *made),
        lambda made: (),
    ],
)
def test_arrays_that_were_not_all_made_together_are_not_listed_as_such(change):
    made = both(4)
    assert lines_of(change(made)) is None


def test_all_arrays_are_cleared_whoever_made_them():
    for arrays in (both(5), both(5)._replace(vector=np.ones(3))):
        for array in arrays:
            array[...] = 7
        clear(arrays)
        assert not any(array.any() for array in arrays)
