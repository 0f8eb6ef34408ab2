"""What docs/tables.md says of values is what the code does."""

import re
from pathlib import Path

import numpy as np
import pytest

from virtualvector.learners.validation import as_learned
from virtualvector.learners.weights import Repetitions
from virtualvector.posterior import WHOLE
from virtualvector.streams import BadInput, open_rows
from virtualvector.values import MISSING, MISSING_NUMBERS, USUAL, category, kind_of, number_in

PAGE = (Path(__file__).parents[2] / "docs" / "tables.md").read_text()


def table(heading):
    """Return the rows of the first table below a heading, as lists of cells."""
    below = PAGE.partition(f"## {heading}\n")[2]
    lines = [line for line in below.splitlines() if line.startswith("|")]
    first = below.splitlines().index(lines[0])
    rows = []
    for line in below.splitlines()[first + 2 :]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split(" | ")])
    return rows


def quoted(cell):
    return re.findall(r"`([^`]*)`", cell)


KINDS = {"numbers": "number", "times": "time", "categories": "category"}


@pytest.mark.parametrize(
    ("cell", "kind"),
    [(cell, row[1]) for row in table("What a column holds") for cell in quoted(row[0])],
)
def test_a_column_of_such_cells_holds_that(tmp_path, cell, kind):
    path = tmp_path / "rows.csv"
    path.write_text("a,label\n" + f'"{cell}",x\n"{cell}",y\n' * 5)
    if kind == "doubt":
        with pytest.raises(BadInput, match="--categorical a") as raised:
            open_rows([str(path)])
        assert "--ignore a" in str(raised.value)
        assert ("--decimal" in str(raised.value)) == ("," in cell)
        return
    assert open_rows([str(path)]).columns[0].kind == KINDS[kind]
    values = [number_in(cell)] if kind == "numbers" else [cell]
    assert kind_of(values) == KINDS[kind]


SPELLINGS = table("One spelling of values")


def test_each_line_is_one_category_and_no_other():
    categories = [quoted(row[0])[0] for row in SPELLINGS]
    assert len(set(map(category, categories))) == len(categories)
    for row, expected in zip(SPELLINGS, categories, strict=True):
        assert category(expected) == expected
        assert {category(each) for each in quoted(row[1] if len(row) > 1 else "")} <= {expected}


def test_the_marks_of_missing_values_are_those_of_the_page():
    everywhere, numbers, labels = (row[1] for row in table("Missing values"))
    assert sorted(["", *filter(None, quoted(everywhere.replace("``", "")))]) == sorted(MISSING)
    assert quoted(numbers) == list(MISSING_NUMBERS)
    for text in MISSING:
        assert category(text.upper()) == category(f" {text.lower()} ") == ""
        assert (text in USUAL.of_labels) == (text not in quoted(labels))
    for text in MISSING_NUMBERS:
        assert category(text) == text
        assert text in USUAL.of_numbers


@pytest.mark.parametrize(
    ("classes", "labels"),
    [
        (
            [0, 1],
            [["0", "1"], ["0.0", "1.0"], [0, 1], [0.0, 1.0], [False, True], ["False", "TRUE"]],
        ),
        ([False, True], [["false", "TRUE"], ["0", "1"], [0, 1]]),
        (["no", "yes"], [["no", "yes"], [" no", "yes"]]),
        (["false", "true"], [[False, True], ["False", "True"], [0, 1]]),
    ],
)
def test_labels_mean_what_the_page_says(classes, labels):
    known = np.array(classes)
    for each in labels:
        meant = as_learned(np.array(each), known)
        assert meant.tolist() == classes
        assert [type(label) for label in meant.tolist()] == [type(label) for label in classes]


VISITS = {"left out": [], "learned once": [1.0], "learned twice": [1.0, 1.0]}


@pytest.mark.parametrize(
    ("cell", "message"),
    [(cell, row[1]) for row in table("Weights") for cell in quoted(row[0].replace("``", "` `"))],
)
def test_a_row_of_such_a_weight_is_learned_so(tmp_path, cell, message):
    path = tmp_path / "rows.csv"
    path.write_text("a,w,label\n1,1,x\n2,1,y\n" + f"3,{cell.strip()},x\n")
    reader = open_rows([str(path)], weight="w")
    if message == "a bad row":
        with pytest.raises(BadInput, match="line 4, column 'w'"):
            list(reader)
        return
    (batch,) = reader
    (some,) = Repetitions(3, batch.weights).visits()
    found = np.ones(len(some.which)) if some.powers is WHOLE else some.powers
    part = re.search(r"to the power (\S+)", message)
    expected = next((each for words, each in VISITS.items() if message.startswith(words)), [])
    expected = expected + ([float(part[1])] if part else [])
    assert found[some.which == 2].tolist() == expected


def test_every_option_of_the_page_is_one_of_the_command():
    from virtualvector.cli import options

    known = (Path(options.__file__).read_text()) + (
        Path(options.__file__).with_name("learn.py").read_text()
    )
    named = set(re.findall(r"--[a-z]+(?:-[a-z]+)*", PAGE))
    spelled = {option.removeprefix("--").replace("-", "_") for option in named}
    assert {name for name in spelled if name not in known and f"--{name}" not in known} == set()
