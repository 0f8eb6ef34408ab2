"""The cache of compiled code."""

import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import numba
import pytest

import virtualvector
from virtualvector.kernels.compiled import entry
from virtualvector.kernels.likelihood import log_probability
from virtualvector.posterior.step import learn_rows


@pytest.mark.parametrize("writeable", [True, False])
def test_a_change_in_a_called_function_is_noticed(tmp_path, writeable):
    """`log_probability` is cached; `cdf`, which it calls, lives in another file.

    Where nothing can be written beside the sources, the cache is in the user's own folder.
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
            "from virtualvector.kernels.likelihood import log_probability as f; print(f(-1., .1))"
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
        return float(done.stdout)

    before = run()
    normal = package / "kernels" / "normal.py"
    normal.write_text(normal.read_text().replace("0.5 * math.erfc", "0.25 * math.erfc"))
    after = run()
    assert before == log_probability(-1.0, 0.1)
    assert after < before
    assert any(mine.rglob("*.nbi")) != writeable


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


def test_a_kernel_is_looked_up_once():
    types = int, int, int, bool
    assert entry(learn_rows, *types) is entry(learn_rows, *types)
