"""The API reference: everything public is on a page, says what it holds, and has an example."""

import inspect
import re
from importlib import import_module
from importlib.util import find_spec

import pytest

import virtualvector
from tests.documents.pages import ROOT, pages

REFERENCE = ROOT / "docs" / "api" / "index.rst"
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


# Of these modules some names are for users, and on a page; the rest is the package's own.
NAMED = {
    "virtualvector.escaping": {"from_cell"},
    "virtualvector.serve.client": {"Client", "ServiceError"},
}
WHOLE = [(module, name) for module, name in on_the_page() if module in PUBLIC]
LISTED = [(module, name) for module, name in on_the_page() if module in (*PUBLIC, *NAMED)]


def test_everything_public_is_on_a_page_once():
    listed = [getattr(import_module(module), name) for module, name in WHOLE]
    public = {
        getattr(import_module(module), name)
        for module in PUBLIC
        for name in import_module(module).__all__
    }
    assert len(listed) == len(set(listed))
    assert set(listed) == public


def test_of_other_modules_what_pages_tell_to_import_is_on_a_page():
    assert {(module, name) for module, names in NAMED.items() for name in names} <= set(LISTED)
    told = {
        (module, name)
        for page in (*pages(), ROOT / "docs" / "serving.md")
        for module, names in re.findall(
            r"^(?:>>> )?from (virtualvector[\w.]*) import ([\w, ]+)$", page.read_text(), re.M
        )
        for name in names.split(", ")
        if find_spec(NEEDS.get(module, "numpy"))
    }
    assert ("virtualvector.serve.client", "Client") in told
    known = {getattr(import_module(module), name) for module, name in LISTED}
    assert {each for each in told if getattr(import_module(each[0]), each[1]) not in known} == set()


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
