"""Files made to do harm, with a right checksum: refused in one line, within little memory."""

import json

import numpy as np
import pytest

from faults.sealing import (
    BLANK,
    changed,
    compact,
    header_and_data,
    sealed,
    setting_of,
    with_header,
    with_text,
)
from tests.persistence.model_examples import EXAMPLES
from virtualvector import persistence
from virtualvector.persistence import document
from virtualvector.posterior.state import EVICTED, ROWS

START = b'{"__metadata__":{"virtualvector":"{\\"checksum\\":\\"' + BLANK + b'\\"'


def test_forging_alone_does_not_spoil_a_file(vvm, auto, tmp_path):
    path = tmp_path / "model.vvm"
    for contents in (vvm, auto):
        for forged in (changed(contents), with_header(contents, lambda header: None)):
            path.write_bytes(forged)
            persistence.read(path)
        assert changed(contents) == contents


# What safetensors says of the arrays.

MEAN = "posterior/states/0/mean"


@pytest.mark.parametrize(
    "entry",
    [
        {"shape": [2**40]},
        {"shape": [2**62, 2**62, 2**62]},
        {"shape": [-4]},
        {"shape": [4.0]},
        {"shape": "4"},
        {"shape": [[4]]},
        {"shape": None},
        {"dtype": "F16"},
        {"dtype": "F32", "shape": [8]},
        {"dtype": "U8", "shape": [32]},
        {"dtype": "BF16", "shape": [16]},
        {"dtype": "object"},
        {"dtype": ["F64"]},
        {"dtype": {"F64": 1}},
        {"data_offsets": [0, 2**63]},
        {"data_offsets": [0, 32]},
        {"data_offsets": [-32, 0]},
        {"data_offsets": [64, 32]},
        {"data_offsets": []},
        {"more": 1},
    ],
    ids=str,
)
def test_arrays_that_are_not_where_they_should_be(vvm, refused, entry):
    refused(with_header(vvm, lambda header: header[MEAN].update(entry)))


def test_arrays_with_other_names(vvm, refused):
    for name in ("../../etc/passwd", "/etc/passwd", "", "a" * 10_000, "posterior/states/0/means"):
        forged = with_header(vvm, lambda h, name=name: h.update({name: h.pop(MEAN)}))
        assert "found" in refused(forged)
    refused(changed(vvm, arrays=lambda arrays: arrays.pop(MEAN)))
    more = changed(vvm, arrays=lambda arrays: arrays.update(extra=np.zeros(3)))
    assert "'extra'" in refused(more)


def test_more_metadata(vvm, refused):
    refused(with_header(vvm, lambda header: header["__metadata__"].update(other="text")))
    refused(with_header(vvm, lambda header: header.update(posterior=[])))


# JSON made to exhaust whoever reads it.


def nested(text):
    return sealed(START + b"," + text.replace(b'"', b'\\"') + b'}"}}')


@pytest.mark.parametrize("opening", [b"[", b'{"a":', b'[{"a":'])
def test_json_as_deep_as_can_be(refused, opening):
    assert "deep" in refused(nested(b'"about":' + opening * 10**5))
    assert "deep" in refused(sealed(START + b'}"},"a":' + opening * 10**5))


def test_brackets_in_texts_are_not_depth(tmp_path):
    path = tmp_path / "model.vvm"
    about = {"[" * 1000: "}{][" * 1000 + '"\\"['}
    persistence.save(EXAMPLES["vvm"].started(), path, about)
    assert persistence.read(path).about == about


@pytest.mark.parametrize(
    "text",
    [b"[]," * 4_000_000, b'"",' * 4_000_000, b"1" * 4_000_000, b'\\"' * 4_000_000,
     b'""' * 4_000_000, b"]" * 4_000_000, b"1e999", b"NaN",
     b"-Infinity", b"[1,", b"nul", b"\xff\xfe", b'"\\ud800"'],
    ids=["lists", "texts", "digits", "escapes", "quotes", "closing", "overflow", "nan", "infinity",
         "cut off", "a word", "no UTF-8", "half a character"],
)  # fmt: skip
def test_json_that_is_too_large_or_none(refused, text):
    refused(sealed(START + b'}"},"a":' + text), megabytes=128)
    refused(nested(b'"about":' + text), megabytes=128)


@pytest.mark.parametrize("entry", [b"{},", b"[],", b'{"a":1},', b'"text",', b"1.5,"])
def test_memory_is_bounded_by_how_many_marks_are_allowed(refused, monkeypatch, entry):
    marks = 100_000
    monkeypatch.setattr(document, "MOST_MARKS", marks)
    n_entries = (marks - 100) // len(entry.translate(None, delete=b"a1:text."))
    text = b"[" + entry * n_entries + b"0]"
    header = START + b'}"},"a":' + text + b"}"
    megabytes = (60 * marks + 5 * len(header)) / 2**20
    assert "array 'a'" in refused(sealed(header), megabytes)


def test_a_header_longer_than_allowed(refused):
    refused(sealed(START + b'}"}}' + b" " * 2**24))
    refused((2**63).to_bytes(8, "little") + bytes(100))


def test_names_given_twice(vvm, refused):
    assert "twice" in refused(with_text(vvm, '"format":11', '"format":11,"format":11'))
    header, data = header_and_data(vvm)
    text = compact(header)
    entry = compact({"counts": header["posterior/states/0/counts"]})[1:-1]
    assert "twice" in refused(sealed(text[:-1] + b"," + entry + b"," + entry + b"}", data))


# What the document says.


POSTERIOR = ("state", "posterior")


@pytest.mark.parametrize(
    ("places", "to"),
    [
        (["format"], 0),
        (["format"], 1),
        (["format"], 2),
        (["format"], 12),
        (["format"], "1"),
        (["format"], True),
        (["format"], None),
        (["program"], 3),
        (["learner"], "os.system"),
        (["learner"], "builtins.eval"),
        (["learner"], "AutoVVMClassifier"),
        (["learner"], "ADFClassifier"),
        (["learner"], None),
        (["learner"], ["VVMClassifier"]),
        (["parameters"], {}),
        (["parameters"], None),
        (["parameters", "buffer_size"], -1),
        (["parameters", "buffer_size"], "30"),
        (["parameters", "buffer_size"], 10**30),
        (["parameters", "half_life"], "NaN"),
        (["parameters", "half_life"], -1.0),
        (["parameters", "eviction"], "__import__('os')"),
        (["parameters", "label_noise"], 0.7),
        (["parameters", "fit_intercept"], "yes"),
        (["n_columns"], 7),
        (["n_columns"], -3),
        (["n_columns"], 2**80),
        (["columns"], ["a", "b"]),
        (["columns"], [1, 2, 3]),
        (["columns"], "abc"),
        (["classes"], ["a", "b"]),
        (["classes"], {}),
        (["counters"], {"rows": 10**6}),
        (["counters"], []),
        (["about"], [1]),
        (["state"], None),
        (["state"], {}),
        (["state", "scale"], 0.0),
        (["state", "scale"], -1.0),
        (["state", "scale"], "Infinity"),
        (["state", "scale"], True),
        (["state", "scale"], {"same as": "posterior"}),
        ([*POSTERIOR], []),
        ([*POSTERIOR], {"same as": "posterior"}),
        ([*POSTERIOR, "states"], []),
        ([*POSTERIOR, "states"], {}),
        ([*POSTERIOR, "states", 0], {"same as": "posterior/states/0"}),
        ([*POSTERIOR, "states", 0], {"same as": "posterior/settings"}),
        ([*POSTERIOR, "states", 0], {"same as": ["posterior"]}),
        ([*POSTERIOR, "states", 0, "mean"], None),
        ([*POSTERIOR, "states", 0, "mean"], "posterior/states/0/weight_mean"),
        ([*POSTERIOR, "states", 0, "mean"], [0.0, 0.0, 0.0, 0.0]),
        ([*POSTERIOR, "settling"], {"same as": "posterior/settings/"}),
        ([*POSTERIOR, "classes"], {"dtype": "|O", "values": [0, 1]}),
        ([*POSTERIOR, "classes"], {"dtype": "|O", "values": [{"__reduce__": "os.system"}, "a"]}),
        ([*POSTERIOR, "classes"], {"dtype": "<U9999999", "values": ["a", "b"] * 100}),
        ([*POSTERIOR, "classes"], {"dtype": "<U99999999999", "values": ["a", "b"]}),
        ([*POSTERIOR, "classes"], {"dtype": "<i8", "values": [1, 0]}),
        ([*POSTERIOR, "classes"], {"dtype": "<i8", "values": [0, 0]}),
        ([*POSTERIOR, "classes"], {"dtype": "<i8", "values": [0, 1, 2]}),
        ([*POSTERIOR, "classes"], {"dtype": "<i8", "values": [0, 2**70]}),
        ([*POSTERIOR, "classes"], {"dtype": "<i8", "values": [[0], [1]]}),
        ([*POSTERIOR, "classes"], {"dtype": "<f8", "values": [0.0, "Infinity"]}),
        ([*POSTERIOR, "classes"], {"dtype": "i8,i8", "values": [0, 1]}),
        ([*POSTERIOR, "classes"], {"dtype": "<M8[what]", "values": [0, 1]}),
        ([*POSTERIOR, "classes"], {"dtype": "<U1", "values": ["a", "bc"]}),
        ([*POSTERIOR, "classes"], {"dtype": "|b1", "values": [0, 1]}),
        ([*POSTERIOR, "classes"], {"dtype": {}, "values": [0, 1]}),
        ([*POSTERIOR, "settings", "half_life"], "NaN"),
        ([*POSTERIOR, "settings", "half_life"], "-Infinity"),
        ([*POSTERIOR, "settings", "half_life"], 0.0),
        ([*POSTERIOR, "settings", "label_noise"], 0.5),
        ([*POSTERIOR, "settings", "margin_noise"], "Infinity"),
        ([*POSTERIOR, "settings", "margin_noise"], -1.0),
        ([*POSTERIOR, "settings", "strategy"], 4),
        ([*POSTERIOR, "settings", "merge_pairs"], 10**12),
        ([*POSTERIOR, "settings", "buffer_size"], 3),
        ([*POSTERIOR, "settings", "buffer_size"], -1),
        ([*POSTERIOR, "settings", "buffer_size"], 2**63),
        ([*POSTERIOR, "settings", "max_sweeps"], 30.0),
        ([*POSTERIOR, "settings", "max_sweeps"], -1),
        ([*POSTERIOR, "settings", "tolerance"], None),
    ],
    ids=str,
)
def test_documents_that_say_something_wrong(vvm, refused, places, to):
    refused(changed(vvm, setting_of(*places, to=to)))


@pytest.mark.parametrize(
    ("parameter", "setting", "to"),
    [
        ("max_sweeps", "max_sweeps", 31),
        ("max_sweeps", "max_sweeps", 2**53 - 1),
        ("tol", "tolerance", 0.0),
        ("label_noise", "label_noise", 0.1),
        ("margin_noise", "margin_noise", 0.5),
        ("half_life", "half_life", 30.0),
        ("merge_pairs", "merge_pairs", 6),
        ("buffer_size", "buffer_size", 7),
        ("eviction", "strategy", 1),
        ("prior_variance", None, 2.0),
        ("fit_intercept", None, False),
    ],
)
def test_settings_that_are_not_what_parameters_give(vvm, refused, parameter, setting, to):
    if setting is not None:
        refused(changed(vvm, setting_of(*POSTERIOR, "settings", setting, to=to)))
    value = "margin" if parameter == "eviction" else to
    assert "expected" in refused(changed(vvm, setting_of("parameters", parameter, to=value)))


def test_work_without_end(vvm, ep, refused):
    """Nothing interrupts a sweep: what both parameters and settings allow is bounded too."""
    for contents, where in ((vvm, "settings"), (ep, "settling")):

        def endless(document, where=where):
            document["parameters"] |= {"max_sweeps": 2**53 - 1, "tol": 0.0}
            document["state"]["posterior"][where] |= {"max_sweeps": 2**53 - 1, "tolerance": 0.0}
            document["state"]["posterior"]["settings"]["tolerance"] = 0.0

        assert "found max_sweeps = 9007199254740991 over" in refused(changed(contents, endless))


def test_fields_that_are_missing_or_unknown(vvm, refused):
    places = [(), ("parameters",), ("state",), POSTERIOR, (*POSTERIOR, "settings")]
    for place in places:

        def inside(document, place=place):
            for name in place:
                document = document[name]
            return document

        for name in inside(json.loads(json.dumps(header_document(vvm)))):
            # A file without these is one from before there were such parameters.
            later = [("parameters", "shuffle"), ("parameters", "class_weight")]
            if (*place, name) not in [("checksum",), *later]:
                refused(changed(vvm, lambda d, name=name, inside=inside: inside(d).pop(name)))
        message = refused(changed(vvm, lambda d, inside=inside: inside(d).update(surprise=1)))
        assert "surprise" in message


def header_document(contents):
    return json.loads(header_and_data(contents)[0]["__metadata__"]["virtualvector"])


def test_a_class_without_a_posterior(three_classes, refused):
    def fewer(document):
        del document["state"]["posterior"]["states"][2]

    assert "posteriors" in refused(
        changed(
            three_classes,
            fewer,
            lambda arrays: [arrays.pop(n) for n in list(arrays) if "/states/2/" in n],
        )
    )


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda known: known.update(lead="Infinity"), "a lead of inf"),
        (lambda known: known.update(lead=None), "lead"),
        (lambda known: known.update(beside=None), "beside"),
        (lambda known: known["beside"]["settings"].update(label_noise=0.2), "label_noise"),
        (lambda known: known["beside"]["settings"].update(buffer_size=3), "buffer_size"),
        (lambda known: known.pop("lead"), "too much"),
    ],
)
def test_a_hedge_that_cannot_be(hedged, refused, change, expected):
    message = refused(changed(hedged, lambda document: change(document["state"]["posterior"])))
    assert expected in message


def test_a_hedge_that_has_learned_other_rows(hedged, refused):
    def fewer(arrays):
        for name in arrays:
            if name.startswith("posterior/beside/") and name.endswith("/counts"):
                arrays[name][[ROWS, EVICTED]] -= 1

    assert "hedge of other weights or rows" in refused(changed(hedged, lambda d: None, fewer))


def test_a_hedge_of_other_classes(hedged, refused):
    def other(document):
        document["state"]["posterior"]["beside"]["classes"]["values"] = ["auch", "nein"]

    assert "hedge of other classes" in refused(changed(hedged, other))


def test_a_hedge_where_none_was_asked_for(hedged, refused):
    def alone(document):
        document["parameters"]["hedge"] = False

    assert "another hedge" in refused(changed(hedged, alone))
