import pytest

pytest.importorskip("river", reason="river is not installed")
