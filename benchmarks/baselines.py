"""The learners to be compared, each of which says its probabilities of a row, then learns it.

Settings are the defaults of their packages, or those that ``virtualvector.evaluation.compared``
takes for every stream; two changes to river's, which help it, are explained where they are made.

What needs numbers gets categories as columns of zeros and ones; river's Hoeffding trees get them as
strings, which is what these expect. A missing number is the mean of its column so far, a missing
category is a category of its own. All this is done beforehand and not timed; scaling, which is part
of a learner, is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtr

import virtualvector
from streams import SEED, Rows, Stream
from virtualvector import RandomFourierFeatures, VVMClassifier
from virtualvector.evaluation import all_learners
from virtualvector.features import RunningStandardScaler

Array = NDArray[np.float64]
Codes = NDArray[np.int64]


class Predictions(NamedTuple):
    """What a learner said of every row before it learned it, and the processor time for both."""

    probabilities: Array  # a column for each class
    seconds: float
    best_expert: float | None = None  # log-loss of the best single expert, of a mix
    n_experts: int | None = None


@dataclass(frozen=True)
class Learner:
    """A way through a stream, and the code that its result depends on."""

    ask: Callable[[Stream], Predictions]
    code: tuple[str, ...] = ()  # parts of this package; none: river

    def version(self) -> str:
        """Return something that changes with the code."""
        if not self.code:
            return f"river {version('river')}"
        root = Path(virtualvector.__file__).parent
        sources = sorted(source for part in self.code for source in (root / part).rglob("*.py"))
        return sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()


# Rows as learners want them


def filled(X: Rows) -> pd.DataFrame:
    """Return rows without gaps, of which none depends on a later one."""
    table = pd.DataFrame(X).rename(columns=str)
    for name, column in table.items():
        if isinstance(column.dtype, pd.CategoricalDtype):
            table[name] = column.astype(object).where(column.notna(), "missing").map(str)
        else:
            so_far = column.expanding().mean().fillna(0.0)
            table[name] = column.fillna(so_far).astype(float)
    return table


def numbers(X: Rows) -> pd.DataFrame:
    """Return the same with a column of zeros and ones for each category.

    The column of a category that has not come yet is zero: it tells nothing ahead of time.
    """
    return pd.get_dummies(filled(X), dtype=float)


def standardised(X: Rows) -> Array:
    return RunningStandardScaler().learn_then_transform(numbers(X).to_numpy())


def codes_of(stream: Stream) -> Codes:
    return np.searchsorted(stream.classes, stream.y)


# River


def as_probabilities(answers: Sequence[Mapping[Any, float]], n_classes: int) -> Array:
    """Return one row of probabilities for each answer of river.

    Unlike the learners of this package, river's are not told the classes beforehand, and do not
    mention those they have not met. So that this costs them nothing, the classes not mentioned
    after t rows get what Laplace's rule gives them, 1/(t + n_classes) each. No answer at all means
    that every class is as probable as any other.
    """
    table = np.empty((len(answers), n_classes))
    for t, answer in enumerate(answers):
        known = [k for k in range(n_classes) if k in answer] or list(range(n_classes))
        votes = np.array([answer.get(k, 0.0) for k in known], dtype=float)
        if not votes.sum() > 0.0:
            votes[:] = 1.0
        table[t] = 1.0 / (t + n_classes)
        left = 1.0 - (n_classes - len(known)) / (t + n_classes)
        table[t, known] = left * votes / votes.sum()
    return table


def ask_river(model: Any, X: pd.DataFrame, stream: Stream) -> Predictions:
    rows, labels = X.to_dict("records"), codes_of(stream).tolist()
    answers = []
    start = process_time()
    for row, label in zip(rows, labels, strict=True):
        answers.append(model.predict_proba_one(row))
        model.learn_one(row, label)
    seconds = process_time() - start
    return Predictions(as_probabilities(answers, len(stream.classes)), seconds)


def logistic_regression(stream: Stream) -> Predictions:
    from river import linear_model, multiclass, preprocessing

    model = linear_model.LogisticRegression()
    if len(stream.classes) > 2:
        model = multiclass.OneVsRestClassifier(model)
    return ask_river(preprocessing.StandardScaler() | model, numbers(stream.X), stream)


def adaptive_random_forest(stream: Stream) -> Predictions:
    from river import forest

    model = forest.ARFClassifier(n_models=10, seed=SEED)
    return ask_river(model, filled(stream.X), stream)


def streaming_random_patches(stream: Stream) -> Predictions:
    from river import ensemble

    model = ensemble.SRPClassifier(n_models=10, seed=SEED)
    return ask_river(model, filled(stream.X), stream)


def leveraging_bagging(stream: Stream) -> Predictions:
    """Ask ten Hoeffding trees, which is what its authors bag."""
    from river import ensemble, tree

    model = ensemble.LeveragingBaggingClassifier(
        tree.HoeffdingTreeClassifier(), n_models=10, seed=SEED
    )
    return ask_river(model, filled(stream.X), stream)


def mondrian_forest(stream: Stream) -> Predictions:
    """Ask the forest on standardised columns.

    It cuts a column the more often the wider it is. On the five streams tried this lowered its
    error on all and its log-loss on three; scaling to [0, 1] left more errors on all.
    """
    from river import forest, preprocessing

    model = forest.AMFClassifier(n_estimators=10, seed=SEED)
    return ask_river(preprocessing.StandardScaler() | model, numbers(stream.X), stream)


def nearest_neighbours(stream: Stream) -> Predictions:
    """Ask the neighbours among the last 1000 rows.

    That is river's default, but searched exactly: on the two streams tried it was seven and ten
    times faster, with the same error and log-loss.
    """
    from river import neighbors, preprocessing

    model = neighbors.KNNClassifier(engine=neighbors.LazySearch(window_size=1000))
    return ask_river(preprocessing.StandardScaler() | model, numbers(stream.X), stream)


def hoeffding_adaptive_tree(stream: Stream) -> Predictions:
    from river import tree

    return ask_river(tree.HoeffdingAdaptiveTreeClassifier(seed=SEED), filled(stream.X), stream)


# This package


def one_by_one(
    model: Any, probability: Callable[[Any, Array], float], stream: Stream
) -> Predictions:
    """Ask a baseline for two classes, or a copy of it for each class against the rest."""
    codes, n_classes = codes_of(stream), len(stream.classes)
    table = numbers(stream.X).to_numpy()
    start = process_time()
    rows = RunningStandardScaler().learn_then_transform(table)
    positive = [1] if n_classes == 2 else range(n_classes)
    columns = []
    for k in positive:
        state = model._start(rows.shape[1])
        column = np.empty(len(rows))
        for t, row in enumerate(rows):
            column[t] = probability(state, row)
            model._learn_row(state, row, 1.0 if codes[t] == k else -1.0)
        columns.append(column)
    seconds = process_time() - start
    predictions = np.column_stack([1.0 - columns[0], *columns] if n_classes == 2 else columns)
    return Predictions(predictions / predictions.sum(axis=1, keepdims=True), seconds)


def arow(stream: Stream) -> Predictions:
    """Ask AROW, with probabilities it does not state itself.

    It is a Kalman filter of unit noise at the rows it learns: so the margin is taken to be Gaussian
    with its mean and its variance plus one.
    """
    model = all_learners(numbers(stream.X).shape[1])["AROW"]

    def probability(state: Any, row: Array) -> float:
        x = np.append(row, 1.0)
        image = state.factor @ x
        return float(ndtr(state.mean @ x / np.sqrt(image @ image + model.r)))

    return one_by_one(model, probability, stream)


def sogp(stream: Stream) -> Predictions:
    model = all_learners(numbers(stream.X).shape[1])["SOGP"]

    def probability(state: Any, row: Array) -> float:
        return float(model._probability(model._score(state, row[None]))[0])

    return one_by_one(model, probability, stream)


def vvm(stream: Stream) -> Predictions:
    return at_once(VVMClassifier(margin_noise=1.0), stream)


def fourier_vvm(stream: Stream) -> Predictions:
    bandwidth = float(np.sqrt(2.0 * numbers(stream.X).shape[1]))
    waves = RandomFourierFeatures(100, bandwidth=bandwidth, random_state=SEED)
    return at_once(VVMClassifier(margin_noise=0.1), stream, waves.fit_transform)


def at_once(
    model: Any, stream: Stream, features: Callable[[Array], Array] | None = None
) -> Predictions:
    table, codes = numbers(stream.X).to_numpy(), codes_of(stream)
    start = process_time()
    rows = RunningStandardScaler().learn_then_transform(table)
    if features is not None:
        rows = features(rows)
    predictions = model.predict_then_learn(rows, codes, classes=np.arange(len(stream.classes)))
    return Predictions(predictions.probabilities, process_time() - start)


def auto(stream: Stream) -> Predictions:
    """Ask the learner without settings, which takes tables as they are."""
    from virtualvector import AutoVVMClassifier

    model = AutoVVMClassifier()
    start = process_time()
    predictions = model.predict_then_learn(stream.X, stream.y, classes=stream.classes)
    seconds = process_time() - start
    return Predictions(predictions.probabilities, seconds, *in_hindsight(model, stream))


def in_hindsight(model: Any, stream: Stream) -> tuple[float, int]:
    """Return the log-loss per row of the best single expert, and how many experts there were.

    Every expert that the committee began with learns the whole stream alone, and sees of it what it
    saw at the start.
    """
    committee = model._committee
    losses = []
    for expert in committee.at_start:
        alone = type(model)(
            experts=[expert], n_frequencies=max(committee.feature_space.n_frequencies, 1)
        )
        alone.predict_then_learn(stream.X, stream.y, classes=stream.classes)
        losses.append(-alone.experts_[0]["evidence"] / len(stream.y))
    return min(losses), len(losses)


_OWN_BASELINE = ("baselines", "kernels", "features")
_VVM = ("learners", "posterior", "kernels", "features")

LEARNERS: dict[str, Learner] = {
    "LogReg": Learner(logistic_regression),
    "ARF": Learner(adaptive_random_forest),
    "SRP": Learner(streaming_random_patches),
    "LevBag": Learner(leveraging_bagging),
    "AMF": Learner(mondrian_forest),
    "kNN": Learner(nearest_neighbours),
    "HAT": Learner(hoeffding_adaptive_tree),
    "AROW": Learner(arow, _OWN_BASELINE),
    "SOGP": Learner(sogp, _OWN_BASELINE),
    "VVM": Learner(vvm, _VVM),
    "VVM-RFF": Learner(fourier_vvm, _VVM),
}
if hasattr(virtualvector, "AutoVVMClassifier"):
    LEARNERS["AutoVVM"] = Learner(auto, ("",))
