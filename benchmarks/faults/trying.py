"""What becomes of one forged model: it is refused, or loads, predicts, learns, and is saved again.

Run as a program it is told the number of a case in each line of its input, and answers each with a
line of JSON: how it ended, and what should not have happened, if anything did.
"""

from __future__ import annotations

import json
import random
import resource
import sys
import tempfile
import traceback
import warnings
from pathlib import Path
from typing import Any

import numpy as np

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from faults.examples import labels_for, rows_for
from faults.forgeries import forged
from faults.outcome import BYTES
from virtualvector import persistence


def case(contents: dict[str, bytes], seed: int, number: int) -> tuple[str, bytes, random.Random]:
    """Return what is forged in a case, the forgery, and who decides what follows."""
    draw = random.Random(f"{seed}/{number}")
    name = draw.choice(sorted(contents))
    while True:
        try:
            return name, forged(contents[name], draw), draw
        except Exception:  # what was drawn cannot even be written down
            continue


def tried(path: Path, draw: random.Random) -> str | None:
    """Take a file through everything; return None if it is refused, else what is wrong, or ''."""
    try:
        model = persistence.read(path).model
    except persistence.BadModelFile as error:
        return None if "\n" not in str(error) else "refused in several lines"
    for _ in range(2):
        wrong = _wrong_with(model.predict_proba(rows_for(model, draw)))
        if wrong:
            return wrong
        for _ in range(3):
            model.partial_fit(rows_for(model, draw), labels_for(model, draw))
        wrong = _wrong_with(model.predict_proba(rows_for(model, draw)))
        if wrong:
            return f"having learned: {wrong}"
        model.save(path)
        model = persistence.read(path).model
    return ""


def _wrong_with(probabilities: Any) -> str:
    if not np.isfinite(probabilities).all():
        return "predicts nan"
    off = float(np.abs(probabilities.sum(axis=1) - 1.0).max())
    return "" if off < 1e-9 and np.all(probabilities >= 0.0) else f"probabilities off by {off}"


def ended(path: Path, draw: random.Random) -> tuple[str, str]:
    """Return how a case ended, and what should not have happened."""
    try:
        wrong = tried(path, draw)
    except MemoryError:
        return "accepted", "takes too much memory"
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{Path(last.filename).name}:{last.lineno}"
        return "accepted", f"{type(error).__name__} at {place}: {str(error)[:200]!r}"
    return ("refused", "") if wrong is None else ("accepted", wrong)


def main() -> None:
    """Try cases until there is no more input."""
    folder, seed = Path(sys.argv[1]), int(sys.argv[2])
    contents = {path.stem: path.read_bytes() for path in sorted(folder.glob("*.vvm"))}
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    with tempfile.TemporaryDirectory() as temporary:
        path = Path(temporary, "model.vvm")
        for each in contents.values():  # whatever is compiled or imported counts as the beginning
            path.write_bytes(each)
            wrong = tried(path, random.Random(0))
            assert wrong == "", wrong
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        most = pages * resource.getpagesize() + BYTES
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
        print(json.dumps("ready"), flush=True)
        for line in sys.stdin:
            _, forgery, draw = case(contents, seed, int(line))
            path.write_bytes(forgery)
            print(json.dumps(ended(path, draw)), flush=True)


if __name__ == "__main__":
    main()
