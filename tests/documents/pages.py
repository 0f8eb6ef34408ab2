"""Pages in Markdown, run as they are written.

Blocks of a page share names and a folder, as for someone who follows it from top to bottom:

- ``python``: run; with prompts, what comes has to be what is shown. What imports a package that
  nothing here depends on is left out where that is not installed.
- ``shell``, and lines of blocks without a language that begin with a command: `vvm` is run within
  this process, of others it is made sure that there is what they name.
- ``text`` behind such a block: what the last command has to print among other things; ``...``
  stands for anything.

Of blocks in any other language it is not known what they claim, so there are none.
"""

import doctest
import re
import shlex
import tomllib
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from markdown_it import MarkdownIt

ROOT = Path(__file__).parents[2]
NOTHING_TO_RUN = ("{toctree}", "{image}", "{include}")  # what only the site is made of
OPTIONAL = {"vowpalwabbit"}  # packages that are only compared with
PROGRAMS = ("vvm", "make", "pip", "python", "python3", ".venv/bin/python", "pytest", "vw", "dask")
# They take long; tests of their own run something smaller.
TESTED_ELSEWHERE = (
    "vvm reproduce",  # tests/cli/test_reproduce.py
    "vvm compare spambase",  # tests/cli/test_compare.py
    "vvm compare rows.csv --label outcome",  # the same, by all learners
    'vvm learn "rows/*.csv" --label outcome --model outcome.vvm --scheduler',  # test_workers.py
)


class Block(NamedTuple):
    """What stands in a frame of its own on a page."""

    language: str
    text: str
    line: int


def blocks_of(text: str) -> Iterator[Block]:
    """Yield the blocks of a page; those that are indented have no language.

    Examples
    --------
    >>> page = "Do:\\n\\n    vvm datasets\\n\\n```python\\nx = 1\\n```\\n"
    >>> [(block.language, block.text, block.line) for block in blocks_of(page)]
    [('', 'vvm datasets\\n', 3), ('python', 'x = 1\\n', 6)]
    """
    for token in MarkdownIt().parse(text):
        if token.type == "fence":
            yield Block(token.info.strip(), token.content, token.map[0] + 2)
        elif token.type == "code_block":
            yield Block("", token.content, token.map[0] + 1)


def commands_of(text: str) -> Iterator[str]:
    """Yield the commands on a page, one by one: lines of blocks, and what is code within text.

    Examples
    --------
    >>> list(commands_of("Try `vvm inspect m.vvm`:\\n\\n    vvm datasets  # all of them\\n"))
    ['vvm inspect m.vvm', 'vvm datasets  # all of them']
    """
    for token in MarkdownIt().parse(text):
        if token.type == "inline":
            yield from (each.content for each in token.children if each.type == "code_inline")
        elif token.type == "code_block" or token.info.strip() in ("", "shell", "sh"):
            yield from token.content.replace("\\\n", " ").splitlines()


class Reader:
    """Someone who does what a page says.

    Parameters
    ----------
    vvm : callable
        Runs the command with some arguments.
    names : dict
        What blocks of Python may use before they make anything.
    """

    def __init__(self, vvm, names):
        self._vvm, self._names = vvm, {"__name__": "page", **names}
        self._printed = None
        self.done = 0

    def follow(self, page, text):
        for block in blocks_of(text):
            where = f"{page}, line {block.line}"
            if block.language == "python":
                self._python(block, where)
            elif block.language in ("shell", ""):
                self._commands(block, where)
            elif block.language == "text":
                self._expect(block.text, where)
            elif not block.language.startswith(NOTHING_TO_RUN):
                raise AssertionError(f"{where}: found {block.language!r}, which nothing runs")

    def _python(self, block, where):
        imported = set(re.findall(r"^(?:>>> )?(?:from|import) (\w+)", block.text, re.M))
        if not all(map(find_spec, imported & OPTIONAL)):
            return
        self.done += 1
        if ">>>" not in block.text:
            exec(compile(block.text, where, "exec"), self._names)
            return
        test = doctest.DocTestParser().get_doctest(block.text, {}, where, where, block.line - 1)
        test.globs = self._names
        runner, report = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE), []
        runner.run(test, out=report.append, clear_globs=False)
        assert not runner.failures, "".join(report)

    def _commands(self, block, where):
        lines = block.text.replace("\\\n", " ").splitlines()
        for line in lines:
            words = shlex.split(line, comments=True) if _is_command(line) else []
            if words:
                self.done += 1
                self._run(words, line, where)
            elif block.language == "shell" and line.strip() and not line.startswith("#"):
                raise AssertionError(f"{where}: what is {line!r}?")

    def _run(self, words, line, where):
        first, *rest = words
        if line.startswith(TESTED_ELSEWHERE):
            return
        if first == "vvm":
            into = rest[rest.index(">") + 1] if ">" in rest else None
            arguments = rest[: rest.index(">")] if into else rest
            done = self._vvm(*arguments)
            code = re.search(r"# exit code (\d+)", line)
            assert done.code == (int(code[1]) if code else 0), f"{where}: {line}\n{done.err}"
            self._printed = done.err + done.out
            if into:
                Path(into).write_text(done.out)
        elif first == "make":
            assert set(rest) - _variables(rest) <= _targets(), f"{where}: {line}"
        elif first == "pip":
            assert _extras(line) <= set(_project()["optional-dependencies"]), f"{where}: {line}"
        elif first.endswith(("python", "python3")) or first == "pytest":
            paths = [word for word in rest if "/" in word]
            assert all((ROOT / path).exists() for path in paths), f"{where}: {line}"

    def _expect(self, shown, where):
        pattern = re.escape(" ".join(shown.split())).replace(re.escape("..."), ".*")
        found = re.search(pattern, " ".join(self._printed.split()))
        assert found, f"{where}: expected\n{shown}\nbut found\n{self._printed}"


def _is_command(line):
    return line.split(" ")[0] in PROGRAMS


def _targets():
    return set(re.search(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), re.M)[1].split())


def _variables(words):
    return {word for word in words if "=" in word}


def _project():
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def _extras(line):
    return {each for found in re.findall(r"\[([\w,]+)\]", line) for each in found.split(",")}


def pages() -> list[Path]:
    """Return all pages that people read, but for those that programs write."""
    beside = (ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md"))
    documents = sorted((ROOT / "docs").glob("*.md"))
    # That page is about a service, which tests/serve starts and follows.
    return [*beside, *(page for page in documents if page.name != "serving.md")]
