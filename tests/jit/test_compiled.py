"""The cache of compiled code."""

import os
import pickle
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numba
import pytest

import virtualvector
from virtualvector.jit.compiled import compiled, dispatched, entry, stamp_of
from virtualvector.kernels.likelihood import log_probability
from virtualvector.posterior.step import learn_rows


@pytest.mark.parametrize("writeable", [True, False])
@pytest.mark.processes
def test_a_change_in_a_called_function_or_a_constant_is_noticed(tmp_path, writeable):
    """`log_probability` is cached; `cdf`, which it calls, lives in another file.

    `scale_rows` is cached; `_EDGE`, in its own file, decides how far one row moves it. Where
    nothing can be written beside the sources, the cache is in the user's own folder.
    """
    package = tmp_path / "virtualvector"
    shutil.copytree(
        Path(virtualvector.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__")
    )

    mine = tmp_path / "mine"
    if not writeable:  # a file where the folder would be stops even the superuser
        (package / "kernels" / "__pycache__").touch()

    def run():
        code = (
            "import numpy as np; from virtualvector.kernels.scaling import scale_rows; "
            "known = [np.array([20.0]), np.array([0.0]), np.array([1.0])]; out = np.zeros((1, 1)); "
            "scale_rows(np.array([[100.0]]), *known, False, out); "
            "from virtualvector.kernels.likelihood import log_probability as f; "
            "print(f(-1., .1), out[0, 0])"
        )
        environment = os.environ | {"PYTHONPATH": str(tmp_path), "XDG_CACHE_HOME": str(mine)}
        environment.pop("NUMBA_CACHE_DIR", None)
        done = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env=environment,
        )
        return tuple(map(float, done.stdout.split()))

    before, scaled_before = run()
    normal, scaling = package / "kernels" / "normal.py", package / "kernels" / "scaling.py"
    normal.write_text(normal.read_text().replace("0.5 * math.erfc", "0.25 * math.erfc"))
    scaling.write_text(scaling.read_text().replace("_EDGE = 4.0", "_EDGE = 2.0"))
    after, scaled_after = run()
    assert before == log_probability(-1.0, 0.1)
    assert after < before
    assert scaled_after != scaled_before
    assert any(mine.rglob("*.nbi")) != writeable


@pytest.mark.processes
def test_what_an_earlier_version_has_left_in_the_cache_is_not_even_read(tmp_path):
    """An index may name classes that have moved since; unpickling it would raise."""
    code = "from virtualvector.kernels.likelihood import log_probability as f; print(f(-1., .1))"
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}

    def run():
        return subprocess.check_output([sys.executable, "-c", code], text=True, env=environment)

    before = run()
    (index,) = tmp_path.rglob("*.nbi")
    gone = b"cvirtualvector.posterior.state\nGone\n."
    with pytest.raises(AttributeError):
        pickle.loads(gone)
    index.write_bytes(pickle.dumps(numba.__version__) + gone)
    assert run() == before
    assert gone not in index.read_bytes()


def test_compiled_code_cannot_allocate():
    # Compiling without numba's runtime fails for whatever needs memory: rows allocate nothing.
    assert learn_rows.entry.targetoptions["_nrt"] is False


class Left(NamedTuple):
    size: int


class Right(NamedTuple):
    size: int


@dispatched
def where(first, second):
    return 0


@where.register(Left)
def _(first, second):
    return 1


@where.register(Right)
def _(first, second):
    return 2


@compiled
def twice(first, second):
    return 10 * where(first, second) + where(second, first)


def test_the_first_argument_that_has_a_version_decides_which_it_is():
    left, right = Left(0), Right(0)
    assert [twice(1, 2), twice(1, left), twice(right, 1)] == [0, 11, 22]
    assert [twice(left, right), twice(right, left)] == [12, 21]


@compiled
def third(x):
    return x**3


@compiled
def both(x):
    return third(x) + max(third(0.5 * x), 2.0)


def test_parts_that_several_functions_call_are_all_there():
    assert both(2.0) == 10.0
    assert both(4.0) == 72.0
    assert third(3.0) == 27.0


def test_a_kernel_is_looked_up_once():
    types = int, int, int, bool
    assert entry(learn_rows, *types) is entry(learn_rows, *types)


SOURCES = Path(virtualvector.__file__).parent
KERNELS = [
    path.relative_to(SOURCES).as_posix()
    for path in sorted(SOURCES.rglob("*.py"))
    if re.search(r"^@(compiled|noalias|inlined|jitable)\b", path.read_text(), re.MULTILINE)
]


@pytest.fixture(scope="module")
def copied(tmp_path_factory):
    """Return the package in a folder where it may be changed."""
    package = tmp_path_factory.mktemp("sources") / "virtualvector"
    shutil.copytree(SOURCES, package, ignore=shutil.ignore_patterns("__pycache__"))
    return package


@pytest.mark.parametrize("file", KERNELS)
def test_a_change_in_any_file_with_kernels_is_noticed(copied, file):
    before = stamp_of(copied)
    with (copied / file).open("a") as source:
        source.write("\n# changed\n")
    assert stamp_of(copied) != before


def test_kernels_are_found_in_all_rooms_that_have_some():
    assert {file.split("/")[0] for file in KERNELS} >= {"kernels", "posterior"}


def without_privileges():
    """Return what to begin a command with so that permissions hold, even for the superuser."""
    if os.geteuid() != 0:
        return []
    if shutil.which("setpriv") is None:
        pytest.skip("there is no way to give up the superuser's privileges")
    return ["setpriv", "--bounding-set", "-dac_override,-dac_read_search"]


@pytest.mark.processes
def test_where_nothing_can_be_written_kernels_are_compiled_and_that_is_said_once(tmp_path):
    package = tmp_path / "virtualvector"
    shutil.copytree(SOURCES, package, ignore=shutil.ignore_patterns("__pycache__"))
    code = (
        "from virtualvector.kernels.likelihood import log_probability as f, clip_margin as g; "
        "print(f(-1., .1), g(0.5))"
    )
    environment = os.environ | {"PYTHONPATH": str(tmp_path), "HOME": str(tmp_path)}
    environment.pop("NUMBA_CACHE_DIR", None)
    environment.pop("XDG_CACHE_HOME", None)
    folders = [tmp_path, *(path for path in tmp_path.rglob("*") if path.is_dir())]

    def run(**more):
        return subprocess.run(
            [*without_privileges(), sys.executable, "-c", code],
            capture_output=True, text=True, env=environment | more,
        )  # fmt: skip

    for folder in folders:
        folder.chmod(0o555)
    try:
        done = run()
        kept = tmp_path.parent / f"{tmp_path.name}-cache"
        named = run(NUMBA_CACHE_DIR=str(kept))
    finally:
        for folder in folders:
            folder.chmod(0o755)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{log_probability(-1.0, 0.1)} 0.5\n"
    assert done.stderr.count("NoCache") == 1
    assert "NUMBA_CACHE_DIR" in done.stderr
    assert named.stdout == done.stdout
    assert named.stderr == ""
    assert any(kept.rglob("*.nbi"))
