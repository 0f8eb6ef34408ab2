"""Compiled code sees in a table what Python sees in a named tuple."""

import gc
from typing import NamedTuple

import numpy as np

from virtualvector.jit.compiled import compiled
from virtualvector.jit.struct_table import StructTable, reader


class Inner(NamedTuple):
    number: float
    matrix: np.ndarray


class Outer(NamedTuple):
    count: int
    vector: np.ndarray
    inner: Inner
    places: np.ndarray


def example(rows=3, columns=4):
    matrix = np.arange(float(rows * columns)).reshape(rows, columns)
    return Outer(7, np.array([0.5, 1.5]), Inner(-2.25, matrix), np.array([3, 1], np.int64))


outer_at = reader(example())


@compiled
def add_up(address):
    values = outer_at(address)
    total = values.count + values.inner.number
    for k in range(values.vector.shape[0]):
        total += values.vector[k] * values.places[k]
    for i in range(values.inner.matrix.shape[0]):
        for j in range(values.inner.matrix.shape[1]):
            total += values.inner.matrix[i, j] * (i + 10.0 * j)
    return total


@compiled
def swap_rows(address, i, j):
    matrix = outer_at(address).inner.matrix
    for k in range(matrix.shape[1]):
        matrix[i, k], matrix[j, k] = matrix[j, k], matrix[i, k]


def test_numbers_arrays_and_nested_tuples_are_read():
    for shape in ((3, 4), (1, 9), (6, 2)):
        values = example(*shape)
        i, j = np.indices(shape)
        expected = 7 - 2.25 + 0.5 * 3 + 1.5 * 1 + np.sum(values.inner.matrix * (i + 10.0 * j))
        table = StructTable(values)
        assert add_up(table.address) == expected


def test_arrays_are_written_to_where_they_are():
    values = example()
    before = values.inner.matrix.copy()
    table = StructTable(values)
    swap_rows(table.address, 0, 2)
    np.testing.assert_array_equal(values.inner.matrix, before[[2, 1, 0]])


def test_a_table_keeps_its_arrays_alive():
    tables = [StructTable(example(50, k)) for k in range(1, 40)]
    gc.collect()
    junk = [np.full((50, k), 1e9) for k in range(1, 40)]
    fresh = [StructTable(example(50, k)) for k in range(1, 40)]
    assert [add_up(t.address) for t in tables] == [add_up(t.address) for t in fresh]
    assert len(junk) == 39
