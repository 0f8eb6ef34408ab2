"""Beyond the paper, the picture it promises: more memory, smoothly better predictions."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from virtualvector.evaluation import error, log_loss
from virtualvector.learners import VVMClassifier, WindowEPClassifier
from virtualvector.paper.experiment import Experiment, Options, Record, Statement, Task
from virtualvector.paper.problems import FeatureMap, load_problem, typical_distance
from virtualvector.types import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIZES = (0, 1, 2, 5, 10, 20, 50, 100, 200, 500)
QUICK_SIZES = (0, 5, 20)
QUICK_ROWS = 60


class Setting(NamedTuple):
    """How a data set is learned."""

    runs: int
    rows: int
    n_features: int  # 0: the columns as they are
    margin_noise: float


SETTINGS = {
    "thyroid": Setting(runs=10, rows=215, n_features=100, margin_noise=0.01),
    "ionosphere": Setting(runs=10, rows=351, n_features=100, margin_noise=0.01),
    "spambase": Setting(runs=5, rows=1000, n_features=0, margin_noise=0.1),
}

# Ways to lose a point when the buffer is full.
WAYS: dict[str, dict[str, Any]] = {
    "VVM": {"eviction": "divergence", "merge_pairs": 5},
    "VVM, no merging": {"eviction": "divergence", "merge_pairs": 0},
    "VVM, by margin": {"eviction": "margin", "merge_pairs": 0},
    "window-EP": {},
}
STYLES = {
    "VVM": ("black", "o", "-"),
    "VVM, no merging": ("#0072b2", "s", "--"),
    "VVM, by margin": ("#d55e00", "v", ":"),
    "window-EP": ("#009e73", "^", "-."),
}


class Memory(Experiment):
    """Error and log-loss along the stream against the number of points that are kept."""

    name: ClassVar[str] = "memory"
    title: ClassVar[str] = "Memory: predictions against buffer size"
    caption: ClassVar[str] = (
        "Error and log-loss, each row predicted before it was learned, against the number of "
        "points kept: ADF at the left end, EP over all rows at the right. Bars: one standard error "
        "of the difference from EP, order by order. Below: the share of the way from ADF's "
        "log-loss to EP's that a buffer of that size goes."
    )

    def plan(self, options: Options, records: Sequence[Record]) -> list[Task]:
        """One task for each data set, order and size."""
        tasks = []
        for data, setting in SETTINGS.items():
            n_rows = QUICK_ROWS if options.quick else setting.rows
            runs = options.runs or (2 if options.quick else setting.runs)
            sizes = QUICK_SIZES if options.quick else SIZES
            kept = [size for size in sizes if size < n_rows] + [n_rows]
            tasks += [
                Task(
                    f"{data}-{order:03}-{size}",
                    {"data": data, "seed": [options.seed, order], "rows": n_rows, "size": size},
                )
                # The largest buffers take longest: they go first, so that no one waits for them.
                for order, size in product(range(runs), reversed(kept))
            ]
        return tasks

    def work(self, arguments: dict[str, Any]) -> list[Record]:
        """Learn one order with buffers of one size, losing points in every way."""
        data, seed, size = arguments["data"], arguments["seed"], arguments["size"]
        setting = SETTINGS[data]
        rows, labels = (part[: arguments["rows"]] for part in load_problem(data).shuffled(seed))
        rows = FeatureMap(setting.n_features, typical_distance(data))(rows, seed)
        # With no buffer all ways are ADF, with room for all rows they are EP.
        same = size in (0, len(rows))
        about = {"data": data, "order": seed[-1], "buffer_size": size}
        records: list[Record] = []
        for way, options in WAYS.items():
            if same and records:
                records.append(records[0] | {"way": way})
                continue
            kind = WindowEPClassifier if way == "window-EP" else VVMClassifier
            model = kind(size, margin_noise=setting.margin_noise, **options)
            predictions = model.predict_then_learn(rows, labels, classes=[0, 1])
            assert predictions.probabilities is not None
            records.append(
                about
                | {
                    "way": way,
                    "error": 100.0 * error(labels, predictions.labels),
                    "log_loss": log_loss(labels, predictions.probabilities, np.array([0, 1])),
                }
            )
        return records

    def summarise(self, records: Sequence[Record], options: Options) -> dict[str, Any]:
        """Return means by data set, way and size, and how much of the way to EP they go."""
        summary: dict[str, Any] = {"error": {}, "log_loss": {}, "closed": {}, "bars": {}}
        for data in SETTINGS:
            table = _table(records, data)
            sizes = [str(size) for size in table["sizes"]]
            for measure in ("error", "log_loss"):
                summary[measure][data] = {
                    way: dict(zip(sizes, table[measure, way].mean(axis=0).tolist(), strict=True))
                    for way in WAYS
                }
                summary["bars"].setdefault(measure, {})[data] = {
                    way: dict(zip(sizes, _bars(table[measure, way]).tolist(), strict=True))
                    for way in WAYS
                }
            summary["closed"][data] = {
                way: dict(zip(sizes, share_closed(table["log_loss", way]), strict=True))
                for way in WAYS
            }
        summary["parameters"] = {
            data: setting._asdict()
            | {"runs": len({r["order"] for r in records if r["data"] == data})}
            | {"rows": max(r["buffer_size"] for r in records if r["data"] == data)}
            for data, setting in SETTINGS.items()
        }
        return summary

    def statements(self, summary: dict[str, Any]) -> list[Statement]:
        """Ask whether predictions get better smoothly, and what merging and divergence add."""
        statements = []
        for data in SETTINGS:
            losses = list(summary["log_loss"][data]["VVM"].values())
            closed = summary["closed"][data]["VVM"]
            half = next((size for size, share in closed.items() if share and share >= 0.5), None)
            statements.append(
                Statement(
                    "VVM gives its user the freedom to choose a trade-off between the memory cost "
                    f"and accuracy ({data.title()}).",
                    f"Log-loss {losses[0]:.4f} without points (ADF), {losses[-1]:.4f} with all "
                    "(EP); "
                    + (f"{half} points go at least half of the way." if half else "no way to go."),
                    losses[-1] < losses[0],
                )
            )
        return statements

    def remarks(self, summary: dict[str, Any]) -> list[str]:
        """Say what was set, and what the pictures show."""
        settings = summary["parameters"]
        compared = []
        for data in SETTINGS:
            means = {
                way: float(np.mean(list(sizes.values())[1:-1]))
                for way, sizes in summary["log_loss"][data].items()
            }
            listed = ", ".join(f"{way} {mean:.4f}" for way, mean in means.items())
            compared.append(f"{data.title()}: {listed}.")
        return [
            "Nothing was chosen by validation: random Fourier features of the median distance "
            "between rows as bandwidth and s² = "
            f"{settings['thyroid']['margin_noise']:g} for Thyroid and Ionosphere, the columns and "
            f"s² = {settings['spambase']['margin_noise']:g} for Spambase, of which each order has "
            f"the first {settings['spambase']['rows']} rows, because EP after every row takes time "
            "that grows with the square of their number. ε = 0.",
            "Log-loss, mean over the sizes between the ends. " + " ".join(compared),
        ]

    def draw(self, records: Sequence[Record], summary: dict[str, Any]) -> Figure:
        """Draw one column for each data set: error, log-loss, and the way gone from ADF to EP."""
        from matplotlib.figure import Figure

        figure = Figure(figsize=(11.0, 8.4), layout="constrained")
        grid = figure.subplots(3, len(SETTINGS), sharex="col")
        for column, data in enumerate(SETTINGS):
            sizes = [int(size) for size in summary["error"][data]["VVM"]]
            places = np.arange(len(sizes))
            for way, (colour, marker, line) in STYLES.items():
                style: dict[str, Any] = {
                    "color": colour, "marker": marker, "linestyle": line, "markersize": 4.5,
                    "linewidth": 1.8 if way == "VVM" else 1.2, "label": way,
                }  # fmt: skip
                for row, measure in enumerate(("error", "log_loss")):
                    grid[row, column].errorbar(
                        places,
                        list(summary[measure][data][way].values()),
                        list(summary["bars"][measure][data][way].values()),
                        capsize=2.5,
                        **style,
                    )
                closed = summary["closed"][data][way].values()
                grid[2, column].plot(
                    places, [np.nan if c is None else 100.0 * c for c in closed], **style
                )
            settings = summary["parameters"][data]
            grid[0, column].set_title(
                f"{data.title()}: {settings['rows']} rows, {settings['runs']} orders"
            )
            grid[2, column].axhline(0.0, color="0.5", lw=0.8)
            grid[2, column].axhline(100.0, color="0.5", lw=0.8)
            names = ["0\nADF", *map(str, sizes[1:-1]), f"{sizes[-1]}\nEP"]
            grid[2, column].set_xticks(places, names, fontsize=8)
            grid[2, column].set_xlabel("points kept")
        grid[0, 0].set_ylabel("error, % of rows")
        grid[1, 0].set_ylabel("log-loss, nats per row")
        grid[2, 0].set_ylabel("way gone from ADF to EP, %\n(in log-loss)")
        grid[0, 0].legend(fontsize=8)
        for axes in grid.flat:
            axes.grid(alpha=0.3)
        return figure


def _table(records: Sequence[Record], data: str) -> dict[Any, Any]:
    """Return the sizes, and a matrix (order, size) for each measure and way."""
    of_data = [record for record in records if record["data"] == data]
    sizes = sorted({record["buffer_size"] for record in of_data})
    orders = sorted({record["order"] for record in of_data})
    table: dict[Any, Any] = {"sizes": sizes}
    for record in of_data:
        place = orders.index(record["order"]), sizes.index(record["buffer_size"])
        for measure in ("error", "log_loss"):
            matrix = table.setdefault(
                (measure, record["way"]), np.full((len(orders), len(sizes)), np.nan)
            )
            matrix[place] = record[measure]
    return table


def standard_errors(differences: Array) -> Array:
    """Return the standard error of the mean over orders, which are rows."""
    if len(differences) < 2:
        return np.zeros(differences.shape[1])
    errors: Array = differences.std(axis=0, ddof=1) / np.sqrt(len(differences))
    return errors


def _bars(values: Array) -> Array:
    """Return the standard error of the difference between each size and the largest."""
    return standard_errors(values - values[:, -1:])


def share_closed(losses: Array) -> list[float | None]:
    """Return the share of the way from the first size to the last that each size goes."""
    mean = losses.mean(axis=0)
    way = mean[0] - mean[-1]
    return [float((mean[0] - value) / way) if way != 0.0 else None for value in mean]
