"""Threads take turns, and the child of a fork finds nothing half-way.

- Who learns a table works on a twin of the estimator, which then takes its place in one step. One
  does so at a time. Whoever reads meanwhile sees what there was before; a call that fails or is
  interrupted leaves just that.
- What learns single rows changes in place. Each row has its turn, and so has who reads; a fork
  waits for the turn's end.
"""

from __future__ import annotations

import functools
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from threading import RLock, Thread
from typing import (
    Any,
    Concatenate,
    Generic,
    NamedTuple,
    NoReturn,
    ParamSpec,
    Self,
    TypeVar,
    overload,
)
from weakref import WeakSet

Estimator = TypeVar("Estimator")
Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

_Tasks = deque[Callable[[], object]]
_NO_TASKS: _Tasks = deque()

LOADING: Any = RLock()  # whose turn it is to compile kernels or to load them


class Turn:
    """A lock that copies do not share, and that nobody holds in the child of a fork.

    Parameters
    ----------
    brief : bool
        Whether things change in place, and never for long, so that a fork waits until nobody has
        the lock. Otherwise they are changed in one step at the end, and it need not.
    """

    __slots__ = ("__weakref__", "brief", "lock")

    def __init__(self, brief: bool = False) -> None:
        self.lock: Any = RLock()
        self.brief = brief
        with _making_turns:
            _turns.add(self)


_turns: WeakSet[Turn] = WeakSet()
_making_turns: Any = RLock()


class computed_once(Generic[Estimator, Result]):
    """As `functools.cached_property`, which in Python 3.11 has a lock that a fork would leave held.

    Threads that ask at the same time may compute it twice; they get the same object.
    """

    def __init__(self, compute: Callable[[Estimator], Result]) -> None:
        self._compute, self._name = compute, compute.__name__
        functools.update_wrapper(self, compute)  # type: ignore[arg-type]

    @overload
    def __get__(self, instance: None, owner: Any) -> Self: ...

    @overload
    def __get__(self, instance: Estimator, owner: Any) -> Result: ...

    def __get__(self, instance: Estimator | None, owner: Any) -> Self | Result:
        if instance is None:
            return self
        result: Result = vars(instance).setdefault(self._name, self._compute(instance))
        return result


class TakesTurns:
    """An estimator that threads may share: they learn one after the other."""

    @computed_once
    def _turn(self) -> Turn:
        return Turn()

    def set_params(self, **parameters: Any) -> Self:
        """Set parameters, once nobody is learning; see scikit-learn's `BaseEstimator`."""
        with self._turn.lock:
            estimator: Self = super().set_params(**parameters)  # type: ignore[misc]
            return estimator

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = dict(super().__getstate__() or {})  # type: ignore[call-overload]
        state.pop("_turn", None)  # each copy has its own
        return state


@contextmanager
def learned_whole(estimator: Estimator) -> Iterator[Estimator]:
    """Give a twin of an estimator to learn with, whose place it takes in one step, or not at all.

    Others wait for their turn. What they set as attributes meanwhile is kept.
    """
    lock = estimator._turn.lock  # type: ignore[attr-defined]
    if lock._is_owned():
        refuse(estimator)
    with lock:
        before = dict(vars(estimator))
        twin = _with_attributes(estimator, dict(before))
        yield twin
        after = vars(twin)
        changed = {name: v for name, v in after.items() if before.get(name, before) is not v}
        gone = before.keys() - after.keys()
        now = dict(vars(estimator))
        estimator.__dict__ = {name: v for name, v in now.items() if name not in gone} | changed


class Team:
    """Some threads that do tasks side by side; this one is among them.

    Parameters
    ----------
    n_threads : int
        One does all by itself.

    Examples
    --------
    >>> from virtualvector.concurrency import Team
    >>> done = []
    >>> with Team(2) as team:
    ...     team.do([lambda: done.append("one"), lambda: done.append("other")])
    >>> sorted(done)
    ['one', 'other']
    """

    def __init__(self, n_threads: int) -> None:
        self.n_threads = max(n_threads, 1)
        self._others: list[Thread] = []  # begun when there is something to do for them
        self._orders: SimpleQueue[_Order | None] = SimpleQueue()
        self._behind: _Order | None = None  # of which some may be under way

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        if self._behind is not None:
            self._behind.left.clear()
        for _ in self._others:
            self._orders.put(None)
        for other in self._others:
            if other.is_alive():  # not so who was interrupted while beginning it
                other.join()
        self._others.clear()

    def do(
        self, tasks: Iterable[Callable[[], object]], behind: Iterable[Callable[[], object]] = ()
    ) -> None:
        """Do tasks, which are begun in their order; return once all are done.

        This thread does the first one: if that is the same task time and again, what it works on
        stays near. After an error no other of them is begun. Those ``behind`` come after all of
        them, and may be left to other threads: they are done after `finish`, or another `do`.
        """
        if self.n_threads == 1:
            for task in (*tasks, *behind):
                task()
            return
        self.finish()
        left = deque(tasks)
        mine = deque([left.popleft()] if left else [])
        order, later = self._order(left), self._order(deque(behind))
        self._behind = later
        try:
            _complete(order, mine, later.left)
        except BaseException:
            later.left.clear()
            raise

    def finish(self) -> None:
        """Do what is left behind, and wait for those who do it."""
        later, self._behind = self._behind, None
        if later is not None:
            _complete(later)

    def _order(self, tasks: _Tasks) -> _Order:
        """Let others begin with tasks as soon as they are done with those before.

        Each is woken once, however many tasks there are. To wake one and to hear of it takes an
        executor of Python two and a half times as long as it takes these queues.
        """
        order = _Order(tasks, min(self.n_threads - 1, len(tasks)), SimpleQueue())
        while len(self._others) < order.n_others:
            # Who is interrupted on the way out leaves them behind: Python need not wait for them.
            self._others.append(Thread(target=_obey, args=[self._orders], daemon=True))
            self._others[-1].start()
        for _ in range(order.n_others):
            self._orders.put(order)
        return order


ALONE = Team(1)


class _Order(NamedTuple):
    """Tasks, of how many other threads, and where each of these says that it is done with them.

    Or what went wrong.
    """

    left: _Tasks
    n_others: int
    done: SimpleQueue[BaseException | None]

    @property
    def is_done(self) -> bool:
        """Whether all others have said so."""
        return self.done.qsize() == self.n_others


def _complete(order: _Order, mine: _Tasks = _NO_TASKS, meanwhile: _Tasks = _NO_TASKS) -> None:
    """Do one's own tasks and what is left of an order, and something else while others do theirs.

    Returns once others are done, too; raises what went wrong there.
    """
    errors: list[BaseException | None] = []
    try:
        _do(mine, order.left)
        while meanwhile and not order.is_done:
            _do_next(meanwhile)
    finally:
        errors = [order.done.get() for _ in range(order.n_others)]
    for error in errors:
        if error is not None:
            raise error


def _obey(orders: SimpleQueue[_Order | None]) -> None:
    """Do what is ordered, one after the other, until that is nothing."""
    while (order := orders.get()) is not None:
        error = None
        try:
            _do(order.left)
        except BaseException as raised:  # to be raised where the order came from
            error = raised
        order.done.put(error)


def _do(*queues: _Tasks) -> None:
    """Do all tasks of one queue after the other, as long as there are any."""
    try:
        for left in queues:
            while left:
                _do_next(left)
    except BaseException:
        for left in queues:
            left.clear()
        raise


def _do_next(left: _Tasks) -> None:
    """Do the next task, unless another thread was faster."""
    try:
        task = left.popleft()
    except IndexError:
        return
    task()


def of_one_moment(
    read: Callable[Concatenate[Estimator, Arguments], Result],
) -> Callable[Concatenate[Estimator, Arguments], Result]:
    """Let a method see an estimator as it is when it is called, whatever is learned meanwhile."""

    @functools.wraps(read)
    def reading(
        estimator: Estimator, /, *arguments: Arguments.args, **named: Arguments.kwargs
    ) -> Result:
        # Attributes are replaced as a whole: whoever has them keeps them.
        return read(_with_attributes(estimator, vars(estimator)), *arguments, **named)

    return reading


def _with_attributes(estimator: Estimator, attributes: dict[str, Any]) -> Estimator:
    twin: Estimator = object.__new__(type(estimator))
    twin.__dict__ = attributes
    return twin


def refuse(owner: object) -> NoReturn:
    """Raise, because this thread is within a call, and calls again: from a signal's handler.

    It would wait for itself, or change what the call is working on.
    """
    raise RuntimeError(
        f"{type(owner).__name__} was called from within another call to it; expected the handler "
        "of a signal to leave it alone until that has returned."
    )


_held: list[Any] = []


def _before_fork() -> None:
    """Wait until nothing is half-way: first for single rows, which may wait for a kernel."""
    _making_turns.acquire()
    _held[:] = [*(turn.lock for turn in _turns if turn.brief), LOADING]
    for lock in _held:
        lock.acquire()


def _after_fork() -> None:
    # What the handler of a signal kept from being taken is not given back.
    for lock in reversed(_held):
        if lock._is_owned():
            lock.release()
    _held.clear()
    if _making_turns._is_owned():
        _making_turns.release()


def _after_fork_in_child() -> None:
    """Free the locks of threads that are not there any more."""
    _after_fork()
    for turn in list(_turns):
        if turn.lock.acquire(blocking=False):
            turn.lock.release()
        else:
            turn.lock = RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=_after_fork,
        after_in_child=_after_fork_in_child,
    )
