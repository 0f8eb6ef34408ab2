"""
From a messy CSV to a served model
==================================

Orders, some of them fraud, as a spreadsheet has exported them: semicolons, decimal commas, four
ways to say that a value is missing, codes that look like numbers. It is learned as it is, looked
at, and then served: answers now, labels when they come.
"""

# %%
# The table
# ---------
# It is made here so that everything can be repeated; yours is there already.

import signal
import socket
import subprocess
import sys
import tempfile
import textwrap
import time
from contextlib import contextmanager
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import virtualvector
from virtualvector import AutoVVMClassifier
from virtualvector.evaluation import ReliabilityDisplay, WeightsDisplay, cumulative_error
from virtualvector.serve.client import Client

rng = np.random.default_rng(0)
n = 1000
orders = pd.DataFrame(
    {
        "order": np.arange(n),
        "placed": pd.Timestamp("2025-01-01") + pd.to_timedelta(rng.uniform(0, 300, n), "D"),
        "amount": np.exp(rng.normal(3.5, 1.2, n)).round(2),
        "country": rng.choice(["NO", "SE", "DK", "XX"], n, p=[0.4, 0.3, 0.2, 0.1]),
        "branch": rng.choice([101, 205, 330], n),
        "customer_days": rng.exponential(400, n).astype(int),
    }
)
orders["placed"] = orders["placed"].dt.round("s")
odds = (
    1.8 * np.log(orders["amount"])
    + 5.0 * (orders["country"] == "XX")
    + 3.0 * (orders["placed"].dt.hour < 6)
    + 2.0 * (orders["branch"] == 330)
    - 0.006 * orders["customer_days"]
    - 9.0
)
orders["outcome"] = np.where(rng.random(n) < 1 / (1 + np.exp(-odds)), "fraud", "fine")

messy = orders.astype(str)
messy["amount"] = messy["amount"].str.replace(".", ",")
messy.loc[rng.random(n) < 0.1, "amount"] = "n/a"
messy.loc[rng.random(n) < 0.05, "country"] = ""
messy.loc[rng.random(n) < 0.02, "customer_days"] = "?"
messy.loc[rng.random(n) < 0.02, "customer_days"] = "-"
messy.loc[123, "amount"] = "ask Kari"
folder = tempfile.TemporaryDirectory()
table, file = Path(folder.name) / "orders.csv", Path(folder.name) / "orders.vvm"
messy.to_csv(table, sep=";", index=False)
print("".join(table.read_text().splitlines(keepends=True)[:6]))

# %%
# Learn it
# --------
# Only one thing cannot be seen from the table: that branches are codes, not quantities. What each
# column was taken for is said before learning begins.

VVM = Path(sys.executable).with_name("vvm")


def vvm(*arguments):
    """Run the command as in a shell, and print what it says."""
    done = subprocess.run([VVM, *arguments], capture_output=True, text=True, cwd=folder.name)
    for line in (done.stderr + done.stdout).splitlines():
        print(line if "  " in line else textwrap.fill(line, 62))  # tables stay as they are


learn = ["learn", "orders.csv", "--id", "order", "--categorical", "branch", "--model", "orders.vvm"]
vvm(*learn, "--quiet")

# %%
# One cell is neither a number nor missing. The line says where it is, and what helps; here the row
# is left out.

vvm(*learn, "--on-error", "skip")

# %%
# Each order was predicted before it was learned, so that the figures are about orders that the
# model had not seen.
#
# Look at it
# ----------
# The file is what ``virtualvector.load`` reads. Whom the committee trusted along the way:

model = virtualvector.load(file)
figure, axes = plt.subplots(figsize=(9, 3.5), layout="constrained")
WeightsDisplay.from_estimator(model, ax=axes, most=4)
plt.show()

# %%
# From Python it is the same, with a data frame in the place of the file:

rows = pd.read_csv(
    table, sep=";", decimal=",", na_values=["-", "?", "ask Kari"], parse_dates=["placed"]
)
rows = rows.drop(index=123, columns="order")
labels = rows.pop("outcome").to_numpy()
again = AutoVVMClassifier(categorical_features=["country", "branch"])
predicted = again.predict_then_learn(rows, labels)

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
error = 100 * cumulative_error(labels, predicted.labels)
left.plot(np.arange(50, len(error)), error[50:], color="#2166ac", label="AutoVVM")
left.axhline(100 * np.mean(labels == "fraud"), color="0.5", ls="--", label="always saying fine")
left.set(xlabel="orders", ylabel="wrong so far, %", ylim=(0, None))
left.legend()
ReliabilityDisplay.from_predictions(labels, predicted.probabilities, again.classes_, ax=right)
plt.show()

# %%
# Serve it
# --------
# ``vvm serve`` answers over HTTP and goes on learning from labels. SIGTERM ends it with everything
# saved.


@contextmanager
def service(file):
    """Serve a model on a port that is free, and stop that whatever happens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    process = subprocess.Popen(
        [VVM, "serve", "--model", file.name, "--port", port],
        cwd=file.parent,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        client = Client(f"http://127.0.0.1:{port}", patience=300)  # it may have to compile
        client.get("/ready")  # tried again until it is
        yield client
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            said = process.communicate(timeout=30)[1]
        except subprocess.TimeoutExpired:
            process.kill()
            said = process.communicate()[1]
        print(said.replace(port, "8750"), f"exit code {process.returncode}", sep="")


# %%
# Thirty orders come from a country that the model has never seen. Each is answered at once; a day
# later all have turned out to be fraud, and these labels are learned.

fresh = [
    {
        "placed": f"2025-11-{day:02} 14:00:00",
        "amount": round(float(amount), 2),
        "country": "FI",
        "branch": 101,
        "customer_days": 300,
    }
    for day, amount in zip(range(1, 31), np.exp(rng.normal(3.5, 1.0, 30)), strict=True)
]
next_one = fresh[0] | {"placed": "2025-12-01 14:00:00"}
with service(file) as client:
    print("before:", client.predict(next_one)["probabilities"])
    answers = client.predict_many(fresh, ids=[f"order {3000 + k}" for k in range(30)])
    print("each has an id:", answers[0]["id"])
    outcomes = [client.label(answer["id"], "fraud") for answer in answers]
    print(f"{outcomes.count('accepted')} labels were accepted")
    end = time.monotonic() + 30
    while client.get("/model")["labels_learned"] < len(fresh) and time.monotonic() < end:
        time.sleep(0.1)  # they are learned within a second or so
    print("learned since the start:", client.get("/model")["labels_learned"])
    print("after: ", client.predict(next_one)["probabilities"])

# %%
# The file has what the service learned, and can be used as before.

print("orders learned before and after:", model.n_seen_, virtualvector.load(file).n_seen_)
folder.cleanup()

# %%
# Where to go on: :doc:`/first_steps` in the shell, :doc:`/tables` for what is done with each kind
# of column, :doc:`/serving` for what a service promises.
