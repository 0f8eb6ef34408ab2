"""
Words, and as much memory as one likes
======================================

A sentence is a row with tens of thousands of columns, nearly all of them zero. The weights of so
many words have no room for a full covariance; a low-rank one takes as much as one gives it.
"""

# %%
# A stream of sentences
# ---------------------
# Texts that every reader of this page has at hand: the first sentences of what three packages say
# about their own functions, in a random order. From which of them is a sentence?

import ast
import random
from importlib.util import find_spec
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.linear_model import SGDClassifier

from virtualvector import ADFClassifier, WideVVMClassifier


def first_sentences(package):
    """What functions and classes of a package are said to do."""
    found = set()
    home = Path(find_spec(package).origin).parent
    for file in home.rglob("*.py"):
        if "tests" in file.parts:
            continue
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                text = (ast.get_docstring(node) or "").partition("\n\n")[0].replace("\n", " ")
                if len(text.split()) > 4:
                    found.add(text)
    return sorted(found)


sentences = [
    (text, name) for name in ("numpy", "scipy", "sklearn") for text in first_sentences(name)
]
random.Random(0).shuffle(sentences)
del sentences[5000:]
texts, packages = (np.array(each) for each in zip(*sentences, strict=True))
print(len(texts), "sentences, for example", sentences[0])

# %%
# Words and pairs of words are hashed into 2¹⁶ columns: no vocabulary is kept, and words that come
# for the first time tomorrow have their place already.

hashing = HashingVectorizer(ngram_range=(1, 2), n_features=2**16, norm="l2", alternate_sign=False)
rows = hashing.transform(texts)
print("columns:", rows.shape[1], "non-zero in a row:", round(rows.nnz / len(texts), 1))

# %%
# Learn them
# ----------
# ``covariance="diagonal"`` keeps a variance for each weight: what is known of one word says nothing
# about another. ``covariance="low-rank"`` adds directions in which words are known together. Beside
# them is logistic regression by stochastic gradients, which has a rate to choose: it gets the best
# of three, found afterwards, and learns in blocks of 50. Every sentence is predicted before it is
# learned.

BLOCK = 50
log_probabilities = {}
truth = np.searchsorted(np.unique(packages), packages)


def of_the_truth(probabilities):
    return np.log(np.maximum(probabilities[np.arange(len(truth)), truth], 1e-6))


for name, memory in {
    "a variance for each word": {"covariance": "diagonal"},
    "and 10 directions": {"covariance": "low-rank", "rank": 10},
}.items():
    model = ADFClassifier(margin_noise=1.0, prior_variance=10.0, **memory)
    predicted = model.predict_then_learn(rows, packages)
    log_probabilities[name] = of_the_truth(predicted.probabilities)


def by_gradients(rate):
    model = SGDClassifier(loss="log_loss", learning_rate="constant", eta0=rate, random_state=0)
    parts = [np.full((BLOCK, 3), 1 / 3)]
    for start in range(0, len(texts) - BLOCK, BLOCK):
        some = slice(start, start + BLOCK)
        model.partial_fit(rows[some], packages[some], classes=np.unique(packages))
        parts.append(model.predict_proba(rows[start + BLOCK : start + 2 * BLOCK]))
    return of_the_truth(np.concatenate(parts))


log_probabilities["gradients, the best of three rates"] = max(
    map(by_gradients, (0.3, 3.0, 30.0)), key=np.sum
)

figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
seen = np.arange(1, len(texts) + 1)
for name, values in log_probabilities.items():
    axes.plot(seen[100:], (-np.cumsum(values) / seen)[100:], label=f"{name}: {-values.mean():.3f}")
axes.set(xlabel="sentences", ylabel="log-loss per sentence so far", xscale="log")
axes.legend()
plt.show()

# %%
# On a few thousand short sentences the directions add little: a variance for each word is nearly
# all there is to know. They pay where words keep coming together.
#
# Weights of words
# ----------------
# A hash cannot be turned back, but any word can be hashed again: the words that were met say which
# of them speak most for a package.

words = np.unique(np.concatenate([text.lower().split() for text in texts]))
words = words[np.char.isalpha(words) & (np.char.str_len(words) > 1)]
means = model.coef_
column_of = hashing.transform(words).indices  # each has one column, for itself
for package, weights in zip(model.classes_, means, strict=True):
    best = np.argsort(weights[column_of])[::-1][:8]
    print(f"{package:8}", ", ".join(words[best]))

# %%
# Texts as they are
# -----------------
# `WideVVMClassifier` takes the sentences themselves. It hashes words and pairs of words, learns
# them by a covariance of low rank, beside it by independent weights of several widths and by
# counts of words in classes, and mixes what these say by how well each has predicted so far.
# There is no rate to choose and no noise to set.

wide = WideVVMClassifier(text_features=["sentence"])
predicted = wide.predict_then_learn(pd.DataFrame({"sentence": texts}), packages)
log_probabilities["texts as they are"] = of_the_truth(predicted.probabilities)
for name, values in log_probabilities.items():
    print(f"{-values.mean():.3f}  {name}")

# %%
# Of each place the first word that came there is remembered, so that weights have names:

for package in wide.classes_:
    weights = [weight for weight in wide.weight_table_ if weight["class"] == package]
    weights.sort(key=lambda weight: weight["mean"] / weight["deviation"], reverse=True)
    names = [weight["column"].removeprefix("sentence: ") for weight in weights[:8]]
    print(f"{package:8}", ", ".join(names))
