"""`vvm inspect`: what is in a model file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import numpy as np
import typer

from virtualvector.cli.console import print_facts, print_table
from virtualvector.cli.model_file import notes_of_learning
from virtualvector.cli.options import JsonOption
from virtualvector.cli.pool import described
from virtualvector.escaping import counted, in_a_list, printable

if TYPE_CHECKING:
    from virtualvector.evaluation import Measures

HALF_WIDTH = 1.959964  # standard deviations on each side hold 95 % of a normal distribution
MOST_POINTS = 10
LONGEST = 60  # characters of a category among others
MOST_COLUMNS = 4  # of a point
_SHOWN = ("categorical_features", "text_features", "experts")  # settings that are told otherwise


class Weight(NamedTuple):
    """What is known of one weight."""

    column: str
    of_class: str
    mean: float
    deviation: float


def inspect(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Model file.", show_default=False)],
    most: Annotated[
        int, typer.Option(min=0, metavar="N", help="Weights to show, the most certain ones.")
    ] = 15,
    json: JsonOption = None,
) -> None:
    """Say what a model is, what it has seen, and what it has learned.

    Weights are shown with intervals that hold 95 % of the posterior. Those
    of vvm learn are for columns in running standard deviations.

    For example:

        vvm inspect outcome.vvm
    """
    from virtualvector import persistence
    from virtualvector.cli.outputs import check_outputs, leaving_room_for
    from virtualvector.cli.summary import write_json

    check_outputs([], [("--json", json)], model=file)
    saved = persistence.read(file)
    notes = notes_of_learning(file, saved.model, saved.about) or {}
    weights = _weights(saved.model)
    with leaving_room_for(json):
        _print_facts(file, saved, notes)
        if weights:  # there are none for a single class: nothing is to be told apart
            _print_weights(weights, most)
        if weights and hasattr(saved.model, "virtual_points_"):
            _print_points(saved.model, list(dict.fromkeys(weight.column for weight in weights)))
        if hasattr(saved.model, "experts_"):
            _print_experts(saved.model.experts_)
    if json is not None:
        write_json(_for_machines(saved, notes, weights), json)


def _for_machines(saved: Any, notes: dict[str, Any], weights: list[Weight]) -> dict[str, Any]:
    header = {name: value for name, value in saved.header.items() if name != "about"}
    facts = {**header, "rows": saved.model.n_seen_, "label": notes.get("label")}
    if "tally" in notes:
        facts |= _measures(notes)._asdict()
    facts |= {name: (saved.about or {}).get(name) for name in ("pooled", "common")}
    facts["weights"] = [weight._asdict() for weight in weights]
    facts["experts"] = getattr(saved.model, "experts_", [])
    return facts


def _measures(notes: dict[str, Any]) -> Measures:
    from virtualvector.evaluation import Tally

    return Tally.from_dict(notes["tally"]).measures


def _print_facts(file: Path, saved: Any, about: dict[str, Any]) -> None:
    model, noted, header = saved
    names = _columns(model)
    facts = {
        "model": f"{header['learner']}, written by {header['program']}, format {header['format']}",
        "learned on": f"{header['processor']} (kind of processor)",
        "bytes": f"{file.stat().st_size:,}",
        "rows learned": f"{model.n_seen_:,}",
        "learned apart": described(noted),
        "classes": _listed([str(label) for label in model.classes_], 20),
        "label": about.get("label"),
        "columns": f"{len(names)}: {_listed(names, 6)}",
        "categorical": _listed(_of_kind(model, "is_categorical_", names), 6) or None,
        "texts": _listed(_of_kind(model, "is_text_", names), 6) or None,
    }
    if "tally" in about:
        error, log_loss, brier, off = _measures(about)
        facts["error"] = f"{error:.4f}, before each row was learned"
        facts["log-loss"] = f"{log_loss:.4f}"
        facts["Brier score"] = f"{brier:.4f}"
        facts["calibration error"] = f"{off:.4f}"
    lost = model.counters_
    facts["points evicted"] = f"{lost['evicted']:,}"
    facts["pairs merged"] = f"{lost['merged']:,}"
    settings = {name: value for name, value in model.get_params().items() if name not in _SHOWN}
    facts |= {name: repr(value) for name, value in settings.items() if value is not None}
    print_facts({name: text for name, text in facts.items() if text is not None})


def _short(name: str) -> str:
    return printable(name, 30)


def _listed(names: list[str], most: int) -> str:
    shown = ", ".join(in_a_list(name, LONGEST) for name in names[:most])
    return shown + (" …" if len(names) > most else "")


def _columns(model: Any) -> list[str]:
    names = getattr(model, "feature_names_in_", None)
    return [f"x{k}" for k in range(model.n_features_in_)] if names is None else names.tolist()


def _of_kind(model: Any, kind: str, names: list[str]) -> list[str]:
    flags = getattr(model, kind, [])
    return [name for name, is_it in zip(names, flags, strict=False) if is_it]


def _positives(model: Any) -> list[str]:
    """Return the class that each posterior is for."""
    classes = [str(label) for label in model.classes_]
    return classes[1:] if len(classes) == 2 else classes


def _weights(model: Any) -> list[Weight]:
    if hasattr(model, "weight_table_"):
        return [
            Weight(c["column"], str(c["class"]), c["mean"], c["deviation"])
            for c in model.weight_table_
        ]
    names = [*_columns(model), "bias"]
    matrices = np.atleast_3d(model.covariance_.T).T
    means = np.column_stack([model.coef_, model.intercept_])[:, : matrices.shape[1]]
    return [
        Weight(name, label, float(m), float(d))
        for label, mean, matrix in zip(_positives(model), means, matrices, strict=False)
        for name, m, d in zip(names, mean, np.sqrt(np.diag(matrix)), strict=False)
    ]


def _print_weights(weights: list[Weight], most: int) -> None:
    n_classes = len({weight.of_class for weight in weights})
    certain = sorted(weights, key=lambda w: -abs(w.mean) / max(w.deviation, 1e-300))[:most]
    rows = [
        [
            _short(w.column) + (f", for {_short(w.of_class)}" if n_classes > 1 else ""),
            f"{w.mean:+.3f}",
            f"{w.mean - HALF_WIDTH * w.deviation:+.3f} to {w.mean + HALF_WIDTH * w.deviation:+.3f}",
        ]
        for w in certain
    ]
    of = f" for {printable(weights[0].of_class, LONGEST)}" if n_classes == 1 else ""
    print(f"\nThe most certain of {counted(len(weights), 'weight')}{of}")
    print_table(("weight", "mean", "95 %"), rows)


def _print_points(model: Any, names: list[str]) -> None:
    points = model.virtual_points_
    for label, of_class in zip(
        _positives(model), points if isinstance(points, list) else [points], strict=False
    ):
        rows = [
            [f"{k + 1}", _strongest(point, names)] for k, point in enumerate(of_class[:MOST_POINTS])
        ]
        if rows:
            name = printable(label, LONGEST)
            print(f"\nVirtual points for {name}: {len(of_class)}, by their largest entries")
            print_table(("point", "entries"), rows)


def _strongest(point: Any, names: list[str]) -> str:
    order = np.argsort(-abs(point), kind="stable")[:MOST_COLUMNS]
    return ", ".join(f"{printable(names[k], 20)} {point[k]:+.2f}" for k in order)


def _print_experts(experts: list[dict[str, Any]]) -> None:
    from virtualvector.learners.expert import described

    rows = [
        [
            described(expert),
            f"{expert['weight']:.4f}",
            f"{expert['evidence']:.1f}",
            "awake" if expert["awake"] else "asleep",
        ]
        for expert in sorted(experts, key=lambda expert: -expert["weight"])
    ]
    print("\nExperts")
    print_table(("assumes", "weight", "evidence", ""), rows)
