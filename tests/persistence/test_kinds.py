"""A field is stored by its type, however that is written."""

import sys
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pytest
from numpy.typing import NDArray

from virtualvector.persistence.errors import Misfit
from virtualvector.persistence.tree import pack, unpack

if sys.version_info >= (3, 12):
    from typing import TypeAliasType
else:
    from typing_extensions import TypeAliasType

T, S = TypeVar("T"), TypeVar("S")
Floats = TypeAliasType("Floats", NDArray[np.float64])
ArrayOf = TypeAliasType("ArrayOf", NDArray[T], type_params=(T,))
Same = TypeAliasType("Same", ArrayOf[T], type_params=(T,))
AsNumpyWritesIt = TypeAliasType(
    "AsNumpyWritesIt", np.ndarray[tuple[Any, ...], np.dtype[T]], type_params=(T,)
)
Table = TypeAliasType("Table", dict[S, T], type_params=(T, S))  # in another order
Several = TypeAliasType("Several", Sequence[T], type_params=(T,))
Maybe = TypeAliasType("Maybe", ArrayOf[T] | None, type_params=(T,))

ARRAYS = {
    "NDArray": NDArray[np.float64],
    "ndarray": np.ndarray[Any, np.dtype[np.float64]],
    "ndarray of one axis": np.ndarray[tuple[int], np.dtype[np.float64]],
    "alias": Floats,
    "generic alias": ArrayOf[np.float64],
    "alias of an alias": Same[np.float64],
    "alias of ndarray": AsNumpyWritesIt[np.float64],
    "or none": NDArray[np.float64] | None,
    "or none, by alias": Maybe[np.float64],
}


@pytest.mark.parametrize("kind", ARRAYS.values(), ids=ARRAYS)
def test_an_array_is_an_array_however_its_type_is_written(kind):
    nodes, arrays = pack({"mean": np.array([1.0, 2.0])}, {"mean": kind})
    assert nodes == {"mean": "mean"}
    assert arrays["mean"].tolist() == [1.0, 2.0]
    assert unpack(nodes, arrays, {"mean": kind})["mean"].tolist() == [1.0, 2.0]
    with pytest.raises(Misfit, match="found an array of int64; expected float64"):
        unpack(nodes, {"mean": np.array([1, 2])}, {"mean": kind})


@pytest.mark.parametrize("kind", [NDArray[Any], ArrayOf[Any], np.ndarray[Any, np.dtype[Any]]])
def test_an_array_of_anything_holds_labels(kind):
    nodes, arrays = pack({"classes": np.array(["no", "yes"])}, {"classes": kind})
    assert not arrays
    assert unpack(nodes, arrays, {"classes": kind})["classes"].tolist() == ["no", "yes"]


@pytest.mark.parametrize("kind", [dict[str, ArrayOf[np.bool_]], Table[NDArray[np.bool_], str]])
def test_aliases_may_be_within_other_types_and_the_other_way_round(kind):
    nodes, arrays = pack({"by name": {"a": np.array([True])}}, {"by name": kind})
    assert nodes == {"by name": [["a", "by name/0/value"]]}
    assert unpack(nodes, arrays, {"by name": kind}) == {"by name": {"a": np.array([True])}}


class Record(NamedTuple):
    numbers: Several[int]
    rows: Several[ArrayOf[np.int64]]


def test_fields_of_records_may_be_written_with_aliases():
    record = Record([3, 4], [np.array([5])])
    nodes, arrays = pack({"it": record}, {"it": Record})
    assert nodes == {"it": {"numbers": [3, 4], "rows": ["it/rows/0"]}}
    assert unpack(nodes, arrays, {"it": Record})["it"] == record


@pytest.mark.parametrize("kind", [set[int], complex, np.ndarray, type[int]])
def test_a_type_that_cannot_be_stored_is_named(kind):
    with pytest.raises(TypeError, match="cannot be stored in a model file: "):
        pack({"it": ()}, {"it": kind})
