"""
From a messy table to a saved model
===================================

Orders, some of them fraud: numbers in different units, categories, times, missing values, a column
of numbers that are codes. No cleaning, no settings.
"""

# %%
# The table
# ---------
# It is made here so that everything can be repeated; yours comes from ``pandas.read_csv``.

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import virtualvector
from virtualvector import AutoVVMClassifier
from virtualvector.evaluation import ReliabilityDisplay, WeightsDisplay, cumulative_error

rng = np.random.default_rng(0)
n = 3000
orders = pd.DataFrame(
    {
        "amount": np.exp(rng.normal(3.5, 1.2, n)).round(2),
        "country": rng.choice(["NO", "SE", "DK", "XX"], n, p=[0.4, 0.3, 0.2, 0.1]),
        "branch": rng.choice([101, 205, 330], n),
        "placed": pd.Timestamp("2025-01-01") + pd.to_timedelta(rng.uniform(0, 300, n), "D"),
        "customer_days": rng.exponential(400, n).round(),
    }
)
night = orders["placed"].dt.hour < 6
odds = (
    0.9 * np.log(orders["amount"])
    + 2.5 * (orders["country"] == "XX")
    + 1.5 * night
    + 1.0 * (orders["branch"] == 330)
    - 0.003 * orders["customer_days"]
    - 5.0
)
fraud = np.where(rng.random(n) < 1 / (1 + np.exp(-odds)), "fraud", "fine")
orders.loc[rng.random(n) < 0.1, "amount"] = np.nan
orders.loc[rng.random(n) < 0.05, "country"] = None
print(orders.head().to_string())
print(f"{np.mean(fraud == 'fraud'):.1%} of the orders are fraud")

# %%
# Learn it as a stream
# --------------------
# Each order is predicted before it is learned, so every order is a test. Only one thing cannot be
# seen from the table: that branches are codes, not quantities.

model = AutoVVMClassifier(categorical_features=["country", "branch"])
predicted = model.predict_then_learn(orders, fraud)

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
error = 100 * cumulative_error(fraud, predicted.labels)
left.plot(np.arange(50, n), error[50:], color="#2166ac", label="AutoVVM")
left.axhline(100 * np.mean(fraud == "fraud"), color="0.5", ls="--", label="always saying fine")
left.set(xlabel="orders", ylabel="wrong so far, %", ylim=(0, None))
left.legend()
ReliabilityDisplay.from_predictions(fraud, predicted.probabilities, model.classes_, ax=right)
plt.show()

# %%
# Whom it trusted along the way:

figure, axes = plt.subplots(figsize=(9, 3.5), layout="constrained")
WeightsDisplay.from_estimator(model, ax=axes, most=4)
plt.show()

# %%
# New orders, and a file
# ----------------------
# Columns are found by name. What was never seen, or is missing, is no error.

new = pd.DataFrame(
    {
        "amount": [900.0, 20.0, np.nan],
        "country": ["XX", "NO", "FI"],
        "branch": [330, 101, 205],
        "placed": pd.to_datetime(["2025-11-02 03:10", "2025-11-02 14:00", "2025-11-03 12:00"]),
        "customer_days": [2.0, 900.0, 300.0],
    }
)
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "orders.vvm"
    model.save(path)
    again = virtualvector.load(path)
    print(f"{path.stat().st_size / 1e6:.1f} MB")
probabilities = pd.DataFrame(again.predict_proba(new), columns=again.classes_)
print(probabilities.round(3).to_string())

# %%
# In the shell it is the same: ``vvm learn orders.csv --categorical branch --model orders.vvm``,
# then ``vvm predict new.csv --model orders.vvm --proba``; see :doc:`/commands`.
