"""A few cases of each attack; `python benchmarks/faults` runs them for an hour."""

import numpy as np
import pytest

from faults import runs

pytestmark = pytest.mark.processes


@pytest.mark.parametrize("case", range(3))
def test_a_disturbed_run_leaves_the_bytes_of_an_undisturbed_one(tmp_path, case):
    runs._import_everything()
    assert list(runs._case(tmp_path, np.random.default_rng([11, case])))
