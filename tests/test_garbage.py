"""Python's search for garbage is left as it was found."""

import gc

import pytest

from virtualvector.garbage import garbage_left_alone


@pytest.mark.parametrize("enabled", [True, False])
def test_what_was_switched_off_is_switched_on_again_if_it_was_on(enabled):
    before = gc.isenabled()
    try:
        (gc.enable if enabled else gc.disable)()
        with garbage_left_alone():
            assert not gc.isenabled()
        assert gc.isenabled() == enabled
        with pytest.raises(ImportError), garbage_left_alone():
            raise ImportError
        assert gc.isenabled() == enabled
    finally:
        (gc.enable if before else gc.disable)()
