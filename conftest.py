"""Where river is not installed, nothing that needs it is imported.

`tests/river` says that it is skipped, and why.
"""

from importlib.util import find_spec

collect_ignore_glob = (
    [] if find_spec("river") else ["src/virtualvector/river/*", "tests/river/[!_]*"]
)
