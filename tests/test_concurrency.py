"""Threads that do tasks side by side."""

from functools import partial
from threading import Barrier, current_thread
from time import sleep

import pytest

from virtualvector.concurrency import Team


@pytest.mark.parametrize("n_threads", [1, 2, 3])
@pytest.mark.parametrize("n_tasks", [0, 1, 20])
def test_every_task_is_done_once(n_threads, n_tasks):
    done = []
    with Team(n_threads) as team:
        team.do(partial(done.append, task) for task in range(n_tasks))
        assert sorted(done) == list(range(n_tasks))
        team.do(partial(done.append, task) for task in range(n_tasks))
    assert sorted(done) == sorted([*range(n_tasks)] * 2)


def test_one_thread_does_tasks_in_their_order_and_by_itself():
    done = []
    with Team(1) as team:
        team.do([lambda: done.append(current_thread())] * 3)
        team.do(partial(done.append, task) for task in "abc")
    assert done == [current_thread()] * 3 + ["a", "b", "c"]


def test_tasks_are_done_side_by_side_and_who_gives_them_takes_part():
    both, threads = Barrier(2, timeout=60), []

    def meet():
        both.wait()
        threads.append(current_thread())

    with Team(2) as team:
        team.do([meet, meet, meet, meet])
    assert current_thread() in threads
    assert len(set(threads)) == 2


@pytest.mark.parametrize("n_threads", [1, 2])
def test_an_error_is_raised_once_nobody_is_at_work_and_no_other_task_is_begun(n_threads):
    both, done = Barrier(n_threads, timeout=60), []

    def fail():
        both.wait()
        raise ValueError("found a mistake")

    def work():
        both.wait()
        done.append("beside it")

    def later():
        sleep(0.001)  # else all might be done before the error is
        done.append("later")

    beside = [work] * (n_threads - 1)
    with Team(n_threads) as team:
        with pytest.raises(ValueError, match="found a mistake"):
            team.do([fail, *beside, *[later] * 5000])
        assert done.count("beside it") == n_threads - 1
        assert done.count("later") < 5000
        n_done = len(done)
        team.do([partial(done.append, "again")])
        assert done[n_done:] == ["again"]


@pytest.mark.parametrize("n_threads", [1, 2, 3])
@pytest.mark.parametrize("n_behind", [0, 1, 20])
def test_what_is_behind_is_done_once_after_finishing_or_before_other_tasks(n_threads, n_behind):
    done = []
    behind = [partial(done.append, "behind")] * n_behind
    with Team(n_threads) as team:
        team.do([partial(done.append, "first")] * 3, behind)
        assert done.count("first") == 3
        team.do([lambda: done.append(done.count("behind"))], behind)
        assert done.count(n_behind) == 1
        team.finish()
        assert done.count("behind") == 2 * n_behind


def test_what_is_behind_is_done_side_by_side_too():
    both, threads = Barrier(2, timeout=60), set()

    def meet():
        both.wait()
        threads.add(current_thread())

    with Team(2) as team:
        team.do([partial(sleep, 0.0)], [meet, meet])
        team.finish()
    assert len(threads) == 2


def test_an_error_behind_is_raised_once_when_that_is_finished():
    with Team(2) as team:
        team.do([], [partial(int, "a mistake")])
        with pytest.raises(ValueError, match="a mistake"):
            team.finish()
        team.finish()


def test_who_leaves_waits_for_what_is_under_way_behind():
    done = []
    with Team(2) as team:
        team.do([], [lambda: (done.append("begun"), sleep(0.05), done.append("done"))] * 2)
    assert done.count("begun") == done.count("done")
