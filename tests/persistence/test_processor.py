"""A file says on which kind of processor its model was learned."""

import copy
import os
import pickle
import subprocess
import sys

import pytest

import virtualvector
from tests.persistence.model_examples import EXAMPLES
from virtualvector import persistence
from virtualvector.jit.processor import processor
from virtualvector.persistence.document import from_bytes, to_bytes
from virtualvector.persistence.mixin import contents_of

ELSEWHERE = "riscv64 sifive-u74"


def test_it_is_what_llvm_calls_it_or_what_numba_is_told():
    ask = "from virtualvector.jit.processor import processor; print(processor())"
    found = {}
    for name in ("", "generic"):
        environment = {k: v for k, v in os.environ.items() if k != "NUMBA_CPU_NAME"}
        environment |= {"NUMBA_CPU_NAME": name} if name else {}
        done = subprocess.run(
            [sys.executable, "-c", ask], env=environment, capture_output=True, text=True, check=True
        )
        found[name] = done.stdout.split()
    assert len(found[""]) == len(found["generic"]) == 2
    assert found["generic"][1] == "generic"


@pytest.fixture(params=["vvm", "auto, categories and missing values"])
def from_elsewhere(request, tmp_path):
    """A file that was learned on another kind of processor, and more rows and labels."""
    example, path = EXAMPLES[request.param], tmp_path / "model.vvm"
    document, arrays = from_bytes(contents_of(example.started()))
    assert document["processor"] == processor()
    path.write_bytes(to_bytes(document | {"processor": ELSEWHERE}, arrays))
    return path, *example.rest()


def test_saving_alone_does_not_change_it(from_elsewhere, tmp_path):
    path, rows, _ = from_elsewhere
    before = path.read_bytes()
    assert persistence.read_header(path)["processor"] == ELSEWHERE
    model = virtualvector.load(path)
    model.predict_proba(rows)
    for same in (model, copy.copy(model), pickle.loads(pickle.dumps(model))):
        assert contents_of(same) == before


def test_learning_does(from_elsewhere):
    path, rows, labels = from_elsewhere
    model = virtualvector.load(path).partial_fit(rows, labels)
    model.save(path)
    assert persistence.read_header(path)["processor"] == processor()


def test_learning_single_rows_does(tmp_path):
    example, path = EXAMPLES["vvm"], tmp_path / "model.vvm"
    document, arrays = from_bytes(contents_of(example.started()))
    path.write_bytes(to_bytes(document | {"processor": ELSEWHERE}, arrays))
    model, (rows, labels) = virtualvector.load(path), example.rest()
    model.predict_proba_one(rows[0])
    assert from_bytes(contents_of(model))[0]["processor"] == ELSEWHERE
    model.learn_one(rows[0], labels[0])
    assert from_bytes(contents_of(model))[0]["processor"] == processor()


@pytest.mark.parametrize("found", [None, 7, ["x86_64"]])
def test_a_processor_that_is_no_text_is_refused(from_elsewhere, found):
    path, *_ = from_elsewhere
    document, arrays = from_bytes(path.read_bytes())
    path.write_bytes(to_bytes(document | {"processor": found}, arrays))
    with pytest.raises(persistence.BadModelFile, match="processor: found"):
        persistence.read(path)


def test_older_formats_have_none(from_elsewhere):
    path, *_ = from_elsewhere
    document, arrays = from_bytes(path.read_bytes())
    document["parameters"].pop("missing_values", None)  # which came with format 4
    for expert in document["parameters"].get("experts") or ():
        del expert["columns"], expert["squares"]  # with format 5
        del expert["reach"]  # with format 6
        del expert["rank"]  # with format 9
    path.write_bytes(to_bytes(document | {"format": 2}, arrays))
    with pytest.raises(
        persistence.BadModelFile, match="found a processor; expected none in format 2"
    ):
        persistence.read(path)
    del document["processor"]
    path.write_bytes(to_bytes(document | {"format": 2}, arrays))
    assert persistence.read_header(path)["processor"] == "unknown"
