"""Whatever a file with a right checksum says: it is refused in one line, or holds a model."""

import json
import random

import numpy as np
import pytest
from forging import changed
from model_examples import EXAMPLES

from virtualvector import files
from virtualvector.learners.saving import contents_of

NODES = [
    None, True, 0, 1, -1, 7, 10**6, 2**62, 10**40, 0.0, -0.5, 1e308, 1e-308, "Infinity",
    "-Infinity", "", "yes", [], {}, [[]], [1], ["a"], [[1, 2]], {"same as": "posterior/states/0"},
    {"same as": "committee/at_start/0"}, {"dtype": "<i8", "values": [0, 1]},
]  # fmt: skip
NUMBERS = [0, 1, -1, 2, 100, 2**40, -(2**40)]


def places(node, way=()):
    """Every place in a document below its top."""
    inside = node.items() if isinstance(node, dict) else enumerate(node)
    for name, each in inside:
        yield (*way, name)
        if isinstance(each, dict | list):
            yield from places(each, (*way, name))


def spoil_document(document, draw):
    *way, last = draw.choice(list(places(document)))
    for name in way:
        document = document[name]
    if draw.random() < 0.8:
        document[last] = json.loads(json.dumps(draw.choice(NODES)))
    else:
        del document[last]


def spoil_arrays(arrays, draw):
    name = draw.choice(sorted(arrays))
    array = arrays[name].copy()
    if array.size and draw.random() < 0.6:
        array.flat[draw.randrange(array.size)] = draw.choice(NUMBERS)
    else:
        array = draw.choice([array[:-1], array.reshape(-1), np.concatenate([array, array])])
    arrays[name] = array


@pytest.mark.parametrize(
    "name",
    ["vvm", "vvm, many columns", "vvm, three classes, numbers", "adf, one class so far",
     "ep", "auto, a few columns", "auto, third class comes later"],
)  # fmt: skip
def test_it_is_refused_or_learns_on(name, tmp_path):
    example, draw = EXAMPLES[name], random.Random(name)
    contents, path = contents_of(example.started()), tmp_path / "model.vvm"
    rows, labels = example.rest()
    refused = 0
    for _ in range(40):
        if draw.random() < 0.6:
            forged = changed(contents, document=lambda document: spoil_document(document, draw))
        else:
            forged = changed(contents, arrays=lambda arrays: spoil_arrays(arrays, draw))
        path.write_bytes(forged)
        try:
            model = files.read(path).model
        except files.BadModelFile as error:
            refused += "\n" not in str(error)
        else:
            with np.errstate(all="ignore"):
                model.partial_fit(rows, labels)
                model.predict_proba(rows)
    assert refused > 15
