"""Write what every later version has to read: ``python -m tests.persistence.make_golden``.

Run it once for a new format, and never again: beside each model it keeps rows, what the model said
about them, how many rows it had learned and on which kind of processor.
"""

import json
from pathlib import Path

import numpy as np

from tests.persistence.model_examples import EXAMPLES
from virtualvector.persistence import read_header
from virtualvector.persistence.header import FORMAT

FOLDER = Path(__file__).parent / "golden"
CHOSEN = {
    "vvm": "vvm that forgets",
    "vvm-many-columns": "vvm, many columns",
    "vvm-three-classes": "vvm, three classes, numbers",
    "vvm-hedged": "vvm, hedged, third class comes later",
    "adf-late-class": "adf, third class comes later",
    "window-ep": "window-ep",
    "ep-names": "ep, names of columns",
    "auto": "auto, a few columns",
    "adf-low-rank": "adf, low rank",
    "wide-texts": "wide, texts",
}


def rows_as_json(rows):
    """Cells, None where one is missing."""
    cells = np.asarray(rows, dtype=object).tolist()
    return [[None if cell != cell else cell for cell in row] for row in cells]


def main():
    FOLDER.mkdir(exist_ok=True)
    for name, example in CHOSEN.items():
        model, (rows, _) = EXAMPLES[example].started(), EXAMPLES[example].rest()
        path = FOLDER / f"v{FORMAT}-{name}.vvm"
        model.save(path)
        expected = {
            "n_seen": model.n_seen_,
            "classes": model.classes_.tolist(),
            "rows": rows_as_json(rows[:8]),
            "probabilities": model.predict_proba(rows[:8]).tolist(),
            "processor": read_header(path)["processor"],
        }
        path.with_suffix(".json").write_text(json.dumps(expected) + "\n")


if __name__ == "__main__":
    main()
