"""The API reference: everything public is on a page, says what it holds, and has an example."""

import inspect
import re
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

import virtualvector

REFERENCE = Path(__file__).parents[2] / "docs" / "api" / "index.rst"
NEEDS = {"virtualvector.river": "river", "virtualvector.dask": "distributed"}
PUBLIC = [
    name
    for name in (
        "virtualvector",
        "virtualvector.baselines",
        "virtualvector.dask",
        "virtualvector.datasets",
        "virtualvector.evaluation",
        "virtualvector.features",
        "virtualvector.persistence",
        "virtualvector.river",
    )
    if find_spec(NEEDS.get(name, "numpy"))
]


def on_the_page():
    """Yield the module and the name of all that the reference lists."""
    module = ""
    for line in REFERENCE.read_text().splitlines():
        if line.startswith(".. currentmodule:: "):
            module = line.removeprefix(".. currentmodule:: ")
        elif re.fullmatch(r"   \w+", line):
            yield module, line.strip()


LISTED = [(module, name) for module, name in on_the_page() if module in PUBLIC]


def test_everything_public_is_on_a_page_once():
    listed = [getattr(import_module(module), name) for module, name in LISTED]
    public = {
        getattr(import_module(module), name)
        for module in PUBLIC
        for name in import_module(module).__all__
    }
    assert len(listed) == len(set(listed))
    assert set(listed) == public


@pytest.mark.parametrize(("module", "name"), LISTED)
def test_what_is_on_a_page_has_an_example(module, name):
    text = inspect.getdoc(getattr(import_module(module), name))
    assert ">>> " in text.partition("Examples\n--------\n")[2]


CLASSES = [
    each
    for each in (getattr(import_module(module), name) for module, name in LISTED)
    if inspect.isclass(each)
]


@pytest.mark.parametrize("each", CLASSES, ids=lambda each: f"{each.__module__}.{each.__name__}")
def test_what_a_class_has_after_fitting_is_in_its_docstring(each):
    text = inspect.getdoc(each)
    other = re.search(r"As for `(\w+)`, which also describes the attributes", text)
    if other:
        text += inspect.getdoc(getattr(virtualvector, other[1]))
    fitted = {
        name
        for name, member in inspect.getmembers(each)
        if isinstance(member, property) and name.endswith("_") and not name.startswith("_")
    }
    assert {name for name in fitted if not re.search(rf"\b{name}\b", text)} == set()
