import gc

import pytest


@pytest.fixture(autouse=True)
def no_search_for_garbage():
    """Let river's checks, which look for garbage all the time, not do so among all other tests."""
    gc.freeze()
    yield
    gc.unfreeze()
