"""Reading in a process of its own, that has little memory and may be lost."""

import json

from tests import forking

_READ = """
import json, resource, sys
from pathlib import Path
from virtualvector.streams import BadInput, open_rows

paths, on_error, limit = json.loads(sys.argv[1])
used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + limit, resource.RLIM_INFINITY))
for path in paths:
    n_rows = 0
    try:
        with open_rows([path], on_error=on_error) as reader:
            for batch in reader:
                n_rows += len(batch.labels)
            told = [n_rows, reader.problems]
    except BadInput as error:
        told = [n_rows, str(error)]
    print(json.dumps(told), flush=True)
"""


def read(*paths, on_error="stop", limit=2**30):
    """Return, for each file, how many rows were read and what was wrong with the file or its rows.

    The process may take so many bytes more than it has before it reads.
    """
    done = forking.run(_READ, json.dumps([[str(path) for path in paths], on_error, limit]))
    assert done.code == 0, (done.code, done.err[-2000:])
    return [tuple(json.loads(line)) for line in done.out.splitlines()]
