import pytest

pytest.importorskip("starlette", reason="what a service needs is not installed")
