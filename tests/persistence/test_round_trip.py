"""A model that was saved and loaded is the same to the last bit, and goes on as if never saved."""

import json

import numpy as np
import pytest
from safetensors import safe_open
from sklearn.exceptions import NotFittedError

import virtualvector
from tests.persistence.model_examples import EXAMPLES, every_example, stream
from virtualvector import ADFClassifier, VVMClassifier, persistence
from virtualvector.learners.expert import Expert
from virtualvector.persistence.mixin import contents_of


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.vvm"


def same(one, other):
    """Whether two values are equal in every part, type and bit."""
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and one.shape == other.shape and (
            one.tolist() == other.tolist() if one.dtype == object
            else one.tobytes() == other.tobytes()
        )  # fmt: skip
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return list(one) == list(other) and all(map(same, one.values(), other.values()))
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if hasattr(one, "__dataclass_fields__"):
        return all(same(getattr(one, n), getattr(other, n)) for n in one.__dataclass_fields__)
    return repr(one) == repr(other)


def assert_same_model(one, other):
    assert type(one) is type(other)
    mine, yours = one.__getstate__(), other.__getstate__()
    yours.pop("_origin")
    assert mine.keys() == yours.keys()
    if yours.get("experts") is not None:  # any sequence will do
        yours["experts"] = type(mine["experts"])(map(Expert._make, yours["experts"]))
    for name in mine:
        assert same(mine[name], yours[name]), name


@every_example
def test_what_is_loaded_is_what_was_saved(example, path):
    model = example.started()
    model.save(path)
    again = virtualvector.load(path)
    assert_same_model(model, again)
    rows = example.rest()[0]
    np.testing.assert_array_equal(model.predict_proba(rows), again.predict_proba(rows))
    np.testing.assert_array_equal(model.predict(rows), again.predict(rows))


@every_example
def test_a_loaded_model_learns_on_as_if_it_had_never_been_saved(example, path):
    model = example.started()
    model.save(path)
    again = virtualvector.load(path)
    rows, labels = example.rest()
    model.partial_fit(rows, labels)
    again.partial_fit(rows, labels)
    assert_same_model(model, again)
    assert contents_of(model) == contents_of(again)


@every_example
def test_saving_what_was_loaded_gives_the_same_bytes(example, path):
    example.started().save(path)
    before = path.read_bytes()
    virtualvector.load(path).save(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "name", ["vvm", "auto, categories and missing values", "auto, third class comes later"]
)
def test_the_same_stream_in_other_pieces_gives_the_same_bytes(name):
    example = EXAMPLES[name]
    whole = example.learner().partial_fit(example.rows, example.labels, example.classes)
    pieces = example.started()
    pieces.partial_fit(*example.rest())
    assert contents_of(whole) == contents_of(pieces)


def test_notes_and_header_come_back(path):
    rows, labels = stream(labels=["no", "yes"])
    about = {"label": "outcome", "rows": 80, "errors": [0.1, None, True], "nested": {"ß": {}}}
    persistence.save(VVMClassifier(6, half_life=100.0).fit(rows, labels), path, about)
    saved = persistence.read(path)
    assert saved.about == about
    assert saved.header == persistence.read_header(path)
    header = saved.header
    assert header["format"] == 11
    assert header["learner"] == "VVMClassifier"
    assert header["parameters"]["buffer_size"] == 6
    assert header["parameters"]["half_life"] == 100.0
    assert header["columns"] is None
    assert header["n_columns"] == 3
    assert header["classes"] == ["no", "yes"]
    assert header["counters"]["rows"] == 80
    assert header["counters"] | saved.model.counters_ == header["counters"]


def test_columns_are_named_in_their_order(path):
    EXAMPLES["auto, categories and missing values"].started().save(path)
    header = persistence.read_header(path)
    assert header["columns"] == ["amount", "city", "kind", "flag"]
    assert header["counters"]["rows"] == 150


def test_anyone_can_open_the_file_with_safetensors(path):
    model = EXAMPLES["vvm"].started()
    model.save(path)
    with safe_open(path, "np") as file:
        document = json.loads(file.metadata()["virtualvector"])
        mean = file.get_tensor("posterior/states/0/mean")
    assert document["learner"] == "VVMClassifier"
    assert document["state"]["posterior"]["settings"]["half_life"] == "Infinity"
    np.testing.assert_array_equal(mean, model._posterior.states[0].mean)


def test_what_is_the_same_is_stored_once():
    learned = EXAMPLES["vvm, classes declared that never come"].started()
    assert contents_of(learned).count(b"same as") == 1  # two classes never came


def test_a_model_that_has_learned_nothing_is_not_saved(path):
    with pytest.raises(NotFittedError):
        ADFClassifier().save(path)
    assert not path.exists()


def test_a_class_that_loading_does_not_know_is_not_saved(path):
    class Mine(ADFClassifier):
        pass

    with pytest.raises(TypeError, match="Mine"):
        Mine().fit(*stream()).save(path)


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("vvm", {"label_noise": 0.1}),
        ("vvm", {"prior_variance": 2.0}),
        ("ep", {"max_sweeps": 7}),
        ("auto, categories and missing values", {"n_frequencies": 6}),
        ("auto, categories and missing values", {"scale": False}),
    ],
)
def test_parameters_that_were_changed_since_are_told(name, changes, path):
    model = EXAMPLES[name].started()
    before = {name: getattr(model, name) for name in changes}
    with pytest.raises(ValueError, match=r"model\.vvm: cannot be saved: .*learned with"):
        model.set_params(**changes).save(path)
    assert not path.exists()
    model.set_params(**before).save(path)
    virtualvector.load(path)
