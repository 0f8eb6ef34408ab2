"""
When labels are late
====================

A prediction is needed now; its label comes a hundred, or a thousand, rows later. What does the wait
cost?
"""

# %%
# Every row is predicted when it comes, and learned when its label does: ``delay`` rows later. That
# is what ``vvm serve`` does with a model (:doc:`/serving`), but for the database in between. The
# order of learning is the same whatever the delay; only how much is known when a row is predicted
# is not.

from collections import deque

import matplotlib.pyplot as plt
import numpy as np

from virtualvector import ADFClassifier
from virtualvector.datasets import load_spambase


def said_of(rows, labels, delay, **settings):
    """Return the probability that was given to the label of each row, before it came."""
    model = ADFClassifier(margin_noise=1.0, **settings).partial_fit(
        rows[:1], labels[:1], classes=[0, 1]
    )
    waiting, said = deque(), np.full(len(rows), 0.5)
    for t in range(1, len(rows)):
        said[t] = model.predict_proba_one(rows[t])[labels[t]]
        waiting.append(t)
        if len(waiting) > delay:
            due = waiting.popleft()
            model.learn_one(rows[due], labels[due])
    return said


# %%
# Two streams
# -----------
# Spambase is mail of one time, in random order: what is true of the first thousand letters is true
# of the last. Beside it, a stream whose boundary turns, once around in 4,000 rows; there the
# learner is told that weights drift, by a half-life of 300 rows.

rng = np.random.default_rng(0)
mail, is_spam = load_spambase(return_X_y=True, random_state=0)
mail = np.log1p(mail)
mail = (mail - mail.mean(axis=0)) / mail.std(axis=0)
turning = rng.normal(size=(4000, 2))
angle = 2.0 * np.pi * np.arange(4000) / 4000
margin = turning[:, 0] * np.cos(angle) + turning[:, 1] * np.sin(angle)
side = (margin + 0.3 * rng.normal(size=4000) > 0.0).astype(int)

streams = {
    "Spambase": (mail, is_spam, {}),
    "a boundary that turns": (turning, side, {"half_life": 300}),
}
delays = [0, 10, 30, 100, 300, 1000]
said = {
    name: {delay: said_of(rows, labels, delay, **settings) for delay in delays}
    for name, (rows, labels, settings) in streams.items()
}

# %%
# What a delay costs
# ------------------

figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 4), layout="constrained")
for (name, by_delay), colour in zip(said.items(), ("#2166ac", "#b2182b"), strict=True):
    losses = [-np.log2(by_delay[delay]).mean() for delay in delays]
    left.plot(range(len(delays)), losses, "o-", color=colour, label=name)
    print(f"{name:22}", *(f"{d:5,}: {loss:.3f} " for d, loss in zip(delays, losses, strict=True)))
left.axhline(1.0, color="0.6", ls=":", lw=1)
left.text(0, 1.02, "a coin", color="0.4")
left.set(xlabel="delay of labels, rows", ylabel="log-loss, bits per row", ylim=(0, None))
left.set_xticks(range(len(delays)), [f"{delay:,}" for delay in delays])
left.legend()

window = np.ones(250) / 250
for delay, shade in zip((0, 100, 1000), ("#92c5de", "#4393c3", "#053061"), strict=True):
    losses = -np.log2(said["Spambase"][delay])
    smooth = np.convolve(losses, window, "valid")
    right.plot(np.arange(250, len(losses) + 1), smooth, color=shade, label=f"{delay:,} rows late")
right.set(xlabel="rows of Spambase", ylabel="bits per row, last 250", ylim=(0, None))
right.legend()
plt.show()

# %%
# Where nothing changes, late labels cost their delay once: who waits for the first thousand knows
# next to nothing until they come, then catches up, and in the end all know the same. Where the
# world turns, the cost stays, and a learner whose labels are a quarter of a turn late is worse than
# a coin: it is sure of what was true then.
#
# So two things are worth watching in a service whose labels are late: how its log-loss depends on
# the delay, and on how much was learned between an answer and its label. ``vvm serve`` shows both,
# of what it said *at the time*.
