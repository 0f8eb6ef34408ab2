"""What figures 2 to 4 share: the error along a stream, of every learner, over several orders.

Three stages. The features are chosen by EP's validation error, as in the paper. Then every learner
chooses its own parameters, by its error along orders of the stream that are not used again: one
rule for all. Then all learners run along the same orders.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from scipy.stats import ttest_rel

from virtualvector.evaluation import all_learners, cumulative_error, log_loss, predict_then_learn
from virtualvector.paper.experiment import Experiment, Options, Record, Statement, Task
from virtualvector.paper.problems import FeatureMap, Problem, load_problem, typical_distance
from virtualvector.paper.validation import Noise, Validation, choose, validate
from virtualvector.types import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RUNS = 10
TUNING_ORDERS = 2
ROWS_TO_VALIDATE = 1000
POINTS_OF_A_CURVE = 60
QUICK_ROWS = 100
BANDWIDTHS = (0.5, 2**-0.5, 1.0, 2**0.5, 2.0)  # in units of the median distance between rows
NOISES_TO_VALIDATE = (Noise(0.0, 0.01), Noise(0.0, 0.1))
LABEL_NOISES = (0.0, 0.01, 0.02, 0.05)
MARGIN_NOISES = (0.0, 0.01, 0.1)

PAPER = ("VVM", "ADF", "window-EP", "SOGP", "PA", "NG")
AS_IN_THE_PAPER = "VVM, s² = 0"  # without the noise of the margin, which the paper does not have
ON_COLUMNS = "VVM, columns"

# The second number of every seed: what is drawn.
ORDER, TUNING_ORDER, VALIDATION = range(3)


class Stream(NamedTuple):
    """What one of the three figures is about."""

    data: str
    buffer_size: int
    basis_points: int  # of SOGP
    dimensions: tuple[int, ...]  # of the features tried; 0 is the columns as they are


class StreamFigure(Experiment):
    """The error along one of the paper's streams."""

    stream: ClassVar[Stream]

    def plan(self, options: Options, records: Sequence[Record]) -> list[Task]:
        """Validate features, then tune learners, then run them."""
        n_rows = QUICK_ROWS if options.quick else len(load_problem(self.stream.data).labels)
        common: dict[str, Any] = {"seed": options.seed, "rows": n_rows, "quick": options.quick}
        tasks = [
            Task(f"validate-{k}", common | {"stage": "validate", "features": features})
            for k, features in enumerate(self._feature_maps(options.quick))
        ]
        stages = {record["stage"] for record in records}
        if "validate" in stages:
            common["features"] = best_features(records)
            orders = range(1 if options.quick else TUNING_ORDERS)
            tasks += [
                Task(
                    f"tune-{k}-{_slug(learner)}",
                    common | {"stage": "tune", "order": k, "learner": learner},
                )
                for k, learner in product(orders, self._grids(options.quick))
            ]
        if "tune" in stages:
            orders = range(options.runs or (2 if options.quick else RUNS))
            best = best_parameters(records)
            tasks += [
                Task(
                    f"run-{k:03}-{_slug(learner)}",
                    common
                    | {"stage": "run", "order": k, "learner": learner}
                    | {"parameters": best[learner]},
                )
                for k, learner in product(orders, best)
            ]
        return tasks

    def work(self, arguments: dict[str, Any]) -> list[Record]:
        """Do a task of any stage."""
        problem = load_problem(self.stream.data)
        stage, seed = arguments["stage"], arguments["seed"]
        if stage == "validate":
            n_rows = min(arguments["rows"], ROWS_TO_VALIDATE)
            rows, labels = problem.shuffled([seed, VALIDATION])
            features = FeatureMap(*arguments["features"])
            return [
                {"stage": stage, "learner": "EP"}
                | {"features": features.n_features, "bandwidth": features.bandwidth}
                | {"parameters": json.dumps(noise._asdict())}
                | _validation(Problem(rows[:n_rows], labels[:n_rows]), features, noise, seed)
                for noise in NOISES_TO_VALIDATE
            ]
        drawn = [seed, TUNING_ORDER if stage == "tune" else ORDER, arguments["order"]]
        rows, labels = (part[: arguments["rows"]] for part in problem.shuffled(drawn))
        learner = arguments["learner"]
        if learner not in ("SOGP", "budget perceptron", ON_COLUMNS):
            rows = FeatureMap(*arguments["features"])(rows, drawn)
        about = {"stage": stage, "learner": learner, "order": arguments["order"]}
        if stage == "tune":
            return [
                about | {"parameters": json.dumps(parameters)}
                | {"rows": len(labels), "error": 100.0 * float(wrong[-1])}
                for parameters in self._grids(arguments["quick"])[learner]
                for wrong, _ in [self._along(learner, parameters, rows, labels)]
            ]  # fmt: skip
        wrong, loss = self._along(learner, arguments["parameters"], rows, labels)
        about["parameters"] = json.dumps(arguments["parameters"])
        records = [
            about | {"rows": int(n), "error": 100.0 * float(wrong[n - 1])}
            for n in _places(len(labels))
        ]
        if loss is not None:
            records[-1]["log_loss"] = loss
        return records

    def _along(
        self, learner: str, parameters: dict[str, Any], rows: Array, labels: Any
    ) -> tuple[Array, float | None]:
        """Return the share of errors after each row, and the log-loss of those with probabilities.

        Each row is predicted, then learned.
        """
        model = all_learners(rows.shape[1], self.stream.buffer_size)[learner.partition(",")[0]]
        classes = np.array([0, 1])
        predictions = predict_then_learn(model.set_params(**parameters), rows, labels, classes)
        loss = None
        if predictions.probabilities is not None:
            loss = log_loss(labels, predictions.probabilities, classes)
        return cumulative_error(labels, predictions.labels), loss

    def _feature_maps(self, quick: bool) -> Iterator[FeatureMap]:
        unit = typical_distance(self.stream.data)
        for n_features in self.stream.dimensions:
            if n_features == 0:
                yield FeatureMap()
            else:
                for bandwidth in BANDWIDTHS[2:3] if quick else BANDWIDTHS:
                    yield FeatureMap(n_features, bandwidth * unit)

    def _grids(self, quick: bool) -> dict[str, list[dict[str, Any]]]:
        """Return what each learner may choose from."""
        unit = typical_distance(self.stream.data)
        widths = [bandwidth * unit for bandwidth in BANDWIDTHS]
        noise = _grid(label_noise=LABEL_NOISES, margin_noise=MARGIN_NOISES)
        tenfold = (0.1, 1.0, 10.0)
        budget = [self.stream.basis_points]
        grids = {
            "VVM": noise,
            "ADF": noise,
            "window-EP": noise,
            "SOGP": _grid(budget=budget, bandwidth=widths, noise=(0.01, 0.1, 1.0)),
            "PA": _grid(),  # C = 2, as in the paper
            "NG": _grid(
                block=[self.stream.buffer_size], learning_rate=tenfold, regularisation=tenfold
            ),
            AS_IN_THE_PAPER: _grid(label_noise=LABEL_NOISES, margin_noise=[0.0]),
            "Perceptron": _grid(),
            "logistic": _grid(eta0=(0.01, *tenfold)),
            "Kalman": _grid(noise_variance=tenfold),
            "second-order perceptron": _grid(regularization=tenfold),
            "CW": _grid(confidence=(0.55, 0.7, 0.9)),
            "AROW": _grid(r=tenfold),
            "budget perceptron": _grid(budget=budget, bandwidth=widths),
        }
        if 0 in self.stream.dimensions:
            grids[ON_COLUMNS] = noise
        if quick:  # the last of a grid has noise, where there is a choice
            return {learner: grid[-1:] for learner, grid in grids.items()}
        return grids

    def summarise(self, records: Sequence[Record], options: Options) -> dict[str, Any]:
        """Return the errors at the end of the stream, and how VVM differs from each baseline."""
        ends = final_errors(records)
        features = best_features(records)
        losses = {
            learner: [r["log_loss"] for r in records if r["learner"] == learner and "log_loss" in r]
            for learner in ends
        }
        return {
            "final_error": {learner: float(errors.mean()) for learner, errors in ends.items()},
            "standard_error": {name: _standard_error(errors) for name, errors in ends.items()},
            "log_loss": {name: float(np.mean(each)) for name, each in losses.items() if each},
            "vvm_less_baseline": {
                learner: _paired(ends["VVM"], errors)
                for learner, errors in ends.items()
                if learner != "VVM"
            },
            "orders": len(ends["VVM"]),
            "rows": max(record.get("rows", 0) for record in records),
            "buffer_size": self.stream.buffer_size,
            "basis_points": self.stream.basis_points,
            "features": {"number": features.n_features, "bandwidth": features.bandwidth},
            "parameters": best_parameters(records),
        }

    def statements(self, summary: dict[str, Any]) -> list[Statement]:
        """Put the order of the learners in the paper beside ours."""
        final = summary["final_error"]
        comparisons = []
        for baseline in PAPER[1:]:
            pair = summary["vvm_less_baseline"][baseline]
            in_paper = baseline not in ("window-EP",)
            comparisons.append(
                Statement(
                    f"VVM has a lower error than {baseline} at the end of the stream."
                    if in_paper
                    else f"Nothing is said of {baseline} on this stream.",
                    f"VVM {final['VVM']:.2f} %, {baseline} {final[baseline]:.2f} %: VVM "
                    f"{pair['difference']:+.2f} ± {pair['standard_error']:.2f} points"
                    + (f" (paired t-test over orders: p = {pair['p']:.2g})." if pair["p"] else "."),
                    final["VVM"] < final[baseline] if in_paper else None,
                )
            )
        return comparisons

    def remarks(self, summary: dict[str, Any]) -> list[str]:
        """Say what was chosen."""
        features = summary["features"]
        if features["number"]:
            chosen = (
                f"{features['number']} random Fourier features of bandwidth "
                f"{features['bandwidth']:.3g}"
            )
        else:
            chosen = "the columns as they are"
        final = summary["final_error"]
        beyond = {k: v for k, v in final.items() if k not in PAPER and not k.startswith("VVM")}
        best = min(beyond, key=beyond.__getitem__)
        return [
            f"Chosen by the validation error of EP: {chosen}. All learners get these features but "
            "SOGP and the budget perceptron, which have the same kernel of their own and get the "
            "columns.",
            f"Every learner then chose its parameters by its own error along {TUNING_ORDERS} other "
            "orders of the same rows: VVM, ADF and window-EP their noise, SOGP its width and "
            "noise, NG its learning rate and regularisation. PA has C = 2, as in the paper. The "
            "paper tuned the width of SOGP by hand, does not say how it set ε, and has no noise of "
            f"the margin; VVM without it ends at {final[AS_IN_THE_PAPER]:.2f} %.",
            f"Of the learners that the paper names elsewhere, {best} has the lowest error: "
            f"{beyond[best]:.2f} %.",
        ]

    def draw(self, records: Sequence[Record], summary: dict[str, Any]) -> Figure:
        """Draw the paper's learners on the left, all of them on the right."""
        from virtualvector.paper.stream_drawing import draw

        return draw(self.title, curves(records), summary)


def best_features(records: Sequence[Record]) -> FeatureMap:
    """Return the features with which EP had the smallest validation error."""
    tried: dict[FeatureMap, Validation] = {}
    for record in records:
        if record["stage"] == "validate":
            features = FeatureMap(record["features"], record["bandwidth"])
            found = Validation(record["error"], record["log_loss"])
            tried[features] = min(found, tried.get(features, found))
    best: FeatureMap = choose(tried)
    return best


def best_parameters(records: Sequence[Record]) -> dict[str, dict[str, Any]]:
    """Return the parameters with which each learner had the smallest error while tuning."""
    errors: dict[str, dict[str, list[float]]] = {}
    for record in records:
        if record["stage"] == "tune":
            tried = errors.setdefault(record["learner"], {})
            tried.setdefault(record["parameters"], []).append(record["error"])
    return {
        learner: json.loads(min(tried, key=lambda parameters: sum(tried[parameters])))
        for learner, tried in errors.items()
    }


def curves(records: Sequence[Record]) -> dict[str, tuple[Array, Array]]:
    """Return, for each learner, the rows seen and the errors, one row of them per order."""
    found: dict[str, dict[int, list[tuple[int, float]]]] = {}
    for record in records:
        if record["stage"] == "run":
            orders = found.setdefault(record["learner"], {})
            orders.setdefault(record["order"], []).append((record["rows"], record["error"]))
    return {
        learner: (
            np.array([n for n, _ in next(iter(orders.values()))], float),
            np.array([[wrong for _, wrong in curve] for curve in orders.values()]),
        )
        for learner, orders in found.items()
    }


def final_errors(records: Sequence[Record]) -> dict[str, Array]:
    """Return each learner's error at the end of each order, in per cent."""
    return {learner: errors[:, -1] for learner, (_, errors) in curves(records).items()}


def _validation(
    problem: Problem, features: FeatureMap, noise: Noise, seed: int
) -> dict[str, float]:
    return validate(problem, features, noise, [seed, VALIDATION])._asdict()


def _paired(vvm: Array, baseline: Array) -> dict[str, float | None]:
    """Compare errors order by order."""
    difference = vvm - baseline
    p = float(ttest_rel(vvm, baseline).pvalue) if difference.std() > 0.0 else None
    return {
        "difference": float(difference.mean()),
        "standard_error": _standard_error(difference),
        "p": p,
    }


def _standard_error(values: Array) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0


def _grid(**choices: Sequence[Any]) -> list[dict[str, Any]]:
    return [dict(zip(choices, values, strict=True)) for values in product(*choices.values())]


def _places(n_rows: int) -> Any:
    """Return the numbers of rows at which a curve is recorded, evenly on a log scale."""
    return np.unique(np.geomspace(1, n_rows, POINTS_OF_A_CURVE).round().astype(int))


def _slug(name: str) -> str:
    return re.sub(r"\W+", "-", name.replace("²", "2"))
