"""Signals end a run between two steps, once."""

import contextlib
import os
import signal
import threading
import time

import pytest

from virtualvector.cli import signals as signals_module
from virtualvector.cli.signals import Signals, Stopped


def send(number):
    os.kill(os.getpid(), number)


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"])
def test_a_signal_stops_at_once(name):
    number = getattr(signal, name)
    before = signal.getsignal(number)
    with Signals(), pytest.raises(Stopped) as stopped:
        send(number)
    assert str(stopped.value) == name
    assert stopped.value.exit_code == 128 + number
    assert signal.getsignal(number) is before


def test_shielded_steps_are_finished_and_nested():
    done = []

    def steps(signals):
        with signals.shielded():
            with signals.shielded():
                send(signal.SIGTERM)
                done.append("inner")
            done.append("outer")
        done.append("never")

    with Signals() as signals, pytest.raises(Stopped):
        steps(signals)
    assert done == ["inner", "outer"]


def test_only_the_first_signal_counts():
    with Signals() as signals:
        with pytest.raises(Stopped, match="SIGTERM"):
            send(signal.SIGTERM)
        send(signal.SIGINT)
        with signals.shielded():
            send(signal.SIGTERM)


def test_an_error_in_a_shielded_step_is_not_hidden_by_a_signal():
    def step(signals):
        with signals.shielded():
            send(signal.SIGTERM)
            raise ZeroDivisionError

    with Signals() as signals, pytest.raises(ZeroDivisionError):
        step(signals)


def test_what_was_ignored_stays_ignored():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with Signals():
            send(signal.SIGHUP)
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_idle_time_is_noticed_but_not_inside_a_step():
    calls = []
    with Signals() as signals:
        signals.idle = lambda: calls.append(1)
        with signals.shielded():
            send(signal.SIGALRM)
        assert calls == []
        send(signal.SIGALRM)
        assert calls == [1]


def test_other_threads_leave_signals_alone():
    before = signal.getsignal(signal.SIGTERM)
    seen = []

    def run():
        with Signals():
            seen.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert seen == [before]


def test_a_stop_that_became_another_error_is_still_one():
    class Named:
        def __set_name__(self, owner, name):
            send(signal.SIGTERM)

    with pytest.raises(Stopped, match="SIGTERM"), Signals() as signals:
        type("Imported", (), {"attribute": Named()})  # a RuntimeError, before Python 3.12
    assert signals.stop is not None


def test_a_stop_that_a_finaliser_swallowed_comes_again_while_steps_go_on(monkeypatch):
    monkeypatch.setattr(signals_module, "_TICK", 0.02)
    monkeypatch.setattr(signals_module, "_LOST", 0.05)
    with Signals() as signals:
        signals.idle = lambda: None
        with contextlib.suppress(Stopped):  # as Python does with what `__del__` raises
            send(signal.SIGTERM)
            time.sleep(1.0)
        with pytest.raises(Stopped, match="SIGTERM"):
            time.sleep(10.0)


def test_a_stop_does_not_come_again_once_steps_have_ended(monkeypatch):
    monkeypatch.setattr(signals_module, "_TICK", 0.02)
    monkeypatch.setattr(signals_module, "_LOST", 0.05)
    with Signals() as signals:
        with pytest.raises(Stopped):
            send(signal.SIGTERM)
        time.sleep(0.3)  # what was learned is being saved
        assert signals.stop is not None
