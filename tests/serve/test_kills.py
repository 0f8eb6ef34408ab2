"""A few kills under load; `python benchmarks/faults services` goes on for as long as it is told."""

import random

import pytest

from faults.services import LEARN, Storm, table
from tests import forking
from tests.cli.conftest import COMMAND

pytestmark = pytest.mark.processes


def forked(folder, *arguments):
    return forking.start(COMMAND, *arguments, cwd=folder)


def begun(folder, vvm, numbers_only):
    (folder / "rows.csv").write_text(table(numbers_only))
    assert vvm(*LEARN).code == 0
    return folder


# Rows of numbers are answered together, by one kernel; others one by one.
@pytest.mark.parametrize("numbers_only", [True, False])
def test_nothing_is_lost_or_learned_twice_when_a_service_is_killed(tmp_path, vvm, numbers_only):
    folder = begun(tmp_path, vvm, numbers_only)
    ends = Storm(folder, forked, random.Random(1), numbers_only=numbers_only).run(n_kills=3)
    assert ends["killed"] == 3


def test_nor_when_its_database_is_killed_as_well(tmp_path, vvm, server):
    folder = begun(tmp_path, vvm, numbers_only=True)
    address = server.address("storm")
    storm = Storm(
        folder, forked, random.Random(4), address, server.kill_and_start, numbers_only=True
    )
    ends = storm.run(n_kills=3)
    assert ends["killed"] + ends["database killed"] == 3
    assert ends["database killed"] > 0
