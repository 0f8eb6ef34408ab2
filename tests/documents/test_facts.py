"""What pages say in numbers and words that the code has, too."""

import re

from tests.documents.pages import ROOT
from virtualvector.persistence.header import FORMAT


def rows_of(page):
    """Return the cells of all lines of tables on a page."""
    lines = (ROOT / "docs" / page).read_text().splitlines()
    return [
        [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        for line in lines
        if line.startswith("| ")
    ]


def test_the_format_of_model_files_is_the_one_that_is_written():
    rows = rows_of("files.md")
    told = next(row[1] for row in rows if row[0] == "`format`")
    assert told.startswith(f"{FORMAT} ")
    assert [int(row[0]) for row in rows if row[0].isdecimal()] == list(range(1, FORMAT + 1))
