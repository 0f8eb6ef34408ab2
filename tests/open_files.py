"""Which files this process has open: what is left to the garbage collector still is."""

import os
from pathlib import Path

import pytest

needs_list = pytest.mark.skipif(
    not Path("/proc/self/fd").exists(), reason="only Linux lists open files so"
)


def is_open(path):
    found = (os.path.realpath(each) for each in Path("/proc/self/fd").iterdir())
    return str(path) in found
