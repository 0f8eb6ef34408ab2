"""Whatever a file with a right checksum says: it is refused in one line, or holds a model.

`python benchmarks/faults models` goes on with more cases, for as long as one likes.
"""

import random
import warnings

import numpy as np
import pytest

from faults.examples import examples
from faults.trying import case, ended


@pytest.fixture(scope="module")
def contents():
    return examples()


@pytest.mark.parametrize("seed", range(4))
def test_it_is_refused_or_as_good_as_any_model(contents, seed, tmp_path):
    path, ends = tmp_path / "model.vvm", []
    with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
        for number in range(60):
            name, forgery, draw = case(contents, seed, number)
            path.write_bytes(forgery)
            end, wrong = ended(path, draw)
            assert not wrong, (seed, number, name, wrong)
            ends.append(end)
    assert min(ends.count("refused"), ends.count("accepted")) >= 5


def test_a_case_is_the_same_whenever_it_is_made(contents):
    for number in range(20):
        assert case(contents, 7, number)[:2] == case(contents, 7, number)[:2]


def test_models_that_were_not_forged_are_accepted(contents, tmp_path):
    for each in contents.values():
        (tmp_path / "model.vvm").write_bytes(each)
        with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
            assert ended(tmp_path / "model.vvm", random.Random(0)) == ("accepted", "")
