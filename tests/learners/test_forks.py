"""A fork finds no learner half-way, and its child goes on with every one of them."""

import os
import subprocess
import sys

import pytest

from tests import forking

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")

SECONDS = 300  # after which something hangs, even on a slow machine

# The child of each fork checks all models, learns with them, and says so by how it ends. It ends by
# force if it hangs. Rows are all the same, so that their number says what must have been learned.
BEGINNING = """
import os, signal, sys, threading
import numpy as np
from virtualvector import ADFClassifier, AutoVVMClassifier, VVMClassifier
from virtualvector.persistence.mixin import contents_of

ROWS = np.array([[0.5, -1.0, 0.25] * 8, [-0.5, 0.3, 1.0] * 8])


def started(make):
    return make().partial_fit(ROWS, [0, 1], classes=[0, 1])


def vvm():
    return VVMClassifier(6, margin_noise=0.5, half_life=50.0)


def in_child(work):
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        try:
            work()
        except BaseException:
            import traceback
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    return child


def check(child):
    _, status = os.waitpid(child, 0)
    assert status == 0, status
"""

BESIDE_LEARNERS = """
model, other, committee = started(vvm), started(ADFClassifier), started(AutoVVMClassifier)
after = {2: contents_of(model)}
whole = started(vvm)
for n in range(3, 502):
    whole.learn_one(ROWS[0], 0)
    after[n] = contents_of(whole)
over = threading.Event()


def single_rows():
    while not over.is_set():
        if model.n_seen_ < 450:
            model.learn_one(ROWS[0], 0)
        other.learn_one(ROWS[0], 0)


def tables():
    while not over.is_set():
        committee.partial_fit(np.tile(ROWS, (50, 1)), [0, 1] * 50)
        other.partial_fit(np.tile(ROWS, (500, 1)), [0, 1] * 500)


def readers():
    while not over.is_set():
        model.coef_, other.predict_proba(ROWS), committee.predict_proba(ROWS)


threads = [threading.Thread(target=work) for work in (single_rows, single_rows, tables, readers)]
for thread in threads:
    thread.start()


def work():
    n = model.n_seen_
    assert contents_of(model) == after[n], n
    assert contents_of(model.learn_one(ROWS[0], 0)) == after[n + 1]
    for each in (model, other, committee):
        n = each.n_seen_
        each.predict_proba(ROWS), each.predict_proba(ROWS[:1])
        each.partial_fit(ROWS, [0, 1])
        assert each.n_seen_ == n + 2
        each.set_params(**each.get_params())


for _ in range(FORKS):
    check(in_child(work))
over.set()
for thread in threads:
    thread.join()
assert contents_of(model) == after[model.n_seen_]
print("done")
"""

WITHIN_A_CALL = """
children = []


class Row:
    def __init__(self, values):
        self.values = values

    def __array__(self, dtype=None, copy=None):
        if not children:
            children.append(os.fork())
            signal.alarm(60)
        return self.values


model, whole = started(vvm), started(vvm)
if SINGLE:
    model.learn_one(Row(ROWS[0]), 0)
else:
    model.partial_fit(Row(ROWS[:1]), [0])
assert contents_of(model) == contents_of(whole.partial_fit(ROWS[:1], [0]))
assert contents_of(model.learn_one(ROWS[1], 1)) == contents_of(whole.learn_one(ROWS[1], 1))
if children[0] == 0:
    os._exit(0)
check(children[0])
print("done")
"""

WHILE_LOADING = """
loading = threading.Event()


def learn():
    loading.set()
    started(vvm).learn_one(ROWS[0], 0)


thread = threading.Thread(target=learn)
thread.start()
loading.wait()
for _ in range(20):
    check(in_child(lambda: started(vvm).learn_one(ROWS[0], 0)))
thread.join()
print("done")
"""


def run(script, **constants):
    lines = [f"{name} = {value!r}" for name, value in constants.items()]
    done = forking.run("\n".join([*lines, script]))
    assert done.out == "done\n", done.err


@pytest.mark.processes
def test_a_fork_beside_threads_that_learn_leaves_learners_that_go_on():
    run(BEGINNING + BESIDE_LEARNERS, FORKS=10)


@pytest.mark.parametrize("single", [True, False])
def test_a_fork_within_a_call_leaves_two_calls_that_go_on(single):
    run(BEGINNING + WITHIN_A_CALL, SINGLE=single)


@pytest.mark.processes
def test_a_fork_waits_until_a_kernel_is_loaded():
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", BEGINNING + WHILE_LOADING],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.stdout == "done\n", done.stderr
