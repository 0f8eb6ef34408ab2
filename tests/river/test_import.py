"""River is there only for those who ask for it."""

import sys
from importlib import import_module

import pytest


def test_without_river_one_line_says_what_to_install(monkeypatch):
    for name in [name for name in sys.modules if name.startswith("virtualvector.river")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "river", None)
    with pytest.raises(ModuleNotFoundError, match=r"needs river, .*: pip install river$") as caught:
        import_module("virtualvector.river")
    assert caught.value.name == "river"
    assert caught.value.__suppress_context__
