"""A few kills under load; `python benchmarks/faults services` goes on for as long as it is told."""

import random

import pytest

from faults.services import Storm, examples
from tests import forking
from tests.cli.conftest import COMMAND

pytestmark = pytest.mark.processes


def forked(folder, *arguments):
    return forking.start(COMMAND, *arguments, cwd=folder)


@pytest.fixture
def folder(tmp_path, vvm):
    lines = [",".join(map(str, (*row.values(), label))) for row, label in examples(80, 0)]
    (tmp_path / "rows.csv").write_text("\n".join(["x0,x1,colour,outcome", *lines]) + "\n")
    asked = ("learn", "rows.csv", "--model", "m.vvm", "--learner", "vvm", "-q")
    assert vvm(*asked).code == 0
    return tmp_path


def test_nothing_is_lost_or_learned_twice_when_a_service_is_killed(folder):
    ends = Storm(folder, forked, random.Random(1)).run(n_kills=3)
    assert ends["killed"] == 3


def test_nor_when_its_database_is_killed_as_well(folder, server):
    def kill():
        server.kill()
        server.start()

    storm = Storm(folder, forked, random.Random(4), server.address("storm"), kill)
    ends = storm.run(n_kills=3)
    assert ends["killed"] + ends["database killed"] == 3
    assert ends["database killed"] > 0
