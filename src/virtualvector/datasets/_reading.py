"""From a shipped table to what scikit-learn's own loaders return."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Mapping
from importlib import resources
from typing import Any

import numpy as np
from sklearn.utils import Bunch, check_random_state

_FOLDER = resources.files(__package__) / "data"


def load(
    file_name: str,
    classes: Mapping[str, str],
    *,
    return_X_y: bool,
    as_frame: bool,
    random_state: int | None,
) -> Bunch | tuple[Any, Any]:
    """Read a shipped table; `classes` maps each label in the file to its name, in code order."""
    with (_FOLDER / file_name).open("rb") as file, gzip.open(file, "rt", newline="") as text:
        header, *rows = csv.reader(text)
    if random_state is not None:
        rows = [rows[i] for i in check_random_state(random_state).permutation(len(rows))]

    feature_names = np.array(header[:-1])
    target_names = list(dict.fromkeys(classes.values()))
    data: Any = np.array([row[:-1] for row in rows], dtype=float)
    target: Any = np.array([target_names.index(classes[row[-1]]) for row in rows])
    frame = None
    if as_frame:
        frame = _data_frame(data, target, feature_names)
        data, target = frame[feature_names], frame["target"]
    if return_X_y:
        return data, target
    return Bunch(
        data=data,
        target=target,
        frame=frame,
        feature_names=feature_names,
        target_names=np.array(target_names),
        DESCR=_description(file_name),
        filename=str(_FOLDER / file_name),
    )


def _data_frame(data: Any, target: Any, feature_names: Any) -> Any:
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError("as_frame=True needs pandas, which is not installed.") from error
    return pd.DataFrame(data, columns=feature_names).assign(target=target)


def _description(file_name: str) -> str:
    """Return the section of the data's README that is headed by the file's name."""
    _, *sections = (_FOLDER / "README.md").read_text(encoding="utf-8").split("\n## ")
    return next(section for section in sections if section.startswith(file_name))
