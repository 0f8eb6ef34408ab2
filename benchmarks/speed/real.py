"""What merging and label noise add to a row's cost on real rows, which lie close together."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from sklearn.preprocessing import StandardScaler

from speed.contestants import engine, vvm_settings
from speed.figures import Figure
from speed.plan import Plan
from speed.problem import Problem, Rows
from speed.timing import Job, side_by_side
from virtualvector import ADFClassifier, RandomFourierFeatures
from virtualvector.datasets import load_ionosphere, load_spambase

NOISES = (0.1, 1.0, 10.0)
POINTS = 30
MOST = 1.4  # times the cost without merging, on Spambase
MERGING, EVICTING = "merging", "evicting"
PER_EVICTING = "× evicting"
LABEL_NOISES = (0.01, 0.1)
MOST_WITH_LABEL_NOISE = 2.0  # times the cost without
PER_NO_LABEL_NOISE = "× no label noise"


def spambase() -> Rows:
    """Return Spambase with columns of mean zero and variance one."""
    X, y = load_spambase(return_X_y=True, random_state=0)
    return Rows(StandardScaler().fit_transform(X), np.where(y > 0, 1.0, -1.0))


def ionosphere() -> Rows:
    """Return Ionosphere through random Fourier features, as often as it takes to fill a stream."""
    X, y = load_ionosphere(return_X_y=True, random_state=0)
    features = RandomFourierFeatures(100, random_state=0).fit_transform(X)
    return Rows(np.tile(features, (4, 1)), np.tile(np.where(y > 0, 1.0, -1.0), 4))


REAL: dict[str, Callable[[], Rows]] = {"spambase": spambase, "ionosphere": ionosphere}


def name_of(rows: str, noise: float, how: str) -> str:
    """Return what a figure is called."""
    return f"{rows}, s² {noise:g}, {how}"


def with_label_noise(label_noise: float) -> str:
    """Return how a figure with label noise is called, merging included."""
    return f"ε {label_noise:g}"


def measure_real(name: str, plan: Plan) -> Iterator[Figure]:
    """Measure VVM with and without merging and label noise, side by side, for each noise."""
    rows = REAL[name]()
    d = rows.X.shape[1]
    n_rows = len(rows.X) - 200
    portion = plan.portion._replace(least=n_rows, most=n_rows)  # the same rows for both
    for noise in NOISES:
        jobs = {
            name_of(name, noise, how): _job(rows, noise, merging=how == MERGING)
            for how in (EVICTING, MERGING)
        }
        yardsticks = {
            PER_EVICTING: jobs[name_of(name, noise, EVICTING)],
            PER_NO_LABEL_NOISE: jobs[name_of(name, noise, MERGING)],
        }
        for label_noise in LABEL_NOISES:
            called = name_of(name, noise, with_label_noise(label_noise))
            jobs[called] = _job(rows, noise, merging=True, label_noise=label_noise)
        taken = side_by_side(yardsticks, jobs, plan.rounds, portion, portion)
        for each, values in taken.items():
            yield Figure("real", each, {"d": d}, values)


def _job(rows: Rows, noise: float, merging: bool, label_noise: float = 0.0) -> Job:
    """With label noise ADF learns the same rows, as it does beside `VVMClassifier`."""
    told = [vvm_settings(POINTS, merging)]
    if label_noise > 0.0:
        told.append(ADFClassifier()._settings())
    contestants = [engine("VVM", each._replace(label_noise=label_noise)) for each in told]
    warm_up = contestants[0].warm_up_rows
    learners = [each.start(Problem("real", noise), rows.part(0, warm_up)) for each in contestants]

    def prepare(n_rows: int) -> Callable[[], object]:
        used_up = [c.copy(each) for c, each in zip(contestants, learners, strict=True)]
        late = rows.part(warm_up, warm_up + n_rows)
        return lambda: [c.run(each, late) for c, each in zip(contestants, used_up, strict=True)]

    return prepare
