"""Notes of vvm learn that it cannot have written: told in one line by every verb."""

import json

import pytest
from typer.testing import CliRunner

from virtualvector import ADFClassifier, persistence
from virtualvector.cli.main import app
from virtualvector.persistence.document import from_bytes, to_bytes

LINES = "a,b,y\n" + "1,red,yes\n2,blue,no\n3,red,yes\n" * 20


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    folder = tmp_path_factory.mktemp("learned")
    (folder / "rows.csv").write_text(LINES)
    arguments = ["learn", f"{folder}/rows.csv", "--model", f"{folder}/m.vvm", "-q"]
    assert CliRunner().invoke(app, [*arguments, "--learner", "adf"]).exit_code == 0
    return (folder / "m.vvm").read_bytes()


@pytest.fixture
def verbs(learned, tmp_path):
    """Run every verb that reads a model on one whose notes were changed."""
    model, rows = tmp_path / "m.vvm", tmp_path / "rows.csv"
    rows.write_text(LINES)

    def run(change):
        document, arrays = from_bytes(learned)
        change(document["about"])
        model.write_bytes(to_bytes(document, arrays))
        runner = CliRunner()
        for arguments in (
            ["inspect", model],
            ["predict", rows, "--model", model],
            ["evaluate", rows, "--model", model],
            ["learn", rows, "--model", model, "--resume", "-q"],
        ):
            yield runner.invoke(app, [str(each) for each in arguments])

    return run


@pytest.mark.parametrize(
    ("name", "to"),
    [
        ("label", 7),
        ("label", ["y"]),
        ("columns", 7),
        ("columns", []),
        ("columns", [["a", False]]),
        ("columns", [["a", True], ["b", True]]),
        ("columns", [["a"], ["b"]]),
        ("columns", "ab"),
        ("passes", "1"),
        ("passes", -1),
        ("rows", 1.5),
        ("rows", None),
        ("strange", 2**60),
        ("strange", True),
        ("tally", None),
        ("tally", {}),
        ("tally", [1]),
    ],
    ids=str,
)
def test_a_wrong_field_is_told(verbs, name, to):
    for done in verbs(lambda about: about.update({name: to})):
        assert done.exit_code == 2
        assert done.stderr.startswith("vvm: m.vvm: notes: found ")
        assert done.stderr.count("\n") == 1


TALLY = [
    ("classes", ["yes", "no"]),
    ("classes", [1, 2]),
    ("classes", ["maybe", "yes"]),
    ("now", [60, 61, 1.0, 1.0]),
    ("now", [60, 1, -1.0, 1.0]),
    ("now", [60, 1, 1.0]),
    ("now", [61, 1, 1.0, 1.0]),
    ("now", [2**52, 1, 1.0, 1.0]),
    ("now", "abcd"),
    ("now", [60.0, 1, 1.0, 1.0]),
    ("now", [60, 1, None, 1.0]),
    ("past", [[16, 1, 1.0, 1.0]]),
    ("past", [[1, 1, 1.0, 1.0]] * 10**5),
    ("past", 3),
    ("every", 0),
    ("every", 17),
    ("every", "16"),
    ("every", 2**80),
    ("of_second", [[0.0]]),
    ("of_second", [[-1.0] * 15] * 3),
    ("of_likeliest", [[0.0] * 15] * 3),
    ("of_likeliest", [["x"] * 15] * 3),
    ("of_likeliest", [[4.0] * 15, [5.0] * 15, [4.0] * 15]),
    ("of_likeliest", [[4.0] * 15, [1.0] * 15, [5.0] * 15]),
]


@pytest.mark.parametrize(("name", "to"), TALLY, ids=lambda each: str(each)[:40])
def test_a_tally_that_does_not_add_up_is_told(verbs, name, to):
    done = next(verbs(lambda about: about["tally"].update({name: to})))
    assert done.exit_code == 2
    assert done.stderr.startswith("vvm: m.vvm: notes: found a tally ")


def test_more_fields_are_nobodys_business(verbs):
    for done in verbs(lambda about: about.update(seed=7, source={"names": ["rows.csv"]})):
        assert done.exit_code == 0


@pytest.mark.parametrize(
    "about", [None, {}, {"label": 5}, {"columns": 3}, {"tally": "all"}, {"tally": [], "rows": {}}]
)
def test_notes_of_others_are_let_be(about, tmp_path):
    path = tmp_path / "m.vvm"
    persistence.save(ADFClassifier().fit([[0.0, 1.0], [1.0, 0.0]], ["a", "b"]), path, about)
    done = CliRunner().invoke(app, ["inspect", str(path)])
    assert done.exit_code == 0
    (tmp_path / "rows.csv").write_text("x,z\n1,2\n2,1\n")
    arguments = ["predict", str(tmp_path / "rows.csv"), "--model", str(path)]
    assert CliRunner().invoke(app, arguments).exit_code == 0


def test_inspection_tells_the_processor(learned, tmp_path):
    path = tmp_path / "m.vvm"
    document, arrays = from_bytes(learned)
    path.write_bytes(to_bytes(document | {"processor": "riscv64 sifive-u74"}, arrays))
    assert "riscv64 sifive-u74" in CliRunner().invoke(app, ["inspect", str(path)]).stdout
    json.dumps(persistence.read_header(path))
