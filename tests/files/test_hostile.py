"""Files made to do harm, with a right checksum: refused in one line, within little memory."""

import json
import tracemalloc

import numpy as np
import pytest
from model_examples import EXAMPLES

from faults.sealing import BLANK, changed, compact, header_and_data, sealed, with_header, with_text
from virtualvector import files
from virtualvector.files import BadModelFile
from virtualvector.learners.saving import contents_of
from virtualvector.posterior.state import POINTS, ROWS, SWEEPS, UNSETTLED
from virtualvector.storage import document

START = b'{"__metadata__":{"virtualvector":"{\\"checksum\\":\\"' + BLANK + b'\\"'


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
def ep():
    return contents_of(EXAMPLES["ep"].started())


@pytest.fixture(scope="module")
def auto():
    return contents_of(EXAMPLES["auto, names and gaps"].started())


@pytest.fixture
def refused(tmp_path):
    """Assert that a file is refused in one line; return the line."""

    def check(contents, megabytes=64):
        path = tmp_path / "model.vvm"
        path.write_bytes(contents)
        tracemalloc.start()
        try:
            with pytest.raises(BadModelFile) as caught:
                files.read(path)
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


def test_forging_alone_does_not_spoil_a_file(vvm, auto, tmp_path):
    path = tmp_path / "model.vvm"
    for contents in (vvm, auto):
        for forged in (changed(contents), with_header(contents, lambda header: None)):
            path.write_bytes(forged)
            files.read(path)
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
    files.save(EXAMPLES["vvm"].started(), path, about)
    assert files.read(path).about == about


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
    assert "twice" in refused(with_text(vvm, '"format":3', '"format":3,"format":3'))
    header, data = header_and_data(vvm)
    text = compact(header)
    entry = compact({"counts": header["posterior/states/0/counts"]})[1:-1]
    assert "twice" in refused(sealed(text[:-1] + b"," + entry + b"," + entry + b"}", data))


# What the document says.


def setting_of(*places, to):
    """A function that puts something at a place of a document."""

    def change(document):
        *way, last = places
        for place in way:
            document = document[place]
        assert last in document or isinstance(document, list)
        document[last] = to

    return change


POSTERIOR = ("state", "posterior")


@pytest.mark.parametrize(
    ("places", "to"),
    [
        (["format"], 0),
        (["format"], 1),
        (["format"], 2),
        (["format"], 4),
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
    said = "margin" if parameter == "eviction" else to
    assert "expected" in refused(changed(vvm, setting_of("parameters", parameter, to=said)))


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
            if (*place, name) != ("checksum",):
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


# What the arrays hold: compiled code does not look.


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("mean", lambda a: a[:2]),
        ("mean", lambda a: a[:0]),
        ("mean", lambda a: a[0].reshape(())),
        ("mean", lambda a: a.reshape(2, 2)),
        ("mean", lambda a: a.astype(np.int64)),
        ("mean", lambda a: a * np.nan),
        ("mean", lambda a: np.zeros(300_000)),
        ("factor", lambda a: np.full_like(a, np.inf)),
        ("factor", lambda a: a.T.copy()),
        ("factor", lambda a: -a),
        ("factor", lambda a: np.zeros_like(a)),
        ("factor", lambda a: a[:, :2]),
        ("points", lambda a: a[:3]),
        ("points", lambda a: a[:0]),
        ("points", lambda a: 2.0 * a),
        ("points", lambda a: np.zeros((200_000, 4))),
        ("noises", lambda a: a - 1.0),
        ("noises", lambda a: a[:1]),
        ("noises", lambda a: np.zeros(10**6)),
        ("born", lambda a: a - 10**6),
        ("born", lambda a: a.astype(float)),
        ("precisions", lambda a: a[:2]),
        ("shifts", lambda a: a[:2]),
        ("fresh", lambda a: np.zeros(7)),
        ("seen", lambda a: np.zeros((7, 4))),
        ("gram", lambda a: np.zeros((3, 3))),
        ("gram", lambda a: np.eye(7)),
        ("weight_mean", lambda a: np.zeros(9)),
        ("weight_factor", lambda a: a.T.copy()),
        ("distances", lambda a: a[:2, :2]),
        ("distances", lambda a: np.zeros((0, 0))),
        ("counts", lambda a: a[:3]),
        ("counts", lambda a: -a),
        ("counts", lambda a: a * 2**55),
        ("counts", lambda a: np.where(np.arange(7) == POINTS, 7, a)),
        ("counts", lambda a: np.where(np.arange(7) == POINTS, 10**9, a)),
        ("counts", lambda a: np.where(np.arange(7) == POINTS, -1, a)),
        ("sums", lambda a: a[:1]),
        ("sums", lambda a: a * np.nan),
        # Numbers that learning cannot lead to.
        ("mean", lambda a: a + 1e9),
        ("factor", lambda a: a * 1e9),
        ("factor", lambda a: a * 1e-15),
        ("factor", lambda a: a * 1e-300),
        ("points", lambda a: np.roll(a, 1, axis=0)),
        ("noises", lambda a: a + 1.0),
        ("born", lambda a: a + 40),
        ("born", lambda a: 0 * a),
        ("precisions", lambda a: a + 1e14),
        ("precisions", lambda a: -1.0 - a),
        ("shifts", lambda a: a + 1e9),
        ("weight_mean", lambda a: a - 1e9),
        ("weight_factor", lambda a: a * 1e9),
        ("distances", lambda a: a + 1.0),
        ("distances", lambda a: a.clip(1e-3)),
        ("counts", lambda a: np.where(np.arange(7) == ROWS, 41, a)),
        ("counts", lambda a: np.where(np.arange(7) == SWEEPS, 10**6, a)),
        ("counts", lambda a: np.where(np.arange(7) == UNSETTLED, 10**6, a)),
        ("sums", lambda a: a + 1e9),
        ("sums", lambda a: a - 1e300),
    ],
)
def test_posteriors_that_cannot_be(vvm, refused, name, change):
    place = f"posterior/states/0/{name}"
    refused(changed(vvm, arrays=lambda arrays: arrays.update({place: change(arrays[place])})))


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("points", lambda a, n: a + 1e-4),
        ("products", lambda a, n: a * (1.0 + 1e-4)),
        ("products", lambda a, n: a + 1e-3),
        ("fresh", lambda a, n: -a),
        ("fresh", lambda a, n: a + 1e300),
        ("gram", lambda a, n: a + 1.0),
        ("gram", lambda a, n: a + np.diag(np.arange(len(a)) == n)),
        ("margins", lambda a, n: a + 1e200),
        ("margins", lambda a, n: a + 1e-3),
        ("covariances", lambda a, n: a * 1e200),
        ("covariances", lambda a, n: np.where(np.eye(len(a)) > 0, a, 99.0 * a.max())),
        ("seen", lambda a, n: a - [0.0, 0.0, 0.0, -1e4]),
        ("seen", lambda a, n: a - [0.0, 1e4, 0.0, 0.0]),
    ],
)
def test_margins_that_cannot_be(many_columns, refused, name, change):
    place = "posterior/states/0/"

    def forge(arrays):
        n = arrays[place + "counts"][POINTS]
        assert n > 2
        arrays[place + name] = change(arrays[place + name], n)

    refused(changed(many_columns, arrays=forge))


def test_more_rows_than_there_is_room_for(ep, refused):
    def full(arrays):
        counts = arrays["posterior/states/0/counts"]
        counts[POINTS] = len(arrays["posterior/states/0/points"]) + 1

    assert "points; expected 0 to" in refused(changed(ep, arrays=full))


COMMITTEE = ("state", "committee")
INPUTS = ("state", "inputs")


@pytest.mark.parametrize(
    ("places", "to"),
    [
        (["parameters", "n_waves"], 6),
        (["parameters", "budget"], 1e9),
        (["parameters", "random_state"], 1),
        (["parameters", "experts", 0, "margin_noise"], 2.0),
        (["parameters", "scale"], False),
        ([*COMMITTEE, "outlook", "spread"], 5.0),
        ([*COMMITTEE, "record", "n_blocks"], 10**6),
        ([*COMMITTEE, "record", "moments", 0, "weights", 0, 1], 2.0),
        ([*COMMITTEE, "record", "moments", 0, "n_rows"], 10**6),
        ([*COMMITTEE, "watch", "n_blocks"], 10**6),
        ([*COMMITTEE, "watch", "usual"], 1e300),
        ([*COMMITTEE, "watch", "variance"], 1e300),
        ([*COMMITTEE, "n_rows"], 151),
        ([*COMMITTEE, "experts"], []),
        ([*COMMITTEE, "at_start"], []),
        ([*COMMITTEE, "posteriors"], []),
        ([*COMMITTEE, "experts", 0, "same as"], "committee/at_start/1"),
        ([*COMMITTEE, "at_start", 1, "detail"], 10**6),
        ([*COMMITTEE, "at_start", 1, "detail"], 0),
        ([*COMMITTEE, "at_start", 1, "bandwidth"], 0.0),
        ([*COMMITTEE, "at_start", 1, "bandwidth"], "Infinity"),
        ([*COMMITTEE, "at_start", 0, "merge_pairs"], 10**12),
        ([*COMMITTEE, "at_start", 0, "label_noise"], 2.0),
        ([*COMMITTEE, "outlook", "n_waves"], 10**9),
        ([*COMMITTEE, "outlook", "n_waves"], 0),
        ([*COMMITTEE, "outlook", "n_inputs"], 10**9),
        ([*COMMITTEE, "outlook", "spread"], 0.0),
        ([*COMMITTEE, "outlook", "seed"], -1),
        ([*COMMITTEE, "outlook", "budget"], -1.0),
        ([*COMMITTEE, "record", "every"], 0),
        ([*COMMITTEE, "record", "moments"], [[1, []]]),
        ([*COMMITTEE, "watch", "variance"], -1.0),
        ([*COMMITTEE, "watch", "excess"], "Infinity"),
        ([*COMMITTEE, "n_rows"], -1),
        ([*COMMITTEE, "n_rows"], 10),
        ([*COMMITTEE, "calm_since"], 10**6),
        ([*COMMITTEE, "classes_at_start"], {"dtype": "<U3", "values": ["no", "yes"]}),
        ([*INPUTS, "named"], [False, True]),
        ([*INPUTS, "named"], [True] * 4),
        ([*INPUTS, "names"], []),
        ([*INPUTS, "names", 0, 0], 0),
        ([*INPUTS, "names", 0, 1], [["Rome", 0], ["Oslo", 0]]),
        ([*INPUTS, "names", 0, 1], [["Rome", 0], ["Rome", 1]]),
        ([*INPUTS, "names", 0, 1], [["Rome", 9]]),
        ([*INPUTS, "names", 0, 1], [["Rome"]]),
        ([*INPUTS, "names", 0, 1], [[0, 0]]),
        ([*INPUTS, "scaling"], 1),
        (["state", "named"], [True] * 3),
        (["n_columns"], 5),
        (["parameters", "experts"], "all"),
        (["parameters", "experts", 0], [1, 2, 3]),
    ],
    ids=str,
)
def test_committees_that_cannot_be(auto, refused, places, to):
    refused(changed(auto, setting_of(*places, to=to)))


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("committee/weights", lambda a: a[:1]),
        ("committee/weights", lambda a: -a),
        ("committee/weights", lambda a: 0 * a),
        ("committee/weights", lambda a: a[:, np.newaxis]),
        ("committee/weights", lambda a: 2.0 * a),
        ("committee/weights", lambda a: a * (1.0 - 1e-6)),
        ("committee/weights", lambda a: np.eye(len(a))[0]),
        ("committee/awake", lambda a: np.arange(len(a)) == 0),
        ("committee/awake", lambda a: np.zeros_like(a)),
        ("committee/awake", lambda a: a.astype(np.int64)),
        ("committee/awake", lambda a: np.append(a, True)),
        ("committee/evidence", lambda a: a * np.nan),
        ("committee/evidence", lambda a: a[:1]),
        ("committee/corrections", lambda a: a[:3]),
        ("committee/corrections", lambda a: -a),
        ("committee/corrections", lambda a: 2.0 * a),
        ("committee/corrections", lambda a: a * (1.0 - 1e-6)),
        ("committee/corrections", lambda a: np.eye(len(a))[0]),
        ("committee/evidence", lambda a: a + 1e6),
        ("committee/evidence", lambda a: a - 1e6),
        ("committee/posteriors/1/states/0/mean", lambda a: a[:-1]),
        ("inputs/counts", lambda a: np.append(a, 1.0)),
        ("inputs/counts", lambda a: -a),
        ("inputs/counts", lambda a: a + 1.0),
        ("inputs/counts", lambda a: a - 0.5),
        ("inputs/means", lambda a: a * np.inf),
        ("inputs/means", lambda a: a + 1e200),
        ("inputs/squares", lambda a: a + 1e303),
        ("inputs/gaps", lambda a: a + 1000),
        ("inputs/squares", lambda a: -1.0 - a),
        ("inputs/gaps", lambda a: a[:2]),
        ("inputs/gaps", lambda a: a - 10**6),
    ],
)
def test_committees_whose_numbers_cannot_be(auto, refused, name, change):
    refused(changed(auto, arrays=lambda arrays: arrays.update({name: change(arrays[name])})))


def test_truth_values_are_zero_or_one(auto, refused):
    header, data = header_and_data(auto)
    start, _ = header["committee/awake"]["data_offsets"]
    assert data[start] == 1
    assert "truth values" in refused(
        sealed(compact(header), data[:start] + b"\x02" + data[start + 1 :])
    )


def test_the_only_expert_has_all_trust(refused):
    alone = contents_of(EXAMPLES["auto, one expert, not scaled"].started())
    for to in (0.5, 1.0 + 1e-12, 2.0):
        weights = np.array([to])
        forged = changed(alone, arrays=lambda a, w=weights: a.update({"committee/weights": w}))
        assert "all trust in the only expert" in refused(forged)


# What is the same as something else takes memory when it learns.


def test_more_classes_than_were_written(refused):
    adf = contents_of(EXAMPLES["adf, third class comes later"].started())

    def many(document):
        posterior = document["state"]["posterior"]
        posterior["classes"]["values"] = document["classes"] = list(range(60_000))
        there = [{"same as": "posterior/states/0"}] * 59_999
        posterior["states"] = [posterior["states"][0], *there]

    def fewer(arrays):
        for name in list(arrays):
            if "states/" in name and "states/0/" not in name:
                del arrays[name]

    assert "expected it written out again" in refused(changed(adf, many, fewer), megabytes=128)


def test_references_to_what_has_references(refused):
    auto = contents_of(EXAMPLES["auto, third class comes later"].started())

    def many(document):
        committee = document["state"]["committee"]
        states = committee["posteriors"][0]["states"]
        states += [{"same as": "committee/posteriors/0/states/0"}] * 1000
        committee["posteriors"] += [{"same as": "committee/posteriors/0"}] * 1000

    assert "expected it written out again" in refused(changed(auto, many))


def test_labels_much_wider_than_their_texts(refused):
    auto = contents_of(EXAMPLES["auto, names and gaps"].started())

    def wide(document):
        for k, posterior in enumerate(document["state"]["committee"]["posteriors"]):
            posterior["classes"] = {"dtype": "<U9999999", "values": [f"{k}"]}

    assert "found labels of 39,999,996 bytes" in refused(changed(auto, wide), megabytes=128)
