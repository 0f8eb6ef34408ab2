"""Python's search for garbage is left as it was found."""

import ctypes
import gc
import os
import weakref
from pathlib import Path

import pytest

from virtualvector.jit.garbage import gc_paused, give_back_memory


@pytest.fixture(autouse=True)
def nothing_is_frozen():
    """As in other programs: tests are frozen, see `conftest.py`."""
    gc.unfreeze()
    yield
    gc.freeze()


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


def test_what_was_made_meanwhile_is_old_and_still_found_once_it_is_garbage():
    class Cycle:
        pass

    with gc_paused():
        cycle = Cycle()
        cycle.itself = cycle
        left = weakref.ref(cycle)
    assert gc.is_tracked(cycle)
    assert not any(each is cycle for each in gc.get_objects(generation=0))
    del cycle
    gc.collect()
    assert left() is None


def test_what_somebody_has_frozen_stays_frozen():
    gc.freeze()
    frozen = gc.get_freeze_count()
    with gc_paused():
        pass
    assert gc.get_freeze_count() == frozen > 0


@pytest.mark.skipif(
    not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="only glibc gives memory back when asked"
)
def test_free_memory_is_given_back_to_the_system():
    n_bytes = 2**20
    blocks = [b"x" * (n_bytes // 64 + k % 9) for k in range(64 * 200)]  # too small to be mapped
    with_all = _resident()
    del blocks[1:]
    give_back_memory()
    assert _resident() < with_all - 100 * n_bytes


def _resident():
    """The bytes that this process has in memory."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
