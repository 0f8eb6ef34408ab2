"""Signals wait while something must not end half-way, and none of them is lost."""

import os
import signal
import subprocess
import sys
import threading

import pytest

from virtualvector.jit.signals import signals_deferred


@pytest.fixture
def received():
    """Signals that came to handlers, which raise: SIGUSR1, SIGUSR2, SIGALRM."""
    received = []

    def handler(number, frame):
        received.append(number)
        raise InterruptedError(number)

    numbers = signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM
    before = {number: signal.signal(number, handler) for number in numbers}
    yield received
    for number, handler in before.items():
        signal.signal(number, handler)


def raise_deferred(received, *numbers):
    """Raise signals; nothing comes of them before the end."""
    with signals_deferred():
        for number in numbers:
            signal.raise_signal(number)
        assert not received


def test_a_signal_comes_to_its_handler_at_the_end(received):
    with pytest.raises(InterruptedError):
        raise_deferred(received, signal.SIGUSR1)
    assert received == [signal.SIGUSR1]


def test_every_signal_comes_once_in_order_even_if_the_first_one_raises(received):
    with pytest.raises(InterruptedError):
        raise_deferred(received, signal.SIGUSR2, signal.SIGUSR1, signal.SIGUSR2, signal.SIGUSR2)
    assert received == [signal.SIGUSR2, signal.SIGUSR1]


def test_what_is_raised_inside_is_not_swallowed(received):
    with pytest.raises(KeyError), signals_deferred():
        raise KeyError


def test_deferring_twice_is_deferring_to_the_end_of_the_first(received):
    def twice():
        with signals_deferred():
            raise_deferred(received, signal.SIGUSR1)
            assert not received

    with pytest.raises(InterruptedError):
        twice()
    assert received == [signal.SIGUSR1]


def test_handlers_are_what_they_were(received):
    before = {number: signal.getsignal(number) for number in signal.valid_signals()}
    with signals_deferred():
        for number, handler in before.items():
            if not callable(handler):  # the system's own ways are left alone
                assert signal.getsignal(number) == handler
    assert {number: signal.getsignal(number) for number in signal.valid_signals()} == before


def test_other_threads_have_no_handlers_to_defer(received):
    found = []

    def work():
        before = signal.getsignal(signal.SIGUSR1)
        with signals_deferred():
            found.append(signal.getsignal(signal.SIGUSR1) is before)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [True]


LOADING = """
import signal
from virtualvector.jit.compiled import entry
from virtualvector.posterior.step import flush_residual, predict_row, rebuild

armed, came = [], []


class Came(Exception):
    pass


def handler(number, frame):
    if armed:  # this script is where it can take it
        came.append(armed.pop())
        raise Came


signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
for kernel, *kinds in [(predict_row, int), (rebuild, int, bool), (flush_residual, int)]:
    loaded = False
    while not loaded:
        try:
            armed.append(kernel)
            entry(kernel, *kinds)
            loaded = True
            armed.clear()
        except Came:
            pass
signal.setitimer(signal.ITIMER_REAL, 0)
print(len(came) > 0)
"""


@pytest.mark.processes
def test_kernels_are_compiled_and_loaded_while_a_handler_raises_every_millisecond(tmp_path):
    """LLVM would be left half-way, and end the process some time later."""
    for _ in range(2):  # the first one compiles, the other loads what was compiled
        done = subprocess.run(
            [sys.executable, "-c", LOADING],
            capture_output=True,
            text=True,
            env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)},
            timeout=600,
            check=False,
        )
        assert (done.returncode, done.stdout) == (0, "True\n"), done.stderr
