"""How good predictions were, beside what guessing gives: for people, and for machines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from virtualvector.cli.console import print_table
from virtualvector.escaping import quoted

if TYPE_CHECKING:
    from virtualvector.evaluation import Tally

MOST_CLASSES = 12  # whose names are heads of a confusion matrix that fits the screen
MOST_NUMBERED = 40  # classes of one whose heads are numbers
MOST_CONFUSED = 20  # pairs of classes


def facts_of(tally: Tally, weighted: bool = False) -> dict[str, Any]:
    """Return all measures of predictions, for machines; of weighted rows none of their order."""
    order = tally.label_order
    facts = {
        **tally.measures._asdict(),
        "base_rate": _record(tally.base_rate),
        "by_class": [_record(each) for each in tally.by_class],
        "confusion": tally.outcomes.confusion.tolist(),
        "most_confused": [_record(each) for each in tally.most_confused(MOST_CONFUSED)],
        "cutoffs": [_record(each) for each in tally.cutoffs],
        "label_runs": {
            "observed": order.n_runs,
            "expected": order.expected,
            "in_blocks": order.in_blocks,
        },
    }
    if weighted:
        del facts["label_runs"]
    return facts


def _record(found: Any) -> dict[str, Any]:
    return {name.rstrip("_"): value for name, value in found._asdict().items()}


def lines_of(facts: dict[str, Any]) -> dict[str, str]:
    """Return measures for people, each beside what needs no model."""
    base = facts["base_rate"]
    always = f"  (always saying {quoted(base['class'])}: {base['error']:.4f})"
    lines = {
        "error": f"{facts['error']:.4f}" + always * (facts["rows"] > 0),
        "log-loss": f"{facts['log_loss']:.4f}"
        + f"  (class shares: {base['log_loss']:.4f})" * (facts["rows"] > 0),
        "Brier score": f"{facts['brier']:.4f}",
        "calibration error": f"{facts['calibration_error']:.4f}  (15 bins)",
    }
    if facts["cutoffs"]:
        rarer = next(
            each for each in facts["by_class"] if each["class"] == facts["cutoffs"][0]["class"]
        )
        lines["ROC-AUC"] = f"{rarer['roc_auc']:.3f}"
        lines["average precision"] = (
            f"{rarer['average_precision']:.3f}  (of {quoted(rarer['class'])}, which "
            f"{rarer['share']:.1%} of rows are)"
        )
    return lines


def print_classes(facts: dict[str, Any]) -> None:
    """Print how well each class is told from the others, and what is taken for what."""
    by_class = facts["by_class"]
    if len(by_class) < 2 or not facts["rows"]:
        return
    numbered = len(by_class) > MOST_CLASSES
    names = [
        f"{k} {each['class']}" if numbered else each["class"] for k, each in enumerate(by_class, 1)
    ]
    print()
    print_table(
        ("class", "rows", "share", "recall", "precision", "ROC-AUC", "average precision"),
        [
            [
                name, amount(each["rows"]), f"{each['share']:.4f}", _number(each["recall"]),
                _number(each["precision"]), _number(each["roc_auc"]),
                _number(each["average_precision"]),
            ]
            for name, each in zip(names, by_class, strict=True)
        ],
    )  # fmt: skip
    print()
    if len(names) <= MOST_NUMBERED:
        heads = [str(k) for k in range(1, len(names) + 1)] if numbered else names
        rows = zip(names, facts["confusion"], strict=True)
        table = [[name, *(_plain(n) if n else "·" for n in counts)] for name, counts in rows]
        print_table(("observed, predicted", *heads), table)
        n_outside = sum(each["rows"] for each in by_class) - sum(map(sum, facts["confusion"]))
        if n_outside > 0.5:  # of weights, rounding may leave something
            are = "1 row is" if n_outside == 1 else f"{n_outside:,} rows are"
            print(f"{are} not among these, as a class was not known when its first row came.")
    else:  # a matrix has no room
        errors = facts["most_confused"]
        table = [[each["observed"], each["predicted"], amount(each["rows"])] for each in errors]
        print_table(("observed", "predicted", "rows"), table)
        print(f"The most frequent errors; the whole matrix of {len(names)} classes is in --json.")


def print_cutoffs(facts: dict[str, Any]) -> None:
    """Print where to cut, by what errors cost."""
    if not facts["cutoffs"]:
        return
    name = quoted(facts["cutoffs"][0]["class"])
    print(f"\nWhen to say {name}, if missing one costs so many false alarms:")
    print_table(
        (
            "a miss costs", "above", "flagged", "recall", "precision", "cost", "at 0.5",
            "no model",
        ),
        [
            [
                f"{each['cost_of_miss']:g}", f"{each['cutoff']:.4f}", f"{each['flagged']:.4f}",
                f"{each['recall']:.3f}", _number(each["precision"]), f"{1000 * each['cost']:,.1f}",
                f"{1000 * each['cost_at_half']:,.1f}", f"{1000 * each['cost_without_model']:,.1f}",
            ]
            for each in facts["cutoffs"]
        ],
    )  # fmt: skip
    print(
        f"Above: the probability from which {name} is said; flagged: the share of rows where it "
        "is.\nCost: of 1,000 rows, in false alarms; at 0.5: if the more probable class is said; no "
        "model:\nif always the same is."
    )


def in_blocks(facts: dict[str, Any]) -> str | None:
    """Return what labels that come in blocks do to the figures; None if they do not."""
    runs = facts["label_runs"]
    if not runs["in_blocks"]:
        return None
    rows = facts["rows"]
    return (
        f"labels come in blocks: one follows its like for {rows / runs['observed']:,.1f} rows on "
        f"average, in a random order for {rows / runs['expected']:,.1f}."
    )


def amount(n: float) -> str:
    """Return how many rows there are, or how much they weigh.

    Examples
    --------
    >>> from virtualvector.cli.measures import amount
    >>> amount(1234), amount(1234.0), amount(0.1 + 0.2), amount(1e-9)
    ('1,234', '1,234', '0.3', '1e-09')
    """
    return f"{n:,}" if isinstance(n, int) else f"{n:,.0f}" if n.is_integer() else f"{n:,.6g}"


def _plain(n: float) -> str:
    return amount(n).replace(",", "")


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
