"""What docs/river.md shows is what happens."""

import doctest
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "river.md"


def test_the_page_on_river_runs_as_it_is_written():
    failed, attempted = doctest.testfile(
        str(PAGE), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE
    )
    assert attempted > 10
    assert failed == 0
