"""What pages say in numbers and words that the code has, too."""

import re

import pytest

from tests.documents.pages import ROOT
from virtualvector.cli.reproduce import ALL, NAMES
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


def test_a_word_of_the_glossary_is_there_once_and_lives_in_files_that_exist():
    rows = [row for row in rows_of("glossary.md")[1:] if not row[0].startswith("**")]
    words = [word.casefold() for row in rows for word in row[0].split(", ")]
    assert sorted(words) == sorted(set(words))
    assert {"log-loss", "brier score", "roc-auc", "average precision", "recall"} <= set(words)
    files = {file for row in rows for file in re.findall(r"`([^`]+)`", row[3])}
    assert {f for f in files if not (ROOT / "src" / "virtualvector" / f).exists()} == set()


def test_the_experiments_that_can_be_reproduced_are_told():
    told = [name for row in rows_of("reproducing.md") for name in re.findall(r"`(\w+)`", row[0])]
    assert told == [*NAMES, ALL]


@pytest.mark.parametrize("cell", ["$450", '"1,200.50"', "03/04/2021"])
def test_what_first_steps_says_is_not_guessed_at_is_refused(vvm, tmp_path, cell):
    assert cell.strip('"') in (ROOT / "docs" / "first_steps.md").read_text()
    rows = "".join(f"{cell},{'fine' if k % 2 else 'fraud'}\n" for k in range(20))
    (tmp_path / "rows.csv").write_text(f"amount,outcome\n{rows}")
    done = vvm("learn", "rows.csv", "--quiet")
    assert done.code == 2
    assert "column 'amount'" in done.err
    assert "--ignore amount" in done.err
