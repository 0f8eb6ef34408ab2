"""Names of classes, columns and files do nothing to a screen, a spreadsheet or a picture."""

import csv
import json
from xml.etree import ElementTree

import numpy as np
import pytest

from tests.cli.conftest import on_terminal
from virtualvector.escaping import from_cell

ODD = "\x1b]0;title\x07\x1b[31mred\u202e"
LINK = '=HYPERLINK("http://example.org?"&A1,"ok")'
CLASSES = ("-1", "+a", "-", LINK, "@x", ODD, "[red]x[/]", "$\\frac$", "'=1", "größer", "[/]")


def is_plain(text):
    return all(line.isprintable() for line in text.split("\n"))


@pytest.fixture
def odd(tmp_path):
    """Write rows of odd classes, with an odd column."""
    path = tmp_path / "odd.csv"
    rng = np.random.default_rng(0)
    with path.open("w", newline="", encoding="utf-8") as file:
        lines = csv.writer(file)
        lines.writerow(["a", f"b{ODD}", "[bold]town[/]", "label"])
        for row in range(330):
            place = row % len(CLASSES)
            a, b = rng.normal(place, 1.0), rng.normal(-place, 1.0)
            lines.writerow([a, b, ("[red]", "[/]", ODD)[row % 3], CLASSES[place]])
    return path


@pytest.fixture
def model(odd, vvm):
    done = vvm("learn", odd, "--learner", "adf", "--model", "odd.vvm", "-q")
    assert done.code == 0, done.err
    return odd.with_name("odd.vvm")


def test_predictions_are_no_formulas_and_can_be_read_back(vvm, odd, model):
    done = vvm("predict", odd, "--model", model, "--proba")
    assert done.code == 0, done.err
    header, *rows = csv.reader(done.out.splitlines(keepends=True))
    assert header == ["predicted", *(f"p({name})" for name in sorted(CLASSES))]
    predicted = [row[0] for row in rows]
    assert len(predicted) == 330
    assert {"-1", "'+a", "-", "'" + LINK, "'@x", "''=1", ODD} <= set(predicted)
    assert {from_cell(cell) for cell in predicted} <= set(CLASSES)
    for cell in (cell for row in [header, *rows] for cell in row):
        if cell[0] in "=+-@\t\r" and len(cell) > 1:
            float(cell)


def test_ordinary_classes_are_predicted_without_quotes(vvm, rows):
    vvm("learn", rows(), "--learner", "adf", "--model", "m.vvm", "-q")
    done = vvm("predict", rows(), "--model", "m.vvm", "--proba")
    assert done.out.startswith("predicted,p(bad),p(good)\n")
    assert '"' not in done.out


def test_a_class_with_a_semicolon_is_in_quotes(vvm, tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("a,label\n" + "1,x;=1+1\n-1,y\n" * 50)
    vvm("learn", path, "--learner", "adf", "--model", "m.vvm", "-q")
    done = vvm("predict", path, "--model", "m.vvm")
    assert set(done.out.splitlines()) == {'"predicted"', '"x;=1+1"', '"y"'}


@pytest.mark.parametrize("verb", ["inspect", "evaluate"])
def test_what_is_told_of_a_model_does_nothing_to_a_screen(vvm, odd, model, verb):
    asked = (model,) if verb == "inspect" else (odd, "--model", model)
    done = vvm(verb, *asked)
    assert done.code == 0, done.err
    assert is_plain(done.out)
    assert is_plain(done.err)
    assert "[red]x[/]" in done.out  # as it is
    assert "\\x1b]0;title" in done.out


def test_a_name_with_a_comma_is_listed_in_quotes(vvm, tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text('"a, b",c,label\n' + '1,2,"x, y"\n2,1,z\n' * 5)
    assert vvm("learn", path, "--learner", "adf", "--model", "m.vvm", "-q").code == 0
    lines = vvm("inspect", "m.vvm").out.splitlines()
    assert lines[4].split(maxsplit=1) == ["classes", "'x, y', z"]
    assert lines[6].split(maxsplit=1) == ["columns", "2: 'a, b', c"]


def test_learning_shows_names_as_they_are(vvm, odd):
    done = vvm("learn", odd, "--learner", "adf")
    assert done.code == 0, done.err
    assert is_plain(done.out)
    assert is_plain(done.err)
    assert "[red]x[/]" in done.out


@pytest.mark.parametrize("name", [f"ro{ODD}ws.csv", "ro\udcffws.csv", "[red]$\\frac$.csv"])
def test_what_is_wrong_with_a_file_is_said_in_one_plain_line(vvm, tmp_path, name):
    path = tmp_path / name
    path.write_text(f"a{ODD},label\ninf,x\n")
    for source in (path, tmp_path / f"no{name}"):
        done = vvm("learn", source, "-q")
        assert done.code == 2
        assert done.err.endswith("\n")
        assert is_plain(done.err)
        assert len(done.err.splitlines()) == 1


def test_strange_classes_are_not_all_listed(vvm, tmp_path):
    path = tmp_path / "rows.csv"
    names = [f"{'n' * 900}{k}" for k in range(40)]
    path.write_text("a,label\n" + "".join(f"{k},{name}\n" for k, name in enumerate(names)) * 4)
    vvm("learn", path, "--learner", "adf", "--model", "m.vvm", "-q")
    other = tmp_path / "other.csv"
    other.write_text("a,label\n1,strange\n")
    done = vvm("evaluate", other, "--model", "m.vvm")
    assert done.code == 2
    assert "found the class 'strange'" in done.err
    assert len(done.err) < 3000


def test_wrong_options_are_said_in_plain_text(vvm):
    done = vvm("learn", "x.csv", "--format", ODD)
    assert done.code == 2
    assert is_plain(done.err)


def test_predictions_on_a_terminal_do_nothing_to_it(odd, model, tmp_path):
    seen = on_terminal("predict", odd, "--model", model, "--proba", cwd=tmp_path, COLUMNS="200")
    assert b"\\x1b]0;title" in seen
    assert b"\x1b]0;" not in seen
    assert b"\x07" not in seen
    assert b"\xe2\x80\xae" not in seen


def test_a_run_on_a_terminal_does_nothing_else_to_it(odd, model, tmp_path):
    for asked in (("learn", odd, "--learner", "adf"), ("inspect", model)):
        seen = on_terminal(*asked, cwd=tmp_path, COLUMNS="200")
        assert b"\x1b]0;" not in seen
        assert b"\xe2\x80\xae" not in seen
        assert b"[red]x[/]" in seen


@pytest.mark.parametrize("name", ["$\\frac$ $x_", "ro\udcffws", "a\x1b\x01b", "größer 字"])
def test_a_picture_has_the_name_of_a_file_as_it_is(vvm, tmp_path, name):
    path = tmp_path / f"{name}.csv"
    rng = np.random.default_rng(0)
    lines = [f"{a:.3f},{'$y$' if a > 0 else '$_{'}" for a in rng.normal(size=60)]
    path.write_text("a,label\n" + "\n".join(lines) + "\n")
    done = vvm("compare", path, "--out", tmp_path / "out", "--learners", "ADF,PA")
    assert done.code == 0, done.err
    assert is_plain(done.out)
    assert "Warning" not in done.err
    ElementTree.parse(tmp_path / "out" / "errors.svg")
    about = json.loads((tmp_path / "out" / "table.json").read_text("utf-8"))
    assert about["source"] == str(path)
