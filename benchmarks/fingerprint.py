"""Print a fingerprint of what is learned: two versions that learn the same print the same.

    python benchmarks/fingerprint.py           # two lines for each group, and two for all
    python benchmarks/fingerprint.py --each    # a line for each setting

The second line of each group is over its settings without label noise. Committees count as having
some: their experts do. Only names that users have are used, so that it runs on any version. Bits
depend on the kind of processor: compare on one machine.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import virtualvector
from virtualvector import (
    ADFClassifier,
    AutoVVMClassifier,
    EPClassifier,
    NaturalGradientClassifier,
    RandomFourierFeatures,
    SOGPClassifier,
    VVMClassifier,
    WindowEPClassifier,
)

GOLDEN = Path(__file__).parents[1] / "tests"
NOISES = list(itertools.product((0.0, 0.05), (0.0, 0.1, 1.0)))  # of labels, of margins
HALF_LIVES = (None, 150.0)
MIXED = ("committees", "model files", "command")  # some of their learners have label noise

Result = Iterator[Any]


def main() -> None:
    """Print the fingerprints."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--each", action="store_true")
    parser.add_argument("--only", choices=GROUPS, help="one group of settings")
    options = parser.parse_args()
    each, groups = options.each, [options.only] if options.only else GROUPS
    everything, everything_clean = _Group(), _Group()
    for name in groups:
        whole, clean = _Group(), _Group()
        for setting, result in GROUPS[name]():
            digest = _digest(result)
            whole.add(digest.encode())
            if name not in MIXED and "label_noise" not in setting:
                clean.add(digest.encode())
            if each:
                print(f"{digest[:16]}  {name}: {' '.join(setting.split())}", flush=True)
        print(f"{whole.hash.hexdigest()[:16]}  {name}, {whole.n} settings")
        print(f"{clean.hash.hexdigest()[:16]}  {name}, {clean.n} without label noise", flush=True)
        everything.add(whole.hash.digest(), whole.n)
        everything_clean.add(clean.hash.digest(), clean.n)
    print(f"{everything.hash.hexdigest()}  {everything.n} settings")
    print(f"{everything_clean.hash.hexdigest()}  {everything_clean.n} without label noise")


class _Group:
    """The hash of several settings, and their number."""

    def __init__(self) -> None:
        self.hash, self.n = hashlib.sha256(), 0

    def add(self, digest: bytes, n: int = 1) -> None:
        self.hash.update(digest)
        self.n += n


def _digest(result: Any) -> str:
    digest = hashlib.sha256()
    for array in result:
        array = np.ascontiguousarray(array)
        digest.update(f"{array.shape} {array.dtype.kind}".encode())
        digest.update(repr(array.tolist()).encode() if array.dtype == object else array.tobytes())
    return digest.hexdigest()


def rows_of(d: int, n_rows: int, n_classes: int = 2, seed: int = 0) -> tuple[Any, Any]:
    """Return rows of unequal scales, some of them twice, with noisy labels."""
    rng = np.random.default_rng([seed, d, n_rows])
    rows = rng.standard_normal((n_rows, d)) * np.exp(rng.uniform(-1, 1, d))
    rows[n_rows // 2 :: 7] = rows[: len(rows[n_rows // 2 :: 7])]
    scores = rows @ rng.standard_normal((d, n_classes)) + rng.normal(0, 0.5, (n_rows, n_classes))
    return rows, scores.argmax(axis=1)


def _learned(model: Any, rows: Any, labels: Any) -> Result:
    half = len(rows) // 2
    yield from model.predict_then_learn(rows[:half], labels[:half], np.unique(labels))
    model.partial_fit(rows[half:-5], labels[half:-5])
    for row, label in zip(rows[-5:], labels[-5:], strict=True):
        yield model.predict_proba_one(row)
        model.learn_one(row, label)
    yield from (model.predict_proba(rows), model.coef_, model.covariance_, model.log_evidence_)
    points = model.virtual_points_
    yield from points if isinstance(points, list) else [points]


def linear() -> Iterator[tuple[str, Result]]:
    """VVM with every kind of eviction, merging or not; and its special cases."""
    rows, labels = rows_of(6, 160)
    grid = itertools.product((0, 1, 5, 20), NOISES, (0, 5), ("divergence", "margin"), HALF_LIVES)
    for size, (e, s2), pairs, eviction, half_life in grid:
        model = VVMClassifier(
            size, label_noise=e, margin_noise=s2, merge_pairs=pairs, eviction=eviction,
            half_life=half_life,
        )  # fmt: skip
        yield repr(model), _learned(model, rows, labels)
    for (e, s2), half_life in itertools.product(NOISES, HALF_LIVES):
        noise = {"label_noise": e, "margin_noise": s2}
        others = [
            ADFClassifier(**noise, half_life=half_life),
            WindowEPClassifier(3, **noise, half_life=half_life),
            WindowEPClassifier(15, **noise, half_life=half_life),
        ]
        if half_life is None:
            others.append(EPClassifier(**noise))
        for model in others:
            yield repr(model), _learned(model, rows, labels)


def spaces() -> Iterator[tuple[str, Result]]:
    """More points than weights, and more weights than points; other priors, no bias."""
    for d, size, (e, s2) in itertools.product((2, 45), (8, 60), NOISES):
        rows, labels = rows_of(d, 220)
        model = VVMClassifier(size, label_noise=e, margin_noise=s2)
        yield f"d={d}, {model!r}", _learned(model, rows, labels)
    rows, labels = rows_of(5, 150)
    for size, variance, bias in itertools.product((0, 7), (0.01, 100.0), (True, False)):
        model = VVMClassifier(size, margin_noise=0.1, prior_variance=variance, fit_intercept=bias)
        yield repr(model), _learned(model, rows, labels)


def classes() -> Iterator[tuple[str, Result]]:
    """Several classes, declared and not."""
    rows, labels = rows_of(4, 200, n_classes=4)
    for kind, noise in itertools.product(
        (VVMClassifier, ADFClassifier, WindowEPClassifier), (0.1, 1.0)
    ):
        model = kind(margin_noise=noise)
        yield repr(model), _learned(model, rows, labels)
        late = kind(margin_noise=noise).partial_fit(rows, labels)
        yield f"{late!r}, late", iter([late.predict_proba(rows), late.coef_])


def features() -> Iterator[tuple[str, Result]]:
    """Random features, and other learners on them."""
    rows, labels = rows_of(5, 150)
    for n, bandwidth in ((10, 0.5), (40, 2.0)):
        seen = RandomFourierFeatures(n, bandwidth=bandwidth, random_state=1).fit_transform(rows)
        yield f"{n} features", iter([seen])
        for kind in (VVMClassifier, ADFClassifier):
            yield f"{kind.__name__}, {n} features", _learned(kind(margin_noise=0.1), seen, labels)
    for other in (SOGPClassifier(), NaturalGradientClassifier()):
        yield repr(other), iter([other.fit(rows, labels).predict_proba(rows)])


def mixed_table(n_rows: int) -> tuple[Any, Any]:
    """Return a table of numbers and categories, with missing values in both."""
    import pandas as pd

    rng = np.random.default_rng(5)
    rows, labels = rows_of(4, n_rows, seed=5)
    table = pd.DataFrame(rows, columns=list("abcd"))
    table["town"] = rng.choice(["Oslo", "Bergen", "Tromsø", "Bodø"], n_rows)
    table["sign"] = rng.random(n_rows) < 0.5
    table = table.astype({"town": object})
    table.loc[rng.random(n_rows) < 0.1, "b"] = np.nan
    table.loc[rng.random(n_rows) < 0.1, "town"] = None
    return table, np.where(table["town"].eq("Oslo"), 1 - labels, labels)


def committees() -> Iterator[tuple[str, Result]]:
    """Committees on mixed tables and on numbers."""
    table, labels = mixed_table(900)
    for options in ({}, {"budget": 50_000.0}, {"random_state": 3}, {"n_jobs": 2}):
        model = AutoVVMClassifier(**options)
        predictions = model.predict_then_learn(table[:600], labels[:600])
        model.partial_fit(table[600:], labels[600:])
        yield f"mixed, {options}", iter([*predictions, model.predict_proba(table)])
    for d, n_classes in ((3, 2), (8, 3)):
        rows, labels = rows_of(d, 700, n_classes)
        model = AutoVVMClassifier().partial_fit(rows, labels)
        yield f"{d} columns, {n_classes} classes", iter([model.predict_proba(rows)])


def model_files() -> Iterator[tuple[str, Result]]:
    """Files of all formats, loaded, and learned on with."""
    for path in sorted(GOLDEN.glob("*/golden/v[12]-*.vvm")):
        facts = json.loads(path.with_suffix(".json").read_text())
        model = virtualvector.load(path)
        rows = np.random.default_rng(0).standard_normal((5, model.n_features_in_))
        if not hasattr(model, "feature_names_in_"):
            yield path.name, iter([model.predict_proba(rows), list(facts)])
        else:
            yield path.name, iter([list(map(str, model.classes_))])


def command() -> Iterator[tuple[str, Result]]:
    """Models that the command line has learned."""
    vvm = str(Path(sys.executable).with_name("vvm"))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        table, labels = mixed_table(400)
        table.assign(y=labels).to_csv(path / "rows.csv", index=False)
        for options in ((), ("--learner", "vvm"), ("--learner", "window-ep", "--features", "rbf")):
            learn = [vvm, "learn", "rows.csv", "--model", "m.vvm", "--label", "y", "-q", *options]
            subprocess.run(learn, cwd=path, check=True)
            predict = [vvm, "predict", "rows.csv", "--model", "m.vvm", "--proba"]
            done = subprocess.run(predict, cwd=path, check=True, capture_output=True, text=True)
            yield " ".join(options) or "auto", iter([np.array([done.stdout], object)])
            (path / "m.vvm").unlink()


GROUPS: dict[str, Callable[[], Iterator[tuple[str, Result]]]] = {
    "linear": linear,
    "spaces": spaces,
    "classes": classes,
    "features": features,
    "committees": committees,
    "model files": model_files,
    "command": command,
}

if __name__ == "__main__":
    main()
