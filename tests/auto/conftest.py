import pytest

from virtualvector.auto import workplace


@pytest.fixture(autouse=True)
def threads_always_pay(monkeypatch):
    """Examples are so small that nobody would be woken for them."""
    monkeypatch.setattr(workplace, "WAKING", -1.0)
