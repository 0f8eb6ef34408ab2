"""Where river or Dask is not installed, nothing that needs it is imported.

`tests/river` and `tests/dask` say that they are skipped, and why.
"""

from importlib.util import find_spec

collect_ignore_glob = [
    pattern
    for folder, package in (("river", "river"), ("dask", "distributed"))
    if not find_spec(package)
    for pattern in (f"src/virtualvector/{folder}/*", f"tests/{folder}/[!_]*")
]
