"""How well online learners do on many streams: every row is predicted before it is learned.

    python benchmarks/online.py [--streams a,b] [--models x,y] [--cache DIR] [--json FILE]

Needs the packages of the extra ``bench``. Nobody is tuned to a stream. Prints one table per
measure, streams by learners, and the mean rank of each learner. No probability counts as less than
``LEAST``: a learner that called impossible what then came would otherwise have an infinite
log-loss. Time is the processor's. What a learner said is kept in the cache until its code or the
stream changes; if only its settings in ``baselines.py`` change, delete it there.
"""

from __future__ import annotations

import argparse
import json
import sys
from hashlib import sha256
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import rankdata
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from baselines import LEARNERS, Array, Learner, Predictions
from chance import beyond_chance, by_chance
from streams import HELD_OUT, STREAMS, Stream, load
from virtualvector.evaluation import measure

LEAST = 1e-6
WARM_UP_ROWS = 256  # more than before anything is rebuilt or decided: all code is read by then
MEASURES = {
    "error": "Error",
    "log_loss": f"Log-loss per row (probabilities of at least {LEAST:g})",
    "brier": "Brier score",
    "calibration_error": "Calibration error, 15 bins",
    "microseconds": "Microseconds per row",
}
# What is asked of AutoVVM: calibration errors on streams of so many rows and on shorter ones, and
# its time beside the forest's on every stream (in the median: a fifth).
CALIBRATED, CALIBRATED_ROWS, CALIBRATED_SHORT = 0.02, 2000, 0.05
SHARE_OF_FOREST = 1.0 / 3.0


def fingerprint(stream: Stream) -> str:
    """Return something that changes with the stream."""
    table = pd.DataFrame(stream.X).assign(label=stream.y)
    return sha256(table.to_csv(index=False).encode()).hexdigest()


def ask(name: str, learner: Learner, stream: Stream, cache: Path | None) -> Predictions:
    """Return what a learner says along a stream, now or when it was last asked."""
    if cache is None:
        return _asked(learner, stream)
    key = sha256(f"{fingerprint(stream)} {learner.version()}".encode()).hexdigest()[:12]
    kept = cache / f"{stream.name} {name} {key}.json".replace(" ", "-")
    if kept.exists():
        predictions = Predictions(**json.loads(kept.read_text(encoding="utf-8")))
        return predictions._replace(probabilities=np.array(predictions.probabilities))
    predictions = _asked(learner, stream)
    content = predictions._replace(probabilities=predictions.probabilities.tolist())._asdict()
    cache.mkdir(parents=True, exist_ok=True)
    kept.write_text(json.dumps(content), encoding="utf-8")
    return predictions


def _asked(learner: Learner, stream: Stream) -> Predictions:
    if learner.code:
        learner.ask(stream.first(WARM_UP_ROWS))  # compiles what is not timed
    return learner.ask(stream)


def not_impossible(probabilities: Array) -> Array:
    raised = np.maximum(probabilities, LEAST)
    return raised / raised.sum(axis=1, keepdims=True)


def figures(stream: Stream, predictions: Predictions) -> dict[str, float | None]:
    """Return all that is measured of one learner on one stream."""
    probabilities = not_impossible(predictions.probabilities)
    classes = stream.classes
    said_first = classes[np.argmax(probabilities, axis=1)]
    measured = measure(stream.y, said_first, probabilities, classes)._asdict()
    return {
        "rows": len(stream.y),
        **measured,
        "microseconds": 1e6 * predictions.seconds / len(stream.y),
        **by_chance(probabilities, measured["calibration_error"]),
        "calibration_beyond_chance": beyond_chance(stream.y, probabilities, classes),
        "best_expert": predictions.best_expert,
        "n_experts": predictions.n_experts,
    }


def mean_ranks(table: pd.DataFrame) -> pd.Series:
    """Return the mean over streams of each learner's place, 1 the lowest; ties share theirs."""
    return pd.Series(rankdata(table, axis=1).mean(axis=0), index=table.columns)


def print_tables(results: pd.DataFrame) -> None:
    """Print a table for each measure, then the ranks."""
    for measured, title in MEASURES.items():
        table = _by_stream(results, measured)
        shown = "{:.0f}".format if measured == "microseconds" else "{:.4f}".format
        print(f"\n{title}\n\n{table.to_string(float_format=shown)}")
    ranks = {title: mean_ranks(_by_stream(results, title)) for title in ("log_loss", "error")}
    print(f"\nMean rank\n\n{pd.DataFrame(ranks).T.to_string(float_format='{:.2f}'.format)}")


def print_auto(results: pd.DataFrame) -> None:
    """Print how AutoVVM does by what is asked of it."""
    auto = results[results["learner"] == "AutoVVM"].set_index("stream")
    table = pd.DataFrame({"rows": auto["rows"], "calibration": auto["calibration_error"]})
    table["if right"] = auto["calibration_if_right"].astype(float)
    table["quantile"] = auto["calibration_quantile"].astype(float)
    table["beyond chance"] = auto["calibration_beyond_chance"].astype(float)
    asked = np.where(table["rows"] < CALIBRATED_ROWS, CALIBRATED_SHORT, CALIBRATED)
    table["as asked"] = table["calibration"] <= asked
    if auto["best_expert"].notna().all():
        best, n_experts = auto["best_expert"].astype(float), auto["n_experts"].astype(float)
        table["log-loss"], table["best expert"] = auto["log_loss"], best
        table["bound"] = best * 1.01 + np.log(n_experts) / auto["rows"]
        table["within"] = table["log-loss"] <= table["bound"]
    if "ARF" in set(results["learner"]):
        cost = _by_stream(results, "microseconds")
        table["of ARF's time"] = cost["AutoVVM"] / cost["ARF"]
        table["cheap"] = table["of ARF's time"] <= SHARE_OF_FOREST
    print(f"\nAutoVVM\n\n{table.to_string(float_format='{:.4f}'.format)}")


def _by_stream(results: pd.DataFrame, measured: str) -> pd.DataFrame:
    table = results.pivot(index="stream", columns="learner", values=measured).astype(float)
    ordered = table.loc[results["stream"].unique(), results["learner"].unique()]
    return ordered.rename_axis(index=None, columns=None)


def chosen(wanted: str | None, usual: list[str], all_names: list[str]) -> list[str]:
    """Return the names in a list with commas; all the usual ones if there is none."""
    names = usual if wanted is None else wanted.split(",")
    if unknown := [name for name in names if name not in all_names]:
        raise SystemExit(f"unknown: {', '.join(unknown)}; there are: {', '.join(all_names)}")
    return names


def main(arguments: list[str] | None = None) -> int:
    """Ask everyone about everything and print what came out."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--streams", help="names with commas, or held-out for those kept back")
    parser.add_argument("--models", help="names with commas")
    parser.add_argument("--rows", type=int, help="take no more of each stream")
    parser.add_argument("--cache", type=Path, metavar="DIR", help="keep here what was said")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the numbers here too")
    options = parser.parse_args(arguments)
    wanted = ",".join(HELD_OUT) if options.streams == "held-out" else options.streams
    stream_names = chosen(wanted, list(STREAMS), [*STREAMS, *HELD_OUT])
    learner_names = chosen(options.models, list(LEARNERS), list(LEARNERS))

    found = []
    with threadpool_limits(1, user_api="blas"):
        for stream in map(load, stream_names):
            stream = stream if options.rows is None else stream.first(options.rows)
            for name in learner_names:
                print(f"{stream.name}, {len(stream.y)} rows: {name}", file=sys.stderr, flush=True)
                predictions = ask(name, LEARNERS[name], stream, options.cache)
                found.append(
                    {"stream": stream.name, "learner": name, **figures(stream, predictions)}
                )
    results = pd.DataFrame(found)
    print_tables(results)
    if "AutoVVM" in learner_names:
        print_auto(results)
    if options.json:
        options.json.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
