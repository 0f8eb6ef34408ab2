"""Commands that pages name have the options that stand beside them."""

import re
import shlex
import tomllib

import pytest
import typer

from tests.documents.pages import ROOT, commands_of, pages
from virtualvector.cli.main import app

PAGES = [*pages(), ROOT / "docs" / "serving.md", ROOT / "docs" / "reproduction" / "report.md"]
VVM = typer.main.get_command(app)
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def wrong(command):
    """Yield what a command names that is not there."""
    try:
        words = shlex.split(command, comments=True)
    except ValueError:  # quotes that do not end: no command
        return
    for first, program in enumerate(words):
        before = words[first - 1] if first else ""
        if program == "vvm" and not re.match("--|-t$", before):  # whose value it would be
            yield from _wrong_of_vvm(_until_it_ends(words[first + 1 :]))
        elif program.rpartition("/")[2] == "python":
            yield from _wrong_of_script(_until_it_ends(words[first + 1 :]))
        elif program == "pip" and words[first + 1 : first + 2] == ["install"]:
            yield from (each for each in words[first + 2 :] if not _can_be_installed(each))
        elif program == "pytest" and first == 0:
            paths = [word for word in words if word.startswith("tests/")]
            yield from (path for path in paths if not (ROOT / path).exists())


def _can_be_installed(word):
    """Tell whether pip would find something: this project, its extras, or what its tests need."""
    name, _, extras = word.rstrip("]").partition("[")
    if name in (".", PROJECT["name"]):
        return set(filter(None, extras.split(","))) <= set(PROJECT["optional-dependencies"])
    needed = " ".join(each for some in PROJECT["optional-dependencies"].values() for each in some)
    return word in re.findall(r"[\w-]+", needed)


def _until_it_ends(words):
    ends = [place for place, word in enumerate(words) if word in ("|", ">", "&", "&&", ";")]
    return words[: min(ends, default=len(words))]


def _options(words):
    return [word.partition("=")[0] for word in words if re.match("--[a-z]", word)]


def _wrong_of_vvm(words):
    verb, *rest = words or [""]
    if verb in VVM.commands:
        command = VVM.commands[verb]
    elif verb.startswith("-"):
        command, rest = VVM, words
    else:
        if verb not in ("", "VERB", "…"):
            yield f"vvm {verb}"
        return
    known = {name for each in command.params for name in (*each.opts, *each.secondary_opts)}
    yield from (f"vvm {verb} {name}" for name in _options(rest) if name not in {*known, "--help"})


def _wrong_of_script(words):
    script, *rest = words or [""]
    if not script.startswith(("benchmarks/", "examples/", ".ci/")):
        return
    path = ROOT / script
    if not path.exists():
        yield script
        return
    source = "".join(file.read_text() for file in (path.rglob("*.py") if path.is_dir() else [path]))
    yield from (f"{script} {name}" for name in _options(rest) if f'"{name}"' not in source)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_have_the_options_that_a_page_gives_them(page):
    assert [each for line in commands_of(page.read_text()) for each in wrong(line)] == []


@pytest.mark.parametrize(
    ("page", "found"),
    [
        ("`vvm learn rows.csv --lable x`", ["vvm learn --lable"]),
        ("`vvm jump`", ["vvm jump"]),
        ("`vvm --verzion`", ["vvm --verzion --verzion"]),
        ("    X=1 vvm predict new.csv --proba --fast > x\n", ["vvm predict --fast"]),
        ("`python benchmarks/nonsense.py --seconds 3`", ["benchmarks/nonsense.py"]),
        ("`python benchmarks/text.py --nonsense`", ["benchmarks/text.py --nonsense"]),
        ("| `pytest tests/nonsense.py -k x` |", ["tests/nonsense.py"]),
        ("`pip install '.[nonsense]' pandas .`", [".[nonsense]"]),
        ("`pip install nonsense`", ["nonsense"]),
        ("`vvm learn a --model m.vvm --append`, `vvm VERB --help`, `vvm learn --help`", []),
    ],
)
def test_an_option_that_is_not_there_is_found(page, found):
    assert [each for line in commands_of(page) for each in wrong(line)] == found
