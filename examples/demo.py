"""Learn to tell spam from ham online: predict each e-mail, then learn it, once, in constant memory.

    python examples/demo.py [--seed SEED] [--picture FILE.png]

The stream is Spambase (4601 e-mails, 57 columns), shuffled with a seed. All columns are counts or
frequencies; each is replaced by log(1 + x), which needs no look at other rows. The noise of the
margin is set to 1, a round number of the size of the prior's variance; 0.1 and 10 do a bit worse.
"""

from __future__ import annotations

import argparse
import pickle
from itertools import pairwise
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from virtualvector import ADFClassifier, VVMClassifier, WindowEPClassifier
from virtualvector.datasets import load_spambase
from virtualvector.evaluation.metrics import (
    BINS,
    Reliability,
    calibration_error,
    log_loss,
    reliability,
)

Array = NDArray[np.float64]
Labels = NDArray[np.int64]

MARGIN_NOISE = 1.0
CLASSES = np.array([0, 1])


def spam_stream(seed: int) -> tuple[Array, Labels]:
    """Return the e-mails in a random order, each column as log(1 + x)."""
    columns, labels = load_spambase(return_X_y=True, random_state=seed)
    return np.log1p(columns), labels


def predict_then_learn(model: Any, rows: Array, labels: Labels, show: bool = False) -> Array:
    """Return the probability of spam for each row, stated before the row was learned."""
    probabilities = np.empty(0)
    n = len(rows)
    stops = [2**k for k in range(n.bit_length()) if 2**k < n] + [n]
    for start, stop in pairwise([0, *stops]):  # powers of two, and the end
        said = model.predict_then_learn(rows[start:stop], labels[start:stop], classes=CLASSES)
        probabilities = np.append(probabilities, said.probabilities[:, 1])
        if show:
            print_progress(probabilities, labels[:stop], start)
    return probabilities


def errors(probabilities: Array, labels: Labels) -> Array:
    """Return 1 where the more probable class was wrong, else 0."""
    return np.where((probabilities > 0.5) == (labels == 1), 0.0, 1.0)


def of_both(probabilities: Array) -> Array:
    """Return the probabilities of ham and of spam."""
    return np.column_stack([1.0 - probabilities, probabilities])


def print_progress(probabilities: Array, labels: Labels, shown: int) -> None:
    """Print one line of the table; ``shown`` rows had been seen at the line before."""
    wrong = errors(probabilities, labels)
    print(
        f"{len(labels):>8}{wrong.mean():>14.4f}{wrong[shown:].mean():>18.4f}"
        f"{log_loss(labels, of_both(probabilities), CLASSES):>17.4f}",
        flush=True,
    )


def print_summary(model: Any, probabilities: Array, labels: Labels, seconds: float) -> None:
    """Print what came out."""
    stated = of_both(probabilities)
    bins = reliability(labels, stated, CLASSES)
    lines = {
        "rows": f"{model.n_seen_}",
        "error": f"{errors(probabilities, labels).mean():.4f}",
        "log-loss": f"{log_loss(labels, stated, CLASSES):.4f}",
        "calibration error": f"{calibration_error(labels, stated, CLASSES):.4f}  ({BINS} bins)",
        "virtual points kept": f"{len(model.virtual_points_)}",
        "points evicted": f"{model.history_['evicted']}",
        "pairs merged": f"{model.history_['merged']}",
        "bytes of the model": f"{len(pickle.dumps(model))}  (pickled)",
        "seconds": f"{seconds:.1f}  ({1e3 * seconds / len(labels):.2f} ms per row)",
    }
    print()
    for name, text in lines.items():
        print(f"{name:<22}{text}")
    print("\nWhen it said spam with probability p, how often was it spam?\n")
    print("               p     rows   predicted   observed")
    for k, (n_rows, predicted, observed) in enumerate(zip(*bins, strict=True)):
        between = f"{k / BINS:.2f} to {(k + 1) / BINS:.2f}"
        means = f"{predicted:>12.3f}{observed:>11.3f}" if n_rows else ""
        print(f"{between:>16}{n_rows:>9}{means}")


def draw(path: Path, runs: dict[str, Array], labels: Labels) -> None:
    """Draw the error along the stream of all runs, and the reliability of the first."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.0, 4.2), dpi=200, layout="constrained")
    grid = figure.add_gridspec(2, 2, width_ratios=[1.15, 1.0], height_ratios=[3.0, 1.0])
    draw_errors(figure.add_subplot(grid[:, 0]), runs, labels)
    name, probabilities = next(iter(runs.items()))
    upper = figure.add_subplot(grid[0, 1])
    lower = figure.add_subplot(grid[1, 1], sharex=upper)
    draw_reliability(upper, lower, name, reliability(labels, of_both(probabilities), CLASSES))
    figure.savefig(path, metadata={"Software": None})


def draw_errors(axes: Any, runs: dict[str, Array], labels: Labels) -> None:
    """Draw the cumulative error of each run."""
    first = 32
    number = np.arange(1, len(labels) + 1)
    # A broad light line below thin dark ones: where they coincide, all can be seen, also in grey.
    styles = (("#8fc1e3", "-", 5.0), ("black", "--", 1.3), ("#b2182b", ":", 1.8))
    for (name, probabilities), (colour, line, width) in zip(runs.items(), styles, strict=False):
        error = 100.0 * np.cumsum(errors(probabilities, labels)) / number
        axes.plot(
            number[first - 1 :], error[first - 1 :], line, color=colour, lw=width,
            label=f"{name}: {error[-1]:.2f} %",
        )  # fmt: skip
    ticks = [n for n in 2 ** np.arange(5, 16, 1) if n <= len(labels)]
    axes.set_xscale("log")
    axes.set_xticks(ticks, [str(n) for n in ticks])
    axes.minorticks_off()
    axes.set_ylim(bottom=0.0)
    axes.set_xlabel("e-mails seen")
    axes.set_ylabel("wrong so far, % of e-mails")
    axes.set_title("Predict, then learn", fontsize=11)
    axes.grid(alpha=0.3)
    axes.legend(title="after the last e-mail", loc="upper right")


def draw_reliability(upper: Any, lower: Any, name: str, bins: Reliability) -> None:
    """Draw observed against predicted, with twice the standard error, above the counts."""
    spread = 2.0 * np.sqrt(bins.observed * (1.0 - bins.observed) / np.maximum(bins.n_rows, 1))
    upper.plot([0, 1], [0, 1], color="0.6", lw=1.0, zorder=0, label="as predicted")
    upper.errorbar(
        bins.predicted, bins.observed, spread, fmt="o", color="black", ms=4.5, lw=1.0, capsize=2.5,
        label="± 2 standard errors",
    )  # fmt: skip
    upper.legend(loc="lower right")
    upper.set_ylim(-0.04, 1.04)
    upper.tick_params(labelbottom=False)
    upper.set_ylabel("observed share of spam")
    upper.set_title(f"{name}: are its probabilities right?", fontsize=11)
    upper.grid(alpha=0.3)
    lower.bar((np.arange(BINS) + 0.5) / BINS, bins.n_rows, 0.9 / BINS, color="0.45")
    lower.set_yscale("log")
    lower.set_ylim(10.0, 4000.0)
    lower.set_yticks([10, 100, 1000], ["10", "100", "1000"])
    lower.set_xlim(-0.02, 1.02)
    lower.set_ylabel("e-mails")
    lower.set_xlabel("predicted probability of spam")
    lower.grid(alpha=0.3, axis="y")


def main(arguments: list[str] | None = None) -> None:
    """Run the demo."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, default=0, help="of the order of the e-mails")
    parser.add_argument(
        "--picture", type=Path, metavar="FILE.png", help="draw it, beside two simpler learners"
    )
    options = parser.parse_args(arguments)

    rows, labels = spam_stream(options.seed)
    model = VVMClassifier(buffer_size=30, margin_noise=MARGIN_NOISE)
    print(f"Spambase: {len(labels)} e-mails, {labels.mean():.1%} spam; log(1 + x) of each column.")
    print("Every e-mail is predicted, then learned, then gone.")
    print(
        "The first run ever compiles, for half a minute or so; later ones start at once.\n",
        flush=True,
    )
    VVMClassifier().partial_fit(rows[:1], labels[:1], classes=[0, 1]).predict_proba(rows[:1])

    print("    rows  error so far  since line above  log-loss so far")
    start = perf_counter()
    probabilities = predict_then_learn(model, rows, labels, show=True)
    print_summary(model, probabilities, labels, perf_counter() - start)
    if options.picture:
        runs = {"VVM, 30 points": probabilities}
        for name, other in {
            "window-EP, 30 rows": WindowEPClassifier(30, margin_noise=MARGIN_NOISE),
            "ADF, Gaussian only": ADFClassifier(margin_noise=MARGIN_NOISE),
        }.items():
            runs[name] = predict_then_learn(other, rows, labels)
        draw(options.picture, runs, labels)
        print(f"Drawn: {options.picture}")


if __name__ == "__main__":
    main()
