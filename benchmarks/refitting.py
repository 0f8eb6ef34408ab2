"""One pass of AutoVVM beside batch learners that are fitted anew on all rows so far.

    python benchmarks/refitting.py [--streams a,b] [--models x,y] [--rows N] [--cache DIR]

Every batch learner is refitted whenever the rows have grown by a tenth, and predicts those that
come before the next time; it sees all of them again and again, and chooses its regularisation where
it has any to choose. Nobody is tuned to a stream by hand. Prints log-loss per row, error, and
processor time as a multiple of AutoVVM's. No probability counts as less than ``LEAST``, as in
``online.py``. What a learner said is kept in the cache, so that a long run may go on later.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import pandas as pd
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegressionCV
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from baselines import LEARNERS, Array, Learner, Predictions, codes_of, numbers
from online import ask, chosen, figures
from streams import HELD_OUT, SEED, STREAMS, Stream, load
from virtualvector import AutoVVMClassifier

GROWTH = 1.1
FIRST = 20  # rows before the first fit; until then the classes have the frequencies so far
FOLDS = 3
SHOWN = {"log_loss": "{:.4f}", "error": "{:.4f}", "microseconds": "{:.0f}"}


def boosting(rows: Array, codes: Any) -> Any:
    return HistGradientBoostingClassifier(random_state=SEED).fit(rows, codes)


def forest(rows: Array, codes: Any) -> Any:
    return RandomForestClassifier(300, random_state=SEED).fit(rows, codes)


def logistic(rows: Array, codes: Any) -> Any:
    choice = LogisticRegressionCV(
        Cs=5, cv=StratifiedKFold(FOLDS), scoring="neg_log_loss", max_iter=200
    )
    return make_pipeline(StandardScaler(), choice).fit(rows, codes)


def machine(rows: Array, codes: Any) -> Any:
    """Fit a support vector machine; Platt's sigmoid is fitted to rows it has not seen."""
    choice = CalibratedClassifierCV(SVC(), cv=StratifiedKFold(FOLDS))
    return make_pipeline(StandardScaler(), choice).fit(rows, codes)


BATCH: dict[str, Callable[[Array, Any], Any]] = {
    "HistGB": boosting,
    "RF(300)": forest,
    "LogRegCV": logistic,
    "SVC": machine,
}


def refits(n_rows: int) -> list[int]:
    """Return after how many rows there is a fit."""
    found = [FIRST]
    while found[-1] * GROWTH < n_rows:
        found.append(max(found[-1] + 1, int(found[-1] * GROWTH)))
    return [n for n in found if n < n_rows]


def ask_refitted(fit: Callable[[Array, Any], Any], stream: Stream) -> Predictions:
    """Return what a batch learner says of each row; of rare classes, what Laplace's rule says."""
    rows, codes, n_classes = numbers(stream.X).to_numpy(), codes_of(stream), len(stream.classes)
    predicted = np.empty((len(codes), n_classes))
    start = process_time()
    so_far = np.cumsum(np.eye(n_classes)[codes], axis=0) + 1.0
    predicted[0] = 1.0 / n_classes
    predicted[1:FIRST] = so_far[: FIRST - 1] / so_far[: FIRST - 1].sum(axis=1, keepdims=True)
    times = [*refits(len(codes)), len(codes)]
    for at, until in pairwise(times):
        rates = so_far[at - 1] / so_far[at - 1].sum()
        predicted[at:until] = _predicted(fit, rows, codes, at, until, rates)
    return Predictions(predicted, process_time() - start)


def _predicted(
    fit: Callable[[Array, Any], Any], rows: Array, codes: Any, at: int, until: int, rates: Array
) -> Array:
    """Fit the rows of classes that came often enough to be in every fold; predict those to come."""
    counts = np.bincount(codes[:at], minlength=len(rates))
    often = np.flatnonzero(counts >= FOLDS)
    predicted = np.tile(rates, (until - at, 1))
    if len(often) < 2:
        return predicted
    there = np.isin(codes[:at], often)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of fits that have not converged
        model = fit(rows[:at][there], codes[:at][there])
        predicted[:, often] = model.predict_proba(rows[at:until]) * rates[often].sum()
    return predicted


def once(stream: Stream) -> Predictions:
    """Ask AutoVVM alone: who of its experts would have been best is not asked here."""
    model = AutoVVMClassifier()
    start = process_time()
    predictions = model.predict_then_learn(stream.X, stream.y, classes=stream.classes)
    return Predictions(predictions.probabilities, process_time() - start)


def learner(name: str) -> Learner:
    """Return a learner as ``online.ask`` takes it."""
    if name == "AutoVVM":
        return Learner(once, LEARNERS[name].code)
    if name not in BATCH:
        return LEARNERS[name]
    return Refitted(lambda stream: ask_refitted(BATCH[name], stream))


class Refitted(Learner):
    """A batch learner, which depends on the version of scikit-learn."""

    def version(self) -> str:
        """Return something that changes with what is fitted."""
        return f"scikit-learn {version('scikit-learn')} {GROWTH} {FIRST} {FOLDS}"


def print_table(results: pd.DataFrame) -> None:
    """Print log-loss, error and time of all, and on how many streams AutoVVM is ahead of all."""
    for measured, shown in SHOWN.items():
        table = results.pivot(index="stream", columns="learner", values=measured).astype(float)
        table = table.loc[results["stream"].unique(), results["learner"].unique()]
        table = table.rename_axis(index=None, columns=None)
        print(f"\n{measured}\n\n{table.to_string(float_format=shown.format)}")
        if "AutoVVM" not in table or table.shape[1] < 2:
            continue
        others = table.drop(columns="AutoVVM")
        if measured == "microseconds":
            times = others.div(table["AutoVVM"], axis=0).median()
            print("\ntimes as long as AutoVVM, in the median:", times.round(1).to_dict())
        else:
            ahead = (table["AutoVVM"] < others.min(axis=1)).sum()
            print(f"\nAutoVVM is below the best of them on {ahead} of {len(table)} streams")


def main(arguments: list[str] | None = None) -> int:
    """Ask everyone about everything and print what came out."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--streams", help="names with commas, or held-out for those kept back")
    parser.add_argument("--models", help="names with commas")
    parser.add_argument("--rows", type=int, help="take no more of each stream")
    parser.add_argument("--cache", type=Path, metavar="DIR", help="keep here what was said")
    options = parser.parse_args(arguments)
    wanted = ",".join(HELD_OUT) if options.streams == "held-out" else options.streams
    stream_names = chosen(wanted, list(STREAMS), [*STREAMS, *HELD_OUT])
    names = chosen(options.models, ["AutoVVM", *BATCH], [*LEARNERS, *BATCH])
    found = []
    with threadpool_limits(1):
        for stream in map(load, stream_names):
            stream = stream if options.rows is None else stream.first(options.rows)
            for name in names:
                print(f"{stream.name}, {len(stream.y)} rows: {name}", file=sys.stderr, flush=True)
                predictions = ask(name, learner(name), stream, options.cache)
                found.append(
                    {"stream": stream.name, "learner": name, **figures(stream, predictions)}
                )
    print_table(pd.DataFrame(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
