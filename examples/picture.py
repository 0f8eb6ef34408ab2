"""Draw the error along Spambase for three learners, and how reliable the first one is.

    python examples/picture.py FILE.png [--seed SEED]

The stream is Spambase (4601 e-mails, 57 columns), shuffled with a seed. All columns are counts or
frequencies; each is replaced by log(1 + x), which needs no look at other rows. The noise of the
margin is set to 1, a round number of the size of the prior's variance; 0.1 and 10 do a bit worse.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from virtualvector import ADFClassifier, VVMClassifier, WindowEPClassifier
from virtualvector.datasets import load_spambase
from virtualvector.evaluation.metrics import BINS, Reliability, reliability

Array = NDArray[np.float64]
Labels = NDArray[np.int64]

MARGIN_NOISE = 1.0
CLASSES = np.array([0, 1])


def spam_stream(seed: int) -> tuple[Array, Labels]:
    """Return the e-mails in a random order, each column as log(1 + x)."""
    columns, labels = load_spambase(return_X_y=True, random_state=seed)
    return np.log1p(columns), labels


def errors(probabilities: Array, labels: Labels) -> Array:
    """Return 1 where the more probable class was wrong, else 0."""
    return np.where((probabilities > 0.5) == (labels == 1), 0.0, 1.0)


def of_both(probabilities: Array) -> Array:
    """Return the probabilities of ham and of spam."""
    return np.column_stack([1.0 - probabilities, probabilities])


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


def main() -> None:
    """Draw it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("picture", type=Path, metavar="FILE.png")
    parser.add_argument("--seed", type=int, default=0, help="of the order of the e-mails")
    options = parser.parse_args()
    rows, labels = spam_stream(options.seed)
    learners = {
        "VVM, 30 points": VVMClassifier(30, margin_noise=MARGIN_NOISE),
        "window-EP, 30 rows": WindowEPClassifier(30, margin_noise=MARGIN_NOISE),
        "ADF, Gaussian only": ADFClassifier(margin_noise=MARGIN_NOISE),
    }
    runs = {
        name: learner.predict_then_learn(rows, labels).probabilities[:, 1]
        for name, learner in learners.items()
    }
    draw(options.picture, runs, labels)


if __name__ == "__main__":
    main()
