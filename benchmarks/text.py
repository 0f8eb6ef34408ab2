"""Text: which section of Debian a package is in, by the words of its description.

    python benchmarks/text.py                # both problems, all learners
    python benchmarks/text.py --rows 20000 --only vvm vw

Descriptions are those that ``apt-cache dumpavail`` knows on this machine, in a seeded order. Every
learner says what it thinks of a document before it learns it; log-loss in nats and error are over
all of them. Words and pairs of neighbouring words are hashed to 2¹⁸ places. Of Vowpal
Wabbit's and scikit-learn's the best of five learning rates counts afterwards. Ours have a prior
variance and a margin noise of one: ten pairs were looked at on 20,000 documents, and none was
better. That one-letter words count, as they do for Vowpal Wabbit, was chosen after looking too.
`WideVVMClassifier` as usual mixes rank 20 with independent weights at three margin noises and with
the rates of places. That was chosen after looking at the first two problems. The others, by tags of
packages and by docstrings of the modules that are installed, were looked at afterwards:

    python benchmarks/text.py --problems role language class package --only wide adpredictor
"""

from __future__ import annotations

import argparse
import ast
import math
import re
import subprocess
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, log_ndtr, softmax
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.linear_model import SGDClassifier

from virtualvector import ADFClassifier, VVMClassifier, WideVVMClassifier

BITS = 18
RATES = (0.03, 0.1, 0.3, 1.0, 3.0)
BATCH = 100  # documents, for scikit-learn's
LONGEST = 40  # words of a docstring
MOST_CLASSES = 20
LIBRARIES = ("libs", "libdevel")


class Documents(NamedTuple):
    """A stream of texts, their words, hashed, and the number of the class of each."""

    texts: list[str]
    words: Any
    labels: np.ndarray
    n_classes: int


class Result(NamedTuple):
    """What came of a learner: mean log-loss, error, microseconds of processor time per row."""

    loss: float
    error: float
    time: float


def main() -> None:
    """Print a table for each problem."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, default=None)
    parser.add_argument("--only", nargs="*", default=None, help="beginnings of names")
    parser.add_argument("--problems", nargs="*", default=["libraries", "sections"])
    options = parser.parse_args()
    for problem in options.problems:
        documents = read(PROBLEMS[problem], options.rows)
        shares = np.bincount(documents.labels) / len(documents.labels)
        base = -np.sum(shares * np.log(shares))
        print(
            f"{problem}: {len(documents.texts)} documents, {documents.n_classes} classes, ", end=""
        )
        print(f"{documents.words.nnz / len(documents.texts):.0f} words and pairs each")
        print(f"{'shares of classes':40s} loss {base:.4f}  error {1 - shares.max():.4f}")
        for name, learner in LEARNERS.items():
            if options.only is None or name.startswith(tuple(options.only)):
                result = learner(documents)
                print(f"{name:40s} loss {result.loss:.4f}  error {result.error:.4f}  ", end="")
                print(f"{result.time:7.0f} µs a row", flush=True)


Pairs = Iterable[tuple[str, str]]  # of a text and its label


class Problem(NamedTuple):
    """Where texts and labels are from, how many classes, and what is a class, if not the label."""

    pairs: Callable[[], Pairs]
    n_classes: int
    class_of: Callable[[str], str] = str


def read(problem: Problem, rows: int | None) -> Documents:
    """Return texts in a seeded order, of the most frequent classes."""
    pairs = sorted(set(problem.pairs()))
    np.random.default_rng(0).shuffle(pairs)  # type: ignore[arg-type]
    named = [(str(text), problem.class_of(label)) for text, label in pairs]
    counts = Counter(name for _, name in named)
    places = {name: k for k, (name, _) in enumerate(counts.most_common(problem.n_classes))}
    kept = [(text, places[name]) for text, name in named if name in places][:rows]
    texts, labels = [text for text, _ in kept], np.array([label for _, label in kept])
    hashed = HashingVectorizer(
        n_features=2**BITS,
        ngram_range=(1, 2),
        token_pattern=r"(?u)\b\w+\b",
        binary=True,
        norm=None,
        alternate_sign=False,
    )
    return Documents(texts, hashed.transform(texts), labels, int(labels.max()) + 1)


def _packages() -> Iterator[dict[str, str]]:
    """Yield the fields of Debian's packages, of which some go on over several lines."""
    said = subprocess.run(
        ["apt-cache", "dumpavail"], check=True, capture_output=True, text=True
    ).stdout
    for package in said.split("\n\n"):
        lines = package.replace("\n ", " ").splitlines()
        fields = dict(line.split(": ", 1) for line in lines if ": " in line)
        if "Description" in fields and "Section" in fields:
            yield fields


def sections() -> Pairs:
    """Yield descriptions of packages, and their sections."""
    for fields in _packages():
        yield fields["Description"], fields["Section"].rpartition("/")[2]


def tags(facet: str) -> Callable[[], Pairs]:
    """Return what yields descriptions, and the first tag of a facet."""

    def pairs() -> Pairs:
        for fields in _packages():
            found = re.search(rf"\b{facet}::([\w+:-]+)", fields.get("Tag", ""))
            if found:
                yield fields["Description"], found.group(1)

    return pairs


def docstrings() -> Iterator[tuple[str, str, str]]:
    """Yield the first words of docstrings, whose package, and whether it is a class's."""
    for path in sorted(Path(np.__file__).parents[1].rglob("*.py")):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = ast.parse(path.read_text(encoding="utf-8"))
        except (SyntaxError, UnicodeDecodeError):
            continue
        package = path.relative_to(Path(np.__file__).parents[1]).parts[0]
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                words = (ast.get_docstring(node) or "").split()[:LONGEST]
                if len(words) > 3:
                    yield " ".join(words), package, type(node).__name__


PROBLEMS = {
    "libraries": Problem(sections, 2, lambda section: str(section in LIBRARIES)),
    "sections": Problem(sections, MOST_CLASSES),
    "role": Problem(tags("role"), MOST_CLASSES),
    "language": Problem(tags("implemented-in"), 2),
    "class": Problem(lambda: ((text, kind) for text, _, kind in docstrings()), 2),
    "package": Problem(lambda: ((text, name) for text, name, _ in docstrings()), MOST_CLASSES),
}


def _result(probabilities: np.ndarray, labels: np.ndarray, seconds: float) -> Result:
    of_label = np.clip(probabilities[np.arange(len(labels)), labels], 1e-15, 1.0)
    error = float(np.mean(np.argmax(probabilities, axis=1) != labels))
    return Result(float(-np.log(of_label).mean()), error, 1e6 * seconds / len(labels))


def ours(model: Any) -> Callable[[Documents], Result]:
    """Return how one of our learners does."""

    def run(documents: Documents) -> Result:
        classes = np.arange(documents.n_classes)
        compiled = type(model)(**model.get_params())
        compiled.partial_fit(documents.words[:1], documents.labels[:1], classes)
        parts, started = [], time.process_time()
        for start in range(0, len(documents.labels), 4096):
            some = slice(start, start + 4096)
            if start == 0:
                first = type(model)(**model.get_params())
                said = first.predict_then_learn(
                    documents.words[some], documents.labels[some], classes
                )
            else:
                said = first.predict_then_learn(documents.words[some], documents.labels[some])
            parts.append(np.asarray(said.probabilities))
        return _result(np.vstack(parts), documents.labels, time.process_time() - started)

    return run


def vowpal_wabbit(documents: Documents) -> Result:
    """Return its best of five rates, by log-loss; it hashes words and pairs by itself."""
    from vowpalwabbit import Workspace

    many = documents.n_classes > 2
    lines = []
    for text, label in zip(documents.texts, documents.labels, strict=True):
        plain = " ".join("".join(c if c.isalnum() else " " for c in text.lower()).split())
        lines.append(f"{label + 1 if many else 2 * label - 1} |w {plain}")
    results = []
    for rate in RATES:
        kind = f"--oaa {documents.n_classes} --probabilities" if many else "--link logistic"
        model = Workspace(f"-b {BITS} --ngram 2 --loss_function logistic -l {rate} --quiet {kind}")
        said, started = [], time.process_time()
        for line in lines:
            said.append(model.predict(line))
            model.learn(line)
        seconds = time.process_time() - started
        found = np.array(said, dtype=float)
        if not many:
            found = np.column_stack([1.0 - found, found])
        results.append(_result(found, documents.labels, seconds))
        model.finish()
    return min(results)


def sgd(documents: Documents) -> Result:
    """Return logistic regression by stochastic gradients, its best of five rates.

    A hundred documents are predicted, then learned one after the other: a call takes as long as
    many rows do, so that who uses it collects some. Of a document it has not seen the up to 99
    before it.
    """
    results = []
    for rate in RATES:
        model = SGDClassifier(
            loss="log_loss", learning_rate="constant", eta0=rate, alpha=0.0, shuffle=False
        )
        classes = np.arange(documents.n_classes)
        said = np.full((len(documents.labels), documents.n_classes), 1.0 / documents.n_classes)
        started = time.process_time()
        for start in range(0, len(documents.labels), BATCH):
            some = slice(start, start + BATCH)
            if start:
                said[some] = model.predict_proba(documents.words[some])
            model.partial_fit(documents.words[some], documents.labels[some], classes)
        results.append(_result(said, documents.labels, time.process_time() - started))
    return min(results)


def adpredictor(documents: Documents) -> Result:
    """Return AdPredictor (Graepel et al. 2010): ADF whose weights are independent, and stay so.

    Each class against the rest, priors N(0, 1) and a margin noise of one, as ours have them.
    """
    n_classes, words = documents.n_classes, documents.words
    n_posteriors = n_classes if n_classes > 2 else 1
    means = np.zeros((n_posteriors, words.shape[1] + 1))
    variances = np.ones_like(means)
    said = np.zeros((len(documents.labels), n_classes))
    started = time.process_time()
    for t, label in enumerate(documents.labels.tolist()):
        places = np.append(words.indices[words.indptr[t] : words.indptr[t + 1]], words.shape[1])
        signs = np.where(label == np.arange(n_classes), 1.0, -1.0)[-n_posteriors:]
        own, of_each = means[:, places].sum(axis=1), variances[:, places]
        spread = np.sqrt(1.0 + of_each.sum(axis=1))
        logs = log_ndtr(own / spread), log_ndtr(-own / spread)
        odds = logs[0] - logs[1]
        said[t] = softmax(odds) if n_classes > 2 else (expit(-odds[0]), expit(odds[0]))
        margins = signs * own / spread
        slopes = np.exp(-0.5 * margins**2 - log_ndtr(margins)) / math.sqrt(2.0 * math.pi)
        bends = slopes * (slopes + margins)
        means[:, places] += of_each * (signs * slopes / spread)[:, np.newaxis]
        variances[:, places] = of_each * (1.0 - of_each * (bends / spread**2)[:, np.newaxis])
    return _result(said, documents.labels, time.process_time() - started)


def of_river(make: Callable[[Any], Any]) -> Callable[[Documents], Result]:
    """Return how one of river's learners does."""

    def run(documents: Documents) -> Result:
        import river

        model = make(river)
        words = documents.words
        said = np.full((len(documents.labels), documents.n_classes), 1.0 / documents.n_classes)
        started = time.process_time()
        for t, label in enumerate(documents.labels.tolist()):
            places = words.indices[words.indptr[t] : words.indptr[t + 1]]
            row = dict.fromkeys(places.tolist(), 1.0)
            found = model.predict_proba_one(row)
            if found:
                said[t] = [found.get(k, 0.0) for k in range(documents.n_classes)]
            model.learn_one(row, label)
        return _result(said, documents.labels, time.process_time() - started)

    return run


def _river_logistic(river: Any) -> Any:
    from river import linear_model, multiclass

    return multiclass.OneVsRestClassifier(linear_model.LogisticRegression())


def _river_bayes(river: Any) -> Any:
    from river import naive_bayes

    return naive_bayes.MultinomialNB()


def _ours(buffer_size: int, **more: Any) -> Any:
    if buffer_size == 0:
        return ours(ADFClassifier(margin_noise=1.0, **more))
    return ours(VVMClassifier(buffer_size, margin_noise=1.0, **more))


LEARNERS: dict[str, Callable[[Documents], Result]] = {
    "adf, diagonal": _ours(0, covariance="diagonal"),
    "adf, independent": _ours(0, covariance="independent"),
    "adf, rank 5": _ours(0, covariance="low-rank", rank=5),
    "adf, rank 20": _ours(0, covariance="low-rank", rank=20),
    "wide, as usual": ours(WideVVMClassifier(scale=False)),
    "vvm, 10 points, diagonal": _ours(10, covariance="diagonal"),
    "vvm, 10 points, rank 20": _ours(10, covariance="low-rank", rank=20),
    "vw, best of five rates": vowpal_wabbit,
    "adpredictor": adpredictor,
    "river's logistic regression": of_river(_river_logistic),
    "river's naive Bayes": of_river(_river_bayes),
    "sgd, best of five rates": sgd,
}


if __name__ == "__main__":
    main()
