"""Where river, Dask or what a service needs is not installed, nothing that needs it is imported.

`tests/river`, `tests/dask` and `tests/serve` say that they are skipped, and why.
"""

from importlib.util import find_spec

collect_ignore_glob = [
    pattern
    for folder, package in (("river", "river"), ("dask", "distributed"), ("serve", "starlette"))
    if not find_spec(package)
    for pattern in (f"src/virtualvector/{folder}/*", f"tests/{folder}/[!_]*")
]
if not find_spec("starlette"):
    collect_ignore_glob.append("src/virtualvector/cli/served_model.py")
