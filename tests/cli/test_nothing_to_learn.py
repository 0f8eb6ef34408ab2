"""No rows, none that is good, or one class only: said, and an exit code that a script can see."""

import json

import pytest

from tests.cli.conftest import lines_of

NOTHING = 3
FAST = ("--learner", "adf")
HEAD = next(lines_of(1))
BAD = HEAD + "\n1,2\n1,2,3\n1\n"


@pytest.fixture
def files(tmp_path):
    """Write files in which there is nothing."""
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "head.csv").write_text(HEAD + "\n")
    (tmp_path / "bad.csv").write_text(BAD)
    (tmp_path / "empty.jsonl").write_text("\n\n")
    return tmp_path


@pytest.mark.parametrize("name", ["empty.csv", "head.csv", "empty.jsonl", "bad.csv"])
@pytest.mark.parametrize("verb", ["learn", "append", "predict", "evaluate", "compare"])
def test_nothing_is_said_and_seen_by_scripts(vvm, files, model, verb, name):
    before = (files / model).read_bytes()
    skip = ("--on-error", "skip") if verb != "compare" else ()
    arguments = {
        "learn": ("learn", name, "--model", "new.vvm", *skip, *FAST, "-q"),
        "append": ("learn", name, "--model", model, "--append", *skip, "-q"),
    }.get(verb, (verb, name, *skip, *(() if verb == "compare" else ("--model", model))))
    done = vvm(*arguments)
    if (verb, name) == ("compare", "bad.csv"):
        assert done.code == 2  # compare leaves no rows out
        return
    assert done.code == NOTHING
    words = "row was left out" if name == "bad.csv" else "found no"
    assert words in done.err.splitlines()[-1]
    if name == "bad.csv":
        assert "bad.csv, line 2: found 2 fields; expected 5" in done.err
    assert (files / model).read_bytes() == before
    assert not (files / "new.vvm").exists()
    # Nothing is left that would stop the next run.
    assert list(files.glob("*.run")) == []
    assert vvm("learn", "rows.csv", "--model", model, "--append", "-q").code == 0


def test_predictions_of_nothing_are_a_heading(vvm, files, model):
    done = vvm("predict", "head.csv", "--model", model, "--output", "said.csv")
    assert done == (NOTHING, "", "vvm: head.csv: found no rows; nothing was predicted.\n")
    assert (files / "said.csv").read_text() == "predicted\n"


@pytest.mark.parametrize("declared", [(), ("--classes", "x,z")])
def test_one_class_is_said_and_all_is_written(vvm, tmp_path, declared):
    (tmp_path / "one.csv").write_text("a,y\n1,x\n2,x\n3,x\n")
    options = ("--model", "m.vvm", "--report", "m.html", "--json", "m.json", "-q", *declared)
    done = vvm("learn", "one.csv", *options)
    assert (done.code, done.out) == (NOTHING, "")
    assert done.err == (
        "vvm: Found only the class 'x' in 3 rows: there was nothing to tell apart; expected two "
        "classes or more.\n"
    )
    assert json.loads((tmp_path / "m.json").read_text())["rows"] == 3
    assert (tmp_path / "m.html").exists()
    assert vvm("inspect", "m.vvm").code == 0
    # More rows of one class are nothing new to a model that knows two.
    (tmp_path / "two.csv").write_text("a,y\n1,x\n2,z\n3,x\n")
    more = ("--model", "m.vvm", "--append", "-q")
    assert vvm("learn", "two.csv", *more, *(() if declared else ("--new-classes",))).code == 0
    assert vvm("learn", "one.csv", *more).code == 0
