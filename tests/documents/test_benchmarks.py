"""Benchmarks that pages name run by the pages' own commands, on less, and print what pages show."""

import re
import shlex
import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import pytest

from faults.postgres import programs
from faults.services import _free_port
from tests import forking
from tests.documents.pages import ROOT, commands_of, pages

pytestmark = pytest.mark.processes

PAGES = [*pages(), ROOT / "docs" / "serving.md"]
RUN = """
import runpy, sys
sys.argv = sys.argv[1:]
sys.path.insert(0, sys.argv[0].rpartition("/")[0])
runpy.run_path(sys.argv[0], run_name="__main__")
"""


class Small(NamedTuple):
    """What makes a command small, and words of its page that it prints."""

    options: str
    words: str  # with semicolons
    needs: bool = True
    reason: str = ""


WRK = bool(shutil.which("wrk")), "needs Debian's package wrk"
APT = bool(shutil.which("apt-cache")), "needs the list of Debian's packages"
VOWPAL = bool(find_spec("vowpalwabbit")), "needs the package vowpalwabbit"
SERVER = programs() is not None, "needs Debian's package postgresql"
ONLINE = "LogReg; ARF; SRP; LevBag; AMF; kNN; HAT; AROW; SOGP; AutoVVM"
# By how commands begin; of several the longest.
SMALL = {
    "bench.py": Small(
        "--smallest --only stream --only rows --only points --only bytes --only batches",
        "limit; VVM 30, merging, one row; AROW; SGD; river; AutoVVM",
    ),
    "bench.py --quick --only committee": Small("--smallest", "AutoVVM; held"),
    "bench.py --quick --only wide": Small("--smallest", "Vowpal Wabbit; river's; rank 20", *VOWPAL),
    "classes.py": Small("--rows 40", "iris; wine; digits; thyroid; linear, s² = 1"),
    "classes.py many": Small("--rows 120", "clouds; digits; log-loss; calibration error"),
    "command.py": Small("--rows 1000 --starts 1", "reading and parsing; --learner adf"),
    "compare.py OLD.json NEW.json": Small("", "AutoVVM"),
    "faults services": Small("--kills 1", "labels acknowledged; learned twice"),
    "faults services --kills 30 --database postgresql": Small(
        "--kills 1", "labels acknowledged; learned twice", *SERVER
    ),
    "fingerprint.py": Small("--only classes", "settings"),
    "fourier_ranks.py": Small("--rows 40", "500, all; curved; thirty clouds; digits"),
    "fourier_ranks.py late": Small("--rows 40 --streams iris", "without; with"),
    "fourier_ranks.py rows": Small("--rows 40", "by itself; in a table"),
    "label_noise.py means": Small("--share 0.01 --jobs 1", "ADF; EP; ε"),
    "label_noise.py rows": Small("--share 0.01 --jobs 1", "log-loss; ADF; EP; ε = 0.01; s²"),
    "label_noise.py streams": Small("--share 0.01 --jobs 1", "streams of 300 rows; above ADF"),
    "label_noise_beside.py": Small("--streams 1", "margin noise; three classes; above ADF"),
    "learn_on_workers.py": Small("--rows 20000 --columns 3", "vvm learn; --workers 2; rows/s"),
    "online.py": Small("--streams iris --rows 40", ONLINE),
    "online.py --models AutoVVM": Small("--streams iris --rows 40", "AutoVVM; iris"),
    "online.py --models ARF,AutoVVM": Small("--streams iris --rows 40", "ARF; AutoVVM; iris"),
    "overhead.py": Small("--rows 1100", "experts"),
    "rare.py": Small("--draws 1 --rows 2000", "AutoVVM; LogReg; precision; log-loss; clusters"),
    "refitting.py": Small("--streams iris --rows 40", "AutoVVM; HistGB; RF(300); LogRegCV; SVC"),
    "scaling.py": Small("--weights 3 --buffers 0 --columns 3", "ADF; VVM(30); experts awake; µs"),
    "serving.py": Small(
        "--seconds 1 --rounds 1 --learner adf --port PORT", "constant's rate; p99", *WRK
    ),
    "serving.py --soak": Small("--soak 10 --learner adf --port PORT", "requests; MB", *WRK),
    "sharding.py": Small("--data thyroid --orders 1", "thyroid, 161 × 5; in rounds; pooled once"),
    "text.py": Small(
        "--problems libraries --rows 100",
        "river's naive Bayes",
        APT[0] and VOWPAL[0],
        f"{APT[1]}, or {VOWPAL[1]}",
    ),
    "text.py --problems": Small("--problems role --rows 100", "documents; classes", *APT),
    "threads.py": Small('--rounds 1 --only "noisy, 57"', "at most; with waking; by the clock"),
    "wide_rows.py": Small("--seeds 1 --rows 10", "columns; sketch"),
    "workers.py": Small(
        "--rows 20000 --columns 3 --rounds 1 --learners vvm,committee",
        "rows/s; one process; workers; MB",
    ),
}


# These take most of all the time: `make test-benchmarks`.
LONG = {"command.py", "learn_on_workers.py", "serving.py", "serving.py --soak", "threads.py"}
LONG |= {"workers.py", "faults services", "faults services --kills 30 --database postgresql"}
LONG |= {"bench.py", "bench.py --quick --only committee", "refitting.py", "scaling.py"}


# These go on for as long as one likes; a few cases of each are tests of their own.
ATTACKS = {
    "faults models": "tests/persistence/test_any_forgery.py",
    "faults inputs": "tests/benchmarks/test_inputs.py",
    "faults runs": "tests/benchmarks/test_faults.py",
}


def in_the_place_of(words, more):
    """Return the words of a command with other options, and these behind them.

    Examples
    --------
    >>> in_the_place_of(["a", "--rows", "10", "--only", "b", "c"], ["--rows", "2"])
    ['a', '--only', 'b', 'c', '--rows', '2']
    """
    kept, is_kept = [], True
    for word in words:
        if word.startswith("--"):
            is_kept = word not in more
        if is_kept:
            kept.append(word)
    return [*kept, *more]


def benchmarks():
    """Return each command once that a page runs, made small, beside the pages that have it."""
    found = {}
    for page in PAGES:
        for line in commands_of(page.read_text()):
            command = re.match(r"(?:\.venv/bin/)?python benchmarks/(.+)", line)
            if command and not command[1].startswith(tuple(ATTACKS)):
                begin = max((each for each in SMALL if command[1].startswith(each)), key=len)
                words = shlex.split(command[1], comments=True)
                small = in_the_place_of(words, shlex.split(SMALL[begin].options))
                found.setdefault((begin, *small), []).append(page)
    return [
        pytest.param(
            SMALL[begin], small, where, id=shlex.join(small),
            marks=[pytest.mark.long] if begin in LONG else [],
        )
        for (begin, *small), where in found.items()
    ]  # fmt: skip


@pytest.mark.parametrize(("how", "words", "where"), benchmarks())
def test_a_benchmark_prints_what_its_page_shows(tmp_path, how, words, where):
    if not how.needs:
        pytest.skip(how.reason)
    for name in ("OLD.json", "NEW.json"):  # two runs to compare
        shutil.copy(ROOT / "docs" / "speed" / "speed.json", tmp_path / name)
    script, *options = (str(_free_port()) if word == "PORT" else word for word in words)
    done = forking.run(RUN, ROOT / "benchmarks" / script, *options, cwd=tmp_path)
    # Aims are for the whole, and some scripts leave with 1 where one is missed.
    assert done.code == 0 or (done.code == 1 and "MISSED" in done.out), done.err
    assert "Traceback" not in done.err
    printed, *told = (" ".join(text.split()) for text in (done.out, *map(Path.read_text, where)))
    for word in how.words.split("; "):
        assert word in printed
        assert any(word in page for page in told)


def test_attacks_have_tests_of_their_own():
    for attack, test in ATTACKS.items():
        assert attack.split()[0] in (ROOT / test).read_text()


def test_nothing_is_made_small_that_no_page_runs():
    scripts = {words[0] for _, words, _ in (each.values for each in benchmarks())}
    assert {begin.split()[0] for begin in SMALL} == scripts


def test_a_benchmark_with_options_is_a_whole_command():
    loose = re.compile(r"(benchmarks/\S+|\w+\.py) \S")
    for page in PAGES:
        assert [line for line in commands_of(page.read_text()) if loose.match(line)] == []
