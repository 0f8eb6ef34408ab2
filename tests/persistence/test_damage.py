"""No file that is not whole is taken for a model."""

import os

import numpy as np
import pytest

from tests.persistence.model_examples import EXAMPLES
from virtualvector import ADFClassifier, persistence
from virtualvector.persistence import BadModelFile
from virtualvector.persistence.mixin import contents_of


@pytest.fixture(scope="module")
def contents():
    """A small file."""
    return contents_of(ADFClassifier().fit([[1.0], [-1.0]], ["a", "b"]), {"label": "y"})


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.vvm"


def assert_refused(path, contents):
    path.write_bytes(contents)
    assert_read_refused(path)
    with pytest.raises(BadModelFile):
        persistence.read_header(path)


def assert_read_refused(path):
    with pytest.raises(BadModelFile) as caught:
        persistence.read(path)
    message = str(caught.value)
    assert message.startswith("model.vvm: found ")
    assert "expected" in message
    assert "\n" not in message


def test_every_truncation_is_refused(path, contents):
    path.write_bytes(contents)
    for length in reversed(range(len(contents))):
        os.truncate(path, length)
        assert_read_refused(path)


def test_every_flipped_byte_of_the_first_kilobyte_is_refused(path, contents):
    for place in range(1024):
        flipped = bytearray(contents)
        flipped[place] ^= 0xFF
        assert_refused(path, flipped)


@pytest.mark.parametrize("name", ["vvm", "auto, categories and missing values"])
def test_random_flips_are_refused(path, name):
    contents = contents_of(EXAMPLES[name].started())
    rng = np.random.default_rng(0)
    for place in rng.integers(len(contents), size=500):
        flipped = bytearray(contents)
        flipped[place] ^= 1 << rng.integers(8)
        assert_refused(path, flipped)


def test_padding_of_the_header_counts_too(path, contents):
    length = int.from_bytes(contents[:8], "little")
    header = contents[8 : 8 + length]
    padding = len(header) - len(header.rstrip(b" "))
    longer = header + b" " * 8  # safetensors itself would not mind
    assert_refused(path, (length + 8).to_bytes(8, "little") + longer + contents[8 + length :])
    if padding:
        tabbed = header[:-1] + b"\t"
        assert_refused(path, contents[:8] + tabbed + contents[8 + length :])


@pytest.mark.parametrize(
    "rubbish",
    [b"", b"\0", b"rows,label\n1,2\n" * 9, b"\x80\x04\x95" + b"." * 99, bytes(999), b"\xff" * 99],
    ids=["empty", "one zero", "a table", "a pickle", "zeros", "ones"],
)  # fmt: skip
def test_other_files_are_refused(path, rubbish):
    assert_refused(path, rubbish)


def test_more_behind_the_end_is_refused(path, contents):
    assert_refused(path, contents + b"\0")
    assert_refused(path, contents + contents)


def test_a_folder_and_a_device_are_refused(tmp_path):
    with pytest.raises(BadModelFile, match="found a folder or a device"):
        persistence.read(tmp_path)
    with pytest.raises(BadModelFile, match="found a folder or a device"):
        persistence.read("/dev/zero")


def test_a_file_with_a_hole_is_not_read(path):
    with path.open("wb") as file:
        file.truncate(2**40)
    with pytest.raises(BadModelFile, match=r"found 1,099,511,627,776 bytes; expected at most"):
        persistence.read(path)


def test_a_missing_file_is_missing(path):
    with pytest.raises(FileNotFoundError, match=r"model\.vvm"):
        persistence.read(path)
