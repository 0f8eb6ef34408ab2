"""How long it takes from the start of Python to the first probability.

Seconds here are those of a clock: compiled code is also waited for while it is read. Everything
runs in a process of its own, and counts until it has its result, not until Python has cleared up;
"cold" is the very first time, with nothing compiled yet.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import time

from speed.figures import Figure

_FIRST_ROWS = """
import numpy as np
import virtualvector
X = np.random.default_rng(0).normal(size=(64, 20))
model = virtualvector.{model}.partial_fit(X, X[:, 0] > 0.0)
model.predict_proba(X[:1])
"""
PROGRAMS = {
    "Python alone": "",
    "import numba and scikit-learn": "import numba, sklearn.base",
    "x + 1 by numba, scikit-learn imported": f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
import smallest
smallest.successor(1)
""",
    "import virtualvector": "import virtualvector",
    "ADF, first prediction": _FIRST_ROWS.format(model="ADFClassifier()"),
    "VVM 30, first prediction": _FIRST_ROWS.format(model="VVMClassifier(margin_noise=0.1)"),
    "AutoVVM, first prediction": _FIRST_ROWS.format(model="AutoVVMClassifier()"),
}


def measure_start(name: str, starts: int) -> Figure:
    """Start a program with an empty cache, then again with what that has compiled."""
    with TemporaryDirectory() as cache:
        cold = _seconds(PROGRAMS[name], cache)
        warm = min(_seconds(PROGRAMS[name], cache) for _ in range(starts))
    return Figure("start", name, {}, {"cold, s": cold, "warm, s": warm})


def _seconds(program: str, cache: str) -> float:
    program += "\nimport time; print(time.time())"
    environment = os.environ | {"NUMBA_CACHE_DIR": cache}
    start = time()
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, check=True, stdout=subprocess.PIPE
    )
    return float(done.stdout) - start
