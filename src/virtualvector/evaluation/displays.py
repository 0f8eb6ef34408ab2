"""Pictures of a classifier: whom it trusted along the stream, and observed against predicted.

As scikit-learn's displays, they are made by `from_estimator` or `from_predictions` and drawn by
`plot`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from virtualvector.auto.classifier import AutoVVMClassifier
from virtualvector.auto.committee import BLOCK
from virtualvector.auto.history import in_words
from virtualvector.escaping import AS_IT_IS, printable
from virtualvector.evaluation.metrics import BINS, reliability
from virtualvector.learners.validation import check_known
from virtualvector.types import Array, Labels

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Told apart by hatches and shades as well as by colour, so that they survive a grey printer.
_COLOURS = ("#56b4e9", "#f0e442", "#e8a0c8", "#009e73", "#e69f00", "#b8b8e0", "#d0d0d0", "#a8d8c0")
_HATCHES = ("", "//", "..", "\\\\", "xx", "--", "oo", "||", "++")
_OTHERS = "others"
_LONGEST = 60  # characters of what is predicted


class WeightsDisplay:
    """How much each expert of an `AutoVVMClassifier` was trusted along the stream.

    Parameters
    ----------
    n_rows : ndarray of shape (n_moments,)
        The rows seen at each moment.
    names : list of str
        What each expert assumes, from the one that is drawn lowest upwards.
    weights : ndarray of shape (n_names, n_moments)
        The weight of each at each moment.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it is drawn.
    figure_ : matplotlib Figure
        The figure of these axes.

    Examples
    --------
    >>> from virtualvector import AutoVVMClassifier
    >>> from virtualvector.datasets import load_spambase
    >>> from virtualvector.evaluation import WeightsDisplay
    >>> X, y = load_spambase(return_X_y=True, random_state=0)
    >>> model = AutoVVMClassifier().fit(X[:300], y[:300])
    >>> display = WeightsDisplay.from_estimator(model, most=2)
    >>> display.n_rows
    array([128, 256])
    >>> display.weights.shape, display.names[-1]
    ((3, 2), 'others')
    """

    ax_: Axes
    figure_: Any

    def __init__(self, n_rows: Any, names: list[str], weights: Array) -> None:
        self.n_rows = np.asarray(n_rows)
        self.names = names
        self.weights = weights

    @classmethod
    def from_estimator(
        cls, model: AutoVVMClassifier, ax: Axes | None = None, most: int = 6
    ) -> Self:
        """Draw the weights of the experts of a classifier.

        Parameters
        ----------
        model : AutoVVMClassifier
            It must have learned a block of rows.
        ax : matplotlib Axes, optional
            Where to draw, if not on a new figure. The legend is to the right of it, and has its
            room in a figure of ``layout="constrained"``.
        most : int, default=6
            How many experts to show, those of the largest mean weight; the others are summed.

        Returns
        -------
        WeightsDisplay
            What was drawn.
        """
        if most < 1:
            raise ValueError(f"At least 1 expert has to be shown, most={most} was given.")
        history = model.history_
        if not history:
            raise ValueError(
                f"Weights are recorded every {BLOCK} rows: at least {BLOCK} rows have to be "
                f"learned, the model has learned {model.n_seen_}."
            )
        return cls.from_history(in_words(history), ax, most)

    @classmethod
    def from_history(
        cls,
        history: Sequence[tuple[int, Mapping[str, float]]],
        ax: Axes | None = None,
        most: int = 6,
    ) -> Self:
        """Draw the weights of experts that are known by what they are called.

        Parameters
        ----------
        history : sequence of (int, dict)
            At each moment the rows seen, and the weight of each expert.
        ax, most
            As for `from_estimator`.

        Returns
        -------
        WeightsDisplay
            What was drawn.
        """
        experts = list(dict.fromkeys(expert for _, weights in history for expert in weights))
        # An expert that has not come yet, or has gone, weighs nothing.
        weights = np.array([[m.get(expert, 0.0) for _, m in history] for expert in experts])
        order = np.argsort(-weights.mean(axis=1), kind="stable")
        names, shown = [experts[e] for e in order[:most]], weights[order[:most]]
        if len(experts) > most:
            names.append(_OTHERS)
            shown = np.vstack([shown, weights[order[most:]].sum(axis=0)])
        return cls([n_rows for n_rows, _ in history], names, shown).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw stacked areas, one for each expert; each stretch has the weights at its end.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw, if not on a new figure.

        Returns
        -------
        self
            The display.
        """
        ax = _new_axes(9.0, 4.2) if ax is None else ax
        n = len(self.names)
        others = self.names[-1] == _OTHERS
        ax.stackplot(
            np.append(0, self.n_rows),
            self.weights[:, [0, *range(len(self.n_rows))]],
            labels=[printable(name, _LONGEST) for name in self.names],
            colors=[_COLOURS[k % len(_COLOURS)] for k in range(n - others)] + ["white"] * others,
            hatch=[_HATCHES[k % len(_HATCHES)] for k in range(n - others)] + [""] * others,
            edgecolor="0.2",
            linewidth=0.6,
            step="pre",
        )
        ax.set_xlim(0, self.n_rows[-1])
        ax.set_ylim(0.0, 1.0)
        ax.set_xlabel("rows seen")
        ax.set_ylabel("weight of experts")
        legend = ax.legend(  # in the order of the areas
            loc="upper left",
            bbox_to_anchor=(1.0, 1.0),
            reverse=True,
            frameon=False,
            handlelength=3.0,
            handleheight=1.6,
        )
        for text in legend.get_texts():
            text.set(**AS_IT_IS)
        self.ax_, self.figure_ = ax, ax.figure
        return self


class ReliabilityDisplay:
    """What was observed against what was predicted, in bins of the predicted probability.

    With two classes the prediction is the probability of the second one; with more, that of the
    most probable one. The bars are ±2 standard errors of the share in a bin if what was predicted
    is right: about one in twenty misses the diagonal then.

    Parameters
    ----------
    n_rows : ndarray of shape (n_bins,)
        The rows in each bin.
    predicted, observed : ndarray of shape (n_bins,)
        The mean prediction in each bin, and the share of rows for which it came true; nan where a
        bin is empty.
    event : str
        What is predicted.

    Attributes
    ----------
    standard_error : ndarray of shape (n_bins,)
        Of the observed share, if the prediction is right.
    ax_, counts_ax_ : matplotlib Axes
        Where it is drawn; below it, the number of rows.
    figure_ : matplotlib Figure
        The figure of these axes.

    Examples
    --------
    What was predicted of each row of a stream before it was learned:

    >>> from virtualvector import AutoVVMClassifier
    >>> from virtualvector.datasets import load_spambase
    >>> from virtualvector.evaluation import ReliabilityDisplay
    >>> X, y = load_spambase(return_X_y=True, random_state=0)
    >>> model = AutoVVMClassifier()
    >>> _, predicted = model.predict_then_learn(X[:300], y[:300])
    >>> display = ReliabilityDisplay.from_predictions(y[:300], predicted, model.classes_)
    >>> display.ax_.get_ylabel()
    'observed share of class 1'
    >>> int(display.n_rows.sum())
    300
    """

    ax_: Axes
    counts_ax_: Axes
    figure_: Any

    def __init__(self, n_rows: Any, predicted: Array, observed: Array, event: str) -> None:
        self.n_rows = np.asarray(n_rows)
        self.predicted = predicted
        self.observed = observed
        self.event = event

    @property
    def standard_error(self) -> Array:
        """The standard error of what is observed in each bin, if the prediction is right."""
        of_share: Array = np.full(len(self.n_rows), np.nan)
        some, p = self.n_rows > 0, self.predicted
        of_share[some] = np.sqrt(p[some] * (1.0 - p[some]) / self.n_rows[some])
        return of_share

    @classmethod
    def from_estimator(cls, model: Any, X: Any, y: Any, ax: Axes | None = None) -> Self:
        """Draw how reliable a classifier is on rows that it has not learned.

        Parameters
        ----------
        model : classifier
            Fitted, with `predict_proba` and `classes_`.
        X, y : data frame or array-like
            Rows and their classes.
        ax : matplotlib Axes, optional
            Where to draw, if not on a new figure.

        Returns
        -------
        ReliabilityDisplay
            What was drawn.
        """
        return cls.from_predictions(y, model.predict_proba(X), model.classes_, ax)

    @classmethod
    def from_predictions(
        cls, labels: Any, probabilities: Any, classes: Any, ax: Axes | None = None
    ) -> Self:
        """Draw how reliable stated probabilities are.

        Parameters
        ----------
        labels : array-like of shape (n_rows,)
            What was observed.
        probabilities : array-like of shape (n_rows, n_classes)
            What was predicted, a column for each class.
        classes : array-like of shape (n_classes,)
            The classes, in the order of the columns.
        ax : matplotlib Axes, optional
            The subplot to draw in, if not a new figure; the counts take the lower fifth of it.

        Returns
        -------
        ReliabilityDisplay
            What was drawn.
        """
        labels, classes = np.asarray(labels), np.asarray(classes)
        probabilities = np.asarray(probabilities, dtype=np.float64)
        _check(labels, probabilities, classes)
        event = f"class {classes[1]}" if len(classes) == 2 else "the most probable class"
        return cls(*reliability(labels, probabilities, classes), event).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw observed against predicted, and below it how many rows that is from.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            The subplot to draw in, if not a new figure; the counts take the lower fifth of it.

        Returns
        -------
        self
            The display.
        """
        ax = _new_axes(5.2, 6.0) if ax is None else ax
        counts = _split_off_below(ax)
        some = self.n_rows > 0
        ax.plot([0.0, 1.0], [0.0, 1.0], color="0.5", linestyle="--", label="if always right")
        ax.errorbar(
            self.predicted[some],
            self.observed[some],
            yerr=2.0 * self.standard_error[some],
            color="black",
            marker="o",
            markersize=5.0,
            linewidth=1.0,
            capsize=3.0,
            label="observed, ±2 standard errors",
        )
        ax.set_xlim(-0.02, 1.02)
        ax.set_ylim(-0.02, 1.02)
        event = printable(self.event, _LONGEST)
        ax.set_ylabel(f"observed share of {event}", **AS_IT_IS)
        ax.tick_params(labelbottom=False)
        ax.grid(alpha=0.3)
        ax.legend(loc="upper left", frameon=False)
        counts.bar(np.arange(BINS) / BINS, self.n_rows, 1.0 / BINS, align="edge", color="0.7")
        counts.set_yscale("log")
        counts.set_ylim(0.5, 2.0 * self.n_rows.max())  # so that one row can be seen
        ticks = [10**k for k in range(len(str(self.n_rows.max())))]
        counts.set_yticks(ticks, [str(n) for n in ticks])
        counts.minorticks_off()
        counts.set_ylabel("rows")
        counts.set_xlabel(f"predicted probability of {event}", **AS_IT_IS)
        self.ax_, self.counts_ax_, self.figure_ = ax, counts, ax.figure
        return self


def _new_axes(width: float, height: float) -> Axes:
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=(width, height), layout="constrained")[1]


def _split_off_below(ax: Axes) -> Axes:
    """Return new axes that take the lower fifth of a subplot."""
    spec = ax.get_subplotspec()
    if spec is None:
        raise ValueError("ax has no place in a grid; expected axes as made by plt.subplots.")
    parts = spec.subgridspec(2, 1, height_ratios=(4.0, 1.0), hspace=0.05)
    ax.set_subplotspec(parts[0])
    return ax.figure.add_subplot(parts[1], sharex=ax)


def _check(labels: Labels, probabilities: Array, classes: Labels) -> None:
    expected = (len(labels), len(classes))
    if probabilities.shape != expected:
        raise ValueError(
            f"probabilities have shape {probabilities.shape}; expected {expected}, "
            f"a row for each label and a column for each class."
        )
    if len(labels) == 0:
        raise ValueError("Found 0 labels; expected at least one.")
    if not np.all((probabilities >= 0.0) & (probabilities <= 1.0)):
        raise ValueError("Some probabilities are not in [0, 1].")
    check_known(labels, classes)
