"""Memory of another kind: predictions against the rank of the covariance that is kept."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import product
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.preprocessing import StandardScaler

from virtualvector.evaluation import error, log_loss
from virtualvector.features import RandomFourierFeatures
from virtualvector.learners import ADFClassifier
from virtualvector.paper.experiment import Experiment, Options, Record, Statement, Task
from virtualvector.paper.memory import share_closed, standard_errors
from virtualvector.paper.problems import FeatureMap, Problem, load_problem
from virtualvector.types import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FULL = -1  # written for the rank of a full covariance
RANKS = (0, 5, 20, 50, 100, FULL)
QUICK_RANKS = (0, 5, FULL)
RUNS, QUICK_ROWS = 5, 60
MARGIN_NOISE = 0.1
ENOUGH, CLOSED = 50, 0.8  # a rank that has to go so much of the way
# Of a step: standard errors, which are noise, and the share of the way from rank 0 that is nothing.
# The share was chosen after looking: of 101 weights rank 100 and all differ in the sixth digit.
_NOISE, _NOTHING = 2.0, 0.01


class Stream(NamedTuple):
    """A data set and how many random features it is seen through."""

    title: str
    n_features: int


STREAMS = {
    "thyroid": Stream("Thyroid", 100),
    "ionosphere": Stream("Ionosphere", 200),
    "spambase": Stream("Spambase", 200),
    "breast-cancer": Stream("Breast cancer", 400),
    "digits": Stream("Digits, odd or even", 600),
}


class Rank(Experiment):
    """Log-loss along the stream against the rank of the covariance, without points."""

    name: ClassVar[str] = "rank"
    title: ClassVar[str] = "Memory: predictions against the rank of the covariance"
    caption: ClassVar[str] = (
        "Log-loss, each row predicted before it was learned, against the rank of what is kept "
        "beside a precision of each weight: numbers alone at the left end, a full covariance at "
        "the right. No points are kept. Bars: one standard error of the difference from the full "
        "covariance, order by order. Below: the share of the way from rank 0 to the full "
        "covariance."
    )

    def plan(self, options: Options, records: Sequence[Record]) -> list[Task]:
        """One task for each data set, order and rank."""
        runs = options.runs or (2 if options.quick else RUNS)
        ranks = QUICK_RANKS if options.quick else RANKS
        rows = QUICK_ROWS if options.quick else None
        return [
            Task(
                f"{data}-{order:03}-{'full' if rank == FULL else rank}",
                {"data": data, "seed": [options.seed, order], "rows": rows, "rank": rank},
            )
            for data, order, rank in product(STREAMS, range(runs), ranks)
        ]

    def work(self, arguments: dict[str, Any]) -> list[Record]:
        """Learn one order with one rank."""
        data, seed, rank = arguments["data"], arguments["seed"], arguments["rank"]
        rows, labels = features(data, seed, arguments["rows"])
        kept: dict[str, Any] = {"covariance": "low-rank", "rank": rank} if rank != FULL else {}
        model = ADFClassifier(margin_noise=MARGIN_NOISE, **kept)
        predictions = model.predict_then_learn(rows, labels, classes=[0, 1])
        assert predictions.probabilities is not None
        return [
            {
                "data": data,
                "order": seed[-1],
                "rank": rank,
                "rows": len(rows),
                "error": 100.0 * error(labels, predictions.labels),
                "log_loss": log_loss(labels, predictions.probabilities, np.array([0, 1])),
            }
        ]

    def summarise(self, records: Sequence[Record], options: Options) -> dict[str, Any]:
        """Return means by data set and rank, and how much of the way they go."""
        summary: dict[str, Any] = {
            name: {} for name in ("error", "log_loss", "bars", "closed", "steps", "parameters")
        }
        for data, stream in STREAMS.items():
            of_data = [record for record in records if record["data"] == data]
            ranks = [rank for rank in RANKS if any(r["rank"] == rank for r in of_data)]
            names = ["full" if rank == FULL else str(rank) for rank in ranks]
            losses, errors = (_table(of_data, ranks, name) for name in ("log_loss", "error"))
            steps = losses[:, 1:] - losses[:, :-1]
            noise, way = standard_errors(steps), abs((losses[:, 0] - losses[:, -1]).mean())
            for name, values in {
                "error": errors.mean(axis=0).tolist(),
                "log_loss": losses.mean(axis=0).tolist(),
                "bars": standard_errors(losses - losses[:, -1:]).tolist(),
                "closed": share_closed(losses),
            }.items():
                summary[name][data] = dict(zip(names, values, strict=True))
            summary["steps"][data] = {
                "up": [
                    names[k + 1]
                    for k in range(len(noise))
                    if steps[:, k].mean() > max(_NOISE * noise[k], _NOTHING * way)
                ]
            }
            summary["parameters"][data] = {
                "n_features": stream.n_features,
                "margin_noise": MARGIN_NOISE,
                "runs": len(losses),
                "rows": of_data[0]["rows"],
            }
        return summary

    def statements(self, summary: dict[str, Any]) -> list[Statement]:
        """Ask whether each step of rank helps, and how far a rank of 50 goes."""
        statements = []
        for data, stream in STREAMS.items():
            losses, up = summary["log_loss"][data], summary["steps"][data]["up"]
            closed = summary["closed"][data].get(str(ENOUGH))
            listed = ", ".join(f"{rank}: {loss:.4f}" for rank, loss in losses.items())
            ours = f"Log-loss by rank {listed}."
            if up:
                ours += f" Worse than the rank before, beyond noise: {', '.join(up)}."
            if closed is not None:
                ours += f" Rank {ENOUGH} goes {100.0 * closed:.0f} % of the way."
            statements.append(
                Statement(
                    f"(Not in the paper.) More rank, better predictions ({stream.title}).",
                    ours,
                    not up and (closed is None or closed >= CLOSED),
                )
            )
        return statements

    def remarks(self, summary: dict[str, Any]) -> list[str]:
        """Say what was set."""
        listed = ", ".join(
            f"{stream.title} {stream.n_features} ({summary['parameters'][data]['rows']} rows)"
            for data, stream in STREAMS.items()
        )
        return [
            "Nothing was chosen by validation: random Fourier features of the median distance "
            f"between rows as bandwidth, s² = {MARGIN_NOISE:g}, ε = 0. Features: {listed}. Breast "
            "cancer and digits are scikit-learn's. Rank 0 keeps a precision for each weight "
            "(`covariance='diagonal'`).",
            f"Noise is {_NOISE:g} standard errors of a difference, or {_NOTHING:.0%} of the way "
            "from rank 0 to a full covariance, if more. The latter was chosen after looking at "
            "Thyroid, where rank 100 and all 101 weights differ in the sixth digit.",
        ]

    def draw(self, records: Sequence[Record], summary: dict[str, Any]) -> Figure:
        """Draw one column for each data set: log-loss, and the way gone to a full covariance."""
        from matplotlib.figure import Figure

        figure = Figure(figsize=(13.0, 5.6), layout="constrained")
        grid = figure.subplots(2, len(STREAMS), sharex="col")
        for column, (data, stream) in enumerate(STREAMS.items()):
            losses, bars = summary["log_loss"][data], summary["bars"][data]
            places = np.arange(len(losses))
            style: dict[str, Any] = {"color": "black", "marker": "o", "markersize": 4.5}
            grid[0, column].errorbar(
                places, list(losses.values()), list(bars.values()), capsize=2.5, **style
            )
            closed = summary["closed"][data].values()
            grid[1, column].plot(
                places, [np.nan if c is None else 100.0 * c for c in closed], **style
            )
            settings = summary["parameters"][data]
            grid[0, column].set_title(
                f"{stream.title}\n{settings['n_features']} features, {settings['rows']} rows",
                fontsize=10,
            )
            grid[1, column].axhline(100.0, color="0.5", lw=0.8)
            grid[1, column].axhline(100.0 * CLOSED, color="0.5", lw=0.8, ls=":")
            grid[1, column].set_xticks(places, list(losses))
            grid[1, column].set_xlabel("rank")
        grid[0, 0].set_ylabel("log-loss, nats per row")
        grid[1, 0].set_ylabel("way gone from rank 0\nto a full covariance, %")
        for axes in grid.flat:
            axes.grid(alpha=0.3)
        return figure


@cache
def problem(data: str) -> Problem:
    """Return a data set, its columns standardised."""
    if data == "digits":
        rows, labels = load_digits(return_X_y=True)
        return Problem(StandardScaler().fit_transform(rows), labels % 2)
    if data == "breast-cancer":
        rows, labels = load_breast_cancer(return_X_y=True)
        return Problem(StandardScaler().fit_transform(rows), labels)
    return load_problem(data)


def features(data: str, seed: list[int], n_rows: int | None) -> Problem:
    """Return the first rows of one order through random features, and their labels."""
    bandwidth = float(RandomFourierFeatures(1, random_state=0).fit(problem(data).rows).bandwidth_)
    rows, labels = problem(data).shuffled(seed)
    rows, labels = rows[:n_rows], labels[:n_rows]
    return Problem(FeatureMap(STREAMS[data].n_features, bandwidth)(rows, seed), labels)


def _table(records: Sequence[Record], ranks: Sequence[int], measure: str) -> Array:
    """Return a matrix (order, rank) of a measure."""
    orders = sorted({record["order"] for record in records})
    table = np.full((len(orders), len(ranks)), np.nan)
    for record in records:
        table[orders.index(record["order"]), ranks.index(record["rank"])] = record[measure]
    return table
