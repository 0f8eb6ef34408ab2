"""What the tests of this folder share."""

import tracemalloc

import pytest

from tests.persistence.model_examples import EXAMPLES
from virtualvector import persistence
from virtualvector.persistence import BadModelFile
from virtualvector.persistence.mixin import contents_of


@pytest.fixture(scope="module")
def vvm():
    return contents_of(EXAMPLES["vvm"].started())


@pytest.fixture(scope="module")
def many_columns():
    return contents_of(EXAMPLES["vvm, many columns"].started())


@pytest.fixture(scope="module")
def three_classes():
    return contents_of(EXAMPLES["vvm, three classes, numbers"].started())


@pytest.fixture(scope="module")
def hedged():
    return contents_of(EXAMPLES["vvm by margin, texts"].started())


@pytest.fixture(scope="module")
def ep():
    return contents_of(EXAMPLES["ep"].started())


@pytest.fixture(scope="module")
def auto():
    return contents_of(EXAMPLES["auto, categories and missing values"].started())


@pytest.fixture(scope="session")
def compiled(tmp_path_factory):
    """Read a good file: the memory that compiling what checks it takes is no file's fault."""
    path = tmp_path_factory.mktemp("good") / "model.vvm"
    for name in ("vvm", "vvm, three classes, numbers"):
        path.write_bytes(contents_of(EXAMPLES[name].started()))
        persistence.read(path)


@pytest.fixture
def refused(tmp_path, compiled):
    """Assert that a file is refused in one line; return the line."""

    def check(contents, megabytes=64):
        path = tmp_path / "model.vvm"
        path.write_bytes(contents)
        tracemalloc.start()
        try:
            with pytest.raises(BadModelFile) as caught:
                persistence.read(path)
            _, most = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        message = str(caught.value)
        assert message.startswith("model.vvm: ")
        assert len(message) < 400
        assert "\n" not in message
        assert most < megabytes * 2**20
        assert [each.name for each in tmp_path.iterdir()] == ["model.vvm"]
        return message

    return check
