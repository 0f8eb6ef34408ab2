"""Python's search for garbage is left as it was found."""

import gc

import pytest

from virtualvector.jit.garbage import gc_paused


@pytest.mark.parametrize("enabled", [True, False])
def test_what_was_switched_off_is_switched_on_again_if_it_was_on(enabled):
    before = gc.isenabled()
    try:
        (gc.enable if enabled else gc.disable)()
        with gc_paused():
            assert not gc.isenabled()
        assert gc.isenabled() == enabled
        with pytest.raises(ImportError), gc_paused():
            raise ImportError
        assert gc.isenabled() == enabled
    finally:
        (gc.enable if before else gc.disable)()
