"""The bytes of a file are those that safetensors would write, and no array is copied twice."""

import json
import re
import tracemalloc

import numpy as np
import pytest
from safetensors.numpy import load, save

from virtualvector.persistence.disk import replace_file
from virtualvector.persistence.document import KEY, parts_of, to_bytes

ARRAYS = {
    "none": {},
    "of each kind": {
        "b/mean": np.arange(3.0),
        "a/seen": np.arange(6).reshape(2, 3),
        "a/met": np.array([True, False, True]),
        "z": np.zeros((2, 0, 3)),
        "a/mean": np.full((2, 2), np.pi),
        "counts": np.array(7),
    },
    "in another order of memory": {"weights": np.arange(12.0).reshape(3, 4).T},
}


@pytest.mark.parametrize("name", ARRAYS)
@pytest.mark.parametrize("words", ["red", 'a "quoted" \\ é 雪 \n\x01 text'])
def test_a_file_is_what_safetensors_writes_but_for_its_checksum(name, words):
    contents = to_bytes({"colour": words}, ARRAYS[name])
    text = re.search(rb'"virtualvector":("(?:[^"\\]|\\.)*")', contents).group(1)
    metadata = {KEY: re.sub(r"[0-9a-f]{64}", "0" * 64, json.loads(text), count=1)}
    contiguous = {key: np.ascontiguousarray(array) for key, array in ARRAYS[name].items()}
    expected = save(contiguous, metadata)
    assert re.sub(rb"[0-9a-f]{64}", b"0" * 64, contents, count=1) == expected


def test_a_file_takes_little_more_than_its_own_memory():
    arrays = {"large": np.zeros(2**20), "other": np.ones(2**18)}
    tracemalloc.start()
    contents = to_bytes({"rows": 3}, arrays)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 1.1 * len(contents)


def test_a_file_is_written_without_memory_of_its_own(tmp_path):
    arrays = {"large": np.arange(2.0**18), "other": np.arange(2**17)}
    tracemalloc.start()
    try:
        replace_file(tmp_path / "model", *parts_of({"rows": 3}, arrays))
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 2**18  # bytes, where the arrays have 3·2²⁰
    read = load((tmp_path / "model").read_bytes())
    assert read.keys() == arrays.keys()
    assert all(np.array_equal(read[name], array) for name, array in arrays.items())
