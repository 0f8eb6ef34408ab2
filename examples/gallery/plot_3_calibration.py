"""
Are the probabilities right?
============================

Of all e-mails that were given a probability of 70 %, about 70 % should be spam. Here learners
predict 2,000 e-mails of Spambase, each before they learn it.
"""

import matplotlib.pyplot as plt
import numpy as np
from river import linear_model, preprocessing, stream
from sklearn.linear_model import SGDClassifier

from virtualvector import (
    AutoVVMClassifier,
    NaturalGradientClassifier,
    SOGPClassifier,
    VVMClassifier,
)
from virtualvector.baselines import AROWClassifier
from virtualvector.datasets import load_spambase
from virtualvector.evaluation import measure, predict_then_learn, reliability

X, y = load_spambase(return_X_y=True, random_state=0)
X, y = X[:2000], y[:2000]
small = np.log1p(X)  # counts, brought to about unit scale
classes = np.array([0, 1])

# %%
# The committee needs no scaling and no setting; all others get columns as log(1 + x). Those of
# this package have the settings that ``vvm compare`` gives them. Logistic regression as it is
# used online elsewhere: river's behind its scaler, with its defaults, and scikit-learn's by
# stochastic gradients, a row at a time, with steps of a constant 0.03. By default its steps are
# far too long for single rows; of 0.03, 0.1 and 0.3 this is the best, which was looked up here.

learners = {
    "AutoVVM": (AutoVVMClassifier(), X),
    "VVM, 30 points": (VVMClassifier(30, margin_noise=1.0), small),
    "natural gradient": (NaturalGradientClassifier(), small),
    "sparse online GP": (SOGPClassifier(bandwidth=np.sqrt(2 * 57), noise=0.1, budget=100), small),
    "scikit-learn, SGD": (
        SGDClassifier(loss="log_loss", learning_rate="constant", eta0=0.03, random_state=0),
        small,
    ),
}
predicted = {
    name: predict_then_learn(model, rows, y, classes) for name, (model, rows) in learners.items()
}

# %%
# river's are asked row by row, and rows are dicts:

regression = preprocessing.StandardScaler() | linear_model.LogisticRegression()
said = []
for x, label in stream.iter_array(small, y):
    said.append(regression.predict_proba_one(x).get(True, 0.5))
    regression.learn_one(x, bool(label))
spam = np.array(said)
predicted["river, logistic"] = (spam > 0.5).astype(int), np.column_stack([1 - spam, spam])

figure, panels = plt.subplots(2, 3, figsize=(10, 7), layout="constrained", sharey=True)
for axes, (name, predictions) in zip(panels.flat, predicted.items(), strict=True):
    bins = reliability(y, predictions[1], classes)
    error = 2 * np.sqrt(bins.observed * (1 - bins.observed) / np.maximum(bins.n_rows, 1))
    found = measure(y, *predictions, classes)
    axes.plot([0, 1], [0, 1], color="0.6", lw=1)
    axes.errorbar(bins.predicted, bins.observed, error, fmt="o", color="#2166ac", capsize=2)
    axes.set(
        xlabel="predicted",
        title=f"{name}\nlog-loss {found.log_loss:.3f}, calibration {found.calibration_error:.3f}",
        xlim=(-0.03, 1.03),
        ylim=(-0.05, 1.05),
    )
    axes.title.set_fontsize(9)
for axes in panels[:, 0]:
    axes.set_ylabel("share that was spam")
plt.show()

# %%
# Bars are two standard errors. Points below the line on the right and above it on the left say that
# a learner is too bold; points that cross it the other way, that it is too shy.

for name, predictions in predicted.items():
    found = measure(y, *predictions, classes)
    print(
        f"{name:18} error {found.error:.4f}  log-loss {found.log_loss:.4f}"
        f"  Brier {found.brier:.4f}  calibration error {found.calibration_error:.4f}"
    )

# %%
# A learner that states no probabilities, such as AROW, has an error only:

margins_only = predict_then_learn(AROWClassifier(), small, y, classes)
print(measure(y, *margins_only, classes))
