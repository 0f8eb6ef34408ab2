"""Requests that come together, and what is kept of answers that nobody waits for."""

import asyncio
import json
import threading

import numpy as np
import pytest

from tests.serve.conftest import row_text, until
from virtualvector import AutoVVMClassifier
from virtualvector.serve.gathering import Gathering
from virtualvector.serve.learning import MANY, Learned
from virtualvector.serve.monitor import Monitor
from virtualvector.serve.rows import Checked
from virtualvector.serve.store import Entry, Outcome, Store, StoreLost
from virtualvector.serve.texts import compact, parsed
from virtualvector.serve.writer import MOST_PENDING, Overloaded, Writer


@pytest.fixture(scope="module")
def taught():
    """Return a model of three columns, and rows that it has not learned."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(130, 3))
    labels = np.where(rows[:, 0] * rows[:, 1] + 0.3 * rows[:, 2] > 0.0, "yes", "no")
    model = AutoVVMClassifier(random_state=0).fit(rows[:90], labels[:90])
    return model, rows[90:]


def test_requests_that_come_together_are_each_told_what_they_would_be_alone(taught):
    model, rows = taught
    example = Checked([[0.0] * 3], np.zeros((1, 3)), [])
    learned = Learned(model, None, 0, Monitor()).ready(example)
    sizes = [1, 2, 1, 3, 1, 8, 1, 1, 4, 8, 2, 8]  # in all 40: more than are predicted at a time
    starts = np.cumsum([0, *sizes])

    async def ask():
        gathering = Gathering(lambda: learned)
        parts = [rows[start : start + n] for start, n in zip(starts, sizes, strict=False)]
        return [
            await asyncio.gather(*map(gathering.predict, some))
            for some in (parts, parts[:1], parts[:MANY])
        ]

    every, first, few = asyncio.run(ask())
    alone = [model.predict_proba(row[np.newaxis])[0].tolist() for row in rows]
    assert [row for said in every for row in said.probabilities] == alone
    assert [row for said in first for row in said.probabilities] == alone[: sizes[0]]
    assert [row for said in few for row in said.probabilities] == alone[: starts[MANY]]
    assert all(said.learned is learned for said in every)


def test_who_gives_up_takes_nobody_along(taught):
    model, rows = taught

    async def ask():
        gathering = Gathering(lambda: Learned(model, None, 0, Monitor()))
        asked = [asyncio.ensure_future(gathering.predict(rows[k : k + 1])) for k in range(3)]
        await asyncio.sleep(0)
        asked[1].cancel()
        return await asyncio.gather(*asked, return_exceptions=True)

    one, gone, other = asyncio.run(ask())
    assert isinstance(gone, asyncio.CancelledError)
    for said, k in ((one, 0), (other, 2)):
        assert said.probabilities == model.predict_proba(rows[k : k + 1]).tolist()


def entry(own, **more):
    return Entry(own, 1.0, row_text(len(own)), '{"no":0.4,"yes":0.6}', is_new=True)._replace(**more)


@pytest.fixture
def store(address):
    store = Store(address).begun(b"a model", ["x"])
    yield store
    store.close()


def test_answers_that_nobody_waits_for_are_durable_soon_and_take_labels(store):
    async def write():
        writer = Writer(store)
        writer.start()
        writer.keep([entry("a"), entry("bb")])
        label = Entry("a", 2.0, label="no")
        (found,) = await writer.submit([label])  # behind it in the queue
        writer.keep([entry("ccc")])
        while writer.n_pending:
            await asyncio.sleep(0.005)
        counts = store.counts()
        writer.keep([entry("dddd")])
        await asyncio.to_thread(writer.stop)
        return found, counts

    found, counts = asyncio.run(write())
    assert found.outcome is Outcome.ACCEPTED
    assert counts == {"answers": 3, "waiting": 2, "conflicts": 0}
    assert store.counts()["answers"] == 4  # a stop writes what is left


@pytest.mark.parametrize("fails", ["before", "after"])
def test_they_are_written_once_when_a_store_comes_back(store, fails, monkeypatch):
    """Whether a transaction that failed was carried out is not known: both have to end well."""
    is_back, write = threading.Event(), store.write

    def fail(entries):
        if is_back.is_set():
            return write(entries)
        if fails == "after":
            write(entries)
            is_back.set()
        raise StoreLost("the connection is gone")

    monkeypatch.setattr(store, "write", fail)
    monkeypatch.setattr("virtualvector.serve.writer.PROBE", 0.01)

    async def run():
        writer = Writer(store)
        writer.start()
        writer.keep([entry("a")])
        with pytest.raises(StoreLost):
            await writer.submit([entry("bb")])
        assert not writer.is_sure
        is_back.set()
        await asyncio.to_thread(until, lambda: writer.is_sure)
        (found,) = await writer.submit([Entry("a", 2.0, label="no")])
        await asyncio.to_thread(writer.stop)
        return found, writer

    found, writer = asyncio.run(run())
    assert found.outcome is Outcome.ACCEPTED
    assert writer.lost is None
    assert [row.id for row in store.labelled(0, 10)] == ["a"]
    assert store.counts()["answers"] == (1 if fails == "before" else 2)


def test_what_could_not_be_written_by_the_end_is_counted(store, monkeypatch):
    def fail(entries):
        raise StoreLost("the connection is gone")

    monkeypatch.setattr(store, "write", fail)

    async def run():
        writer = Writer(store)
        writer.start()
        writer.keep([entry("a"), entry("bb")])
        await asyncio.to_thread(writer.stop)
        return writer

    assert asyncio.run(run()).n_unwritten == 2


def test_no_more_than_so_many_wait_to_be_written(store):
    async def run():
        writer = Writer(store)
        writer._loop = asyncio.get_running_loop()  # and nobody writes
        writer.keep([entry("a")] * MOST_PENDING)
        with pytest.raises(Overloaded, match="20,000 rows and labels wait"):
            writer.keep([entry("bb")])

    asyncio.run(run())


def test_json_is_what_the_standard_library_makes_of_it():
    values = [0.1, 1e-7, 1e22, -0.0, 5e-324, 2**70, -3, "ä\ud800", None, True, {"k": [1.5]}]
    for value in values:
        again = json.loads(compact(value))
        assert again == value
        assert str(again) == str(value)
    body = compact(values[:5]).encode()
    assert list(map(str, parsed(body, only_numbers=True))) == list(map(str, values[:5]))
    for broken in (b"[1,]", b"", b"[" * 100_000):
        with pytest.raises((ValueError, RecursionError)):
            parsed(broken, only_numbers=True)


def test_the_same_row_in_other_digits_is_the_same_row(store):
    store.write([Entry("a", 1.0, "[1e-05,100000.0]", "{}")])
    (same, other) = store.write(
        [Entry("a", 2.0, "[1e-5,1e+5]", "{}"), Entry("a", 2.0, "[1e-5,1e+6]", "{}")]
    )
    assert (same.outcome, other.outcome) == (Outcome.ANSWERED, Outcome.TAKEN)
