"""Models of all kinds, halfway through a stream, that the tests of this folder share."""

from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

from virtualvector import (
    ADFClassifier,
    AutoVVMClassifier,
    EPClassifier,
    VVMClassifier,
    WideVVMClassifier,
    WindowEPClassifier,
)
from virtualvector.learners.expert import Expert

FEW = (Expert(None, 1.0, buffer_size=3, merge_pairs=2), Expert(0.5, 0.1, label_noise=0.02))


class Example(NamedTuple):
    """A learner, a stream for it, and how many of its rows come before the model is saved."""

    learner: Any
    rows: Any
    labels: Any
    cut: int
    classes: Any = None

    def started(self):
        """The model as it is saved."""
        first = slice(0, self.cut)
        return self.learner().partial_fit(self.rows[first], self.labels[first], self.classes)

    def rest(self):
        """Rows and labels that come later."""
        return self.rows[self.cut :], self.labels[self.cut :]


def stream(n_rows=80, n_classes=2, columns=3, labels=None, seed=0):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n_rows, columns))
    scores = rows @ rng.normal(size=(columns, n_classes)) + rng.normal(size=(n_rows, n_classes))
    numbers = np.argmax(scores, axis=1)
    numbers[:n_classes] = np.arange(n_classes)
    return rows, numbers if labels is None else np.array(labels)[numbers]


def table(n_rows=400, seed=0):
    rng = np.random.default_rng(seed)
    rows = pd.DataFrame(
        {
            "amount": rng.lognormal(3.0, 2.0, n_rows),
            "city": rng.choice(["Rome", "Oslo", "Łódź"], n_rows),
            "kind": rng.choice(list("abcdefghijkl"), n_rows),
            "flag": rng.random(n_rows) < 0.5,
        }
    )
    labels = np.where((rows["amount"] > 20) | (rows["city"] == "Oslo"), "yes", "no")
    rows.loc[rng.random(n_rows) < 0.1, "amount"] = np.nan
    rows.loc[rng.random(n_rows) < 0.1, "city"] = None
    return rows, labels


def sparse_stream(n_rows=80, columns=40, seed=0):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n_rows, columns)) * (rng.random((n_rows, columns)) < 0.2)
    return rows, (rows @ rng.normal(size=columns) > 0).astype(int)


def texts(n_rows=120, seed=0):
    rng = np.random.default_rng(seed)
    words = rng.choice(["tea", "good", "bad", "Łódź", "of", "the", "cup"], (n_rows, 5))
    said = [None if k % 17 == 3 else " ".join(own) for k, own in enumerate(words)]
    rows = pd.DataFrame({"said": said, "age": rng.normal(40, 9, n_rows)})
    rows["town"] = rng.choice(["Rome", "Oslo"], n_rows)
    return rows, np.where((words == "good").sum(axis=1) > 0, "yes", "no")


def late(rows, labels, after=50):
    """The same rows, with the last class only after some of them."""
    order = np.argsort(np.where(labels == labels.max(), after, 0), kind="stable")
    return rows[order], labels[order]


EXAMPLES = {
    "vvm": Example(partial(VVMClassifier, 6), *stream(), 40),
    "vvm without points yet": Example(partial(VVMClassifier, 6), *stream(), 1),
    "vvm, more points than weights": Example(partial(VVMClassifier, 30), *stream(), 50),
    "vvm, many columns": Example(partial(VVMClassifier, 6), *stream(columns=8), 50),
    "vvm by margin, texts": Example(
        partial(VVMClassifier, 6, eviction="margin", label_noise=0.1),
        *stream(labels=["no", "Łódź"]), 40,
    ),
    "vvm, three classes, numbers": Example(
        partial(VVMClassifier, 4, margin_noise=0.5), *stream(n_classes=3, labels=[-3, 5, 7]), 30
    ),
    "vvm, classes declared that never come": Example(
        partial(VVMClassifier, 4, margin_noise=0.5), *stream(), 30, [0, 1, 2, 3]
    ),
    "vvm that forgets": Example(
        partial(VVMClassifier, 5, margin_noise=0.5, half_life=30.0), *stream(), 40
    ),
    "vvm, hedged, third class comes later": Example(
        partial(VVMClassifier, 4, label_noise=0.05, margin_noise=0.1),
        *late(*stream(n_classes=3)), 20,
    ),
    "adf, truth values": Example(ADFClassifier, *stream(labels=[False, True]), 40),
    "adf, one class so far": Example(ADFClassifier, *late(*stream()), 10),
    "adf, third class comes later": Example(
        partial(ADFClassifier, margin_noise=1.0), *late(*stream(n_classes=3)), 20
    ),
    "adf without bias, objects": Example(
        partial(ADFClassifier, fit_intercept=False, prior_variance=4.0),
        *stream(labels=np.array(["no", "yes"], object)), 40,
    ),
    "adf, dates": Example(ADFClassifier, *stream(labels=np.array(["2020", "2021"], "M8[Y]")), 40),
    "window-ep": Example(partial(WindowEPClassifier, 5, margin_noise=0.2), *stream(), 40),
    "ep": Example(partial(EPClassifier, margin_noise=0.2), *stream(), 40),
    "ep, names of columns": Example(
        partial(EPClassifier, margin_noise=0.2),
        pd.DataFrame(stream()[0], columns=["a", "β", 'c "quoted"']), stream()[1], 40,
    ),
    "adf, low rank": Example(
        partial(ADFClassifier, margin_noise=0.5, covariance="low-rank", rank=3),
        *stream(columns=30), 40,
    ),
    "wide, sparse rows": Example(
        partial(WideVVMClassifier, 4, rank=2), csr_array(sparse_stream()[0]), sparse_stream()[1], 40
    ),
    "wide, texts": Example(
        partial(WideVVMClassifier, rank=2, text_features=["said"], n_hashed=2**9), *texts(), 60
    ),
    "auto": Example(AutoVVMClassifier, *stream(700), 300, [0, 1]),
    "auto, categories and missing values": Example(
        partial(AutoVVMClassifier, experts=FEW, n_frequencies=5), *table(), 150
    ),
    "auto, a few columns": Example(
        partial(AutoVVMClassifier, experts=FEW, n_frequencies=2),
        table()[0][["city", "amount"]], table()[1], 150,
    ),
    "auto, third class comes later": Example(
        partial(AutoVVMClassifier, experts=FEW, n_frequencies=5), *late(*stream(300, 3)), 140
    ),
    "auto, one expert, not scaled": Example(
        partial(AutoVVMClassifier, experts=FEW[:1], scale=False, n_jobs=2), *stream(300), 128
    ),
}  # fmt: skip

every_example = pytest.mark.parametrize("example", EXAMPLES.values(), ids=EXAMPLES)
