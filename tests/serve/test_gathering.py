"""Requests that come together, and what is kept of answers that nobody waits for."""

import asyncio
import json
import threading
from types import SimpleNamespace

import numpy as np
import pytest

from tests.serve.conftest import row_text, until
from virtualvector import AutoVVMClassifier
from virtualvector.serve.answering import Answering
from virtualvector.serve.bodies import Limits, OneRow, one_row_in
from virtualvector.serve.entries import Entry, Outcome
from virtualvector.serve.learning import MANY, Learned
from virtualvector.serve.monitor import Monitor
from virtualvector.serve.rows import RowFormat
from virtualvector.serve.service import Service
from virtualvector.serve.store import Store, StoreLost
from virtualvector.serve.texts import compact, parsed
from virtualvector.serve.writer import MOST_PENDING, Overloaded, Writer
from virtualvector.streams import Column

NAMES = ("a", "b", "c")


def table_of(rows):
    return dict(zip(NAMES, rows.T, strict=True))


@pytest.fixture(scope="module")
def taught():
    """Return a model of three columns, and rows that it has not learned."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(130, 3))
    labels = np.where(rows[:, 0] * rows[:, 1] + 0.3 * rows[:, 2] > 0.0, "yes", "no")
    model = AutoVVMClassifier(random_state=0).fit(table_of(rows[:90]), labels[:90])
    return model, rows[90:]


@pytest.fixture
def store(address):
    store = Store(address).begun(b"a model", ["x"])
    yield store
    store.close()


@pytest.fixture
def answering(taught, store):
    """Return what answers with that model, once it has begun."""
    model, _ = taught
    columns = [Column(name, False) for name in NAMES]
    learned = Learned(model, None, 0, Monitor()).ready(RowFormat(columns).example)
    learner = SimpleNamespace(snapshot=learned)
    return Answering(Service(learner, RowFormat(columns), store), Limits(rows=3))


def body_of(row, **more):
    return json.dumps({"row": dict(zip(NAMES, row, strict=True))} | more).encode()


def answered(answering, *turns):
    """Return what is said to requests, those of each turn at the same time."""

    async def ask():
        answering.service.writer.start()
        said = []
        for bodies in turns:
            found = [one_row_in(body, answering.service.form, answering.limits) for body in bodies]
            asked = [
                OneRow.unpacked(one.packed()) if one else body
                for one, body in zip(found, bodies, strict=True)
            ]
            replies = answering.answer_together(asked)
            said += [each if isinstance(each, tuple) else await each for each in replies]
        await asyncio.to_thread(answering.service.writer.stop)
        return said

    return [(status, json.loads(body)) for status, body in asyncio.run(ask())]


@pytest.mark.parametrize("n_together", [1, MANY - 1, MANY, 40])
def test_requests_that_come_together_are_each_told_what_they_would_be_alone(
    taught, answering, store, n_together
):
    model, rows = taught
    ids = [f"own {k}" if k % 3 == 0 else None for k in range(40)]
    bodies = [
        body_of(row) if own is None else body_of(row, id=own)
        for row, own in zip(rows.tolist(), ids, strict=True)
    ]
    turns = [bodies[k : k + n_together] for k in range(0, 40, n_together)]
    said = answered(answering, *turns)
    alone = [model.predict_proba(table_of(row[np.newaxis]))[0] for row in rows]
    for (status, answer), own, expected in zip(said, ids, alone, strict=True):
        assert status == 200
        assert list(answer["probabilities"].values()) == expected.tolist()
        assert answer["label"] == model.classes_[expected.argmax()]
        assert (answer["learned"], answer["kept"]) == (0, True)
        assert own is None or answer["id"] == own
    assert store.counts()["answers"] == 40
    with store._engine.connect() as connection:
        known = store._known(connection, {answer["id"] for _, answer in said})
    for (_, answer), row in zip(said, rows.tolist(), strict=True):
        assert json.loads(known[answer["id"]].row) == row
        assert json.loads(known[answer["id"]].predicted) == answer["probabilities"]


def test_who_asks_for_something_else_takes_nobody_along(taught, answering):
    _, rows = taught
    row = rows[0].tolist()
    several = {"rows": [dict(zip(NAMES, row, strict=True))]}
    requests = {
        body_of(row): 200,
        b"{": 400,
        body_of([1.0, "x", 2.0]): 422,
        body_of([1.0, None, 2.0]): 200,
        body_of([True, 1.0, 2.0]): 422,
        body_of(row, id=""): 422,
        body_of(row, label="no"): 422,
        b'{"row": 1}': 422,
        b'{"row": {"a": 1}}': 422,
        json.dumps(several).encode(): 200,
        json.dumps({"rows": several["rows"] * 4}).encode(): 413,
        json.dumps({"row": several["rows"][0] | {"more": 1}}).encode(): 200,
        b"": 400,
    }
    said = answered(answering, list(requests))
    assert [status for status, _ in said] == list(requests.values())
    (first, *_, listed, _, more, _) = (body for _, body in said)
    assert [each | {"id": first["id"]} for each in listed["answers"]] == [first]
    assert more == first | {"id": more["id"], "left_out": ["more"]}


def test_a_row_under_an_id_that_another_has_is_refused_and_the_same_is_told_again(
    taught, answering
):
    _, rows = taught
    one, other = (body_of(row, id="a") for row in rows[:2].tolist())
    (_, first), (_, again), (status, _) = answered(answering, [one], [one], [other])
    assert first == again
    assert status == 409


def entry(own, **more):
    return Entry(own, 1.0, row_text(len(own)), '{"no":0.4,"yes":0.6}', is_new=True)._replace(**more)


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


def test_what_nobody_waits_for_gathers_again_while_others_are_written(store, monkeypatch):
    """However long a transaction takes, it is not followed by one for each row that came."""
    monkeypatch.setattr("virtualvector.serve.writer.GATHER", 0.2)
    sizes, write = [], store.write

    async def run():
        writer = Writer(store)

        def slowly(entries):
            sizes.append(len(entries))
            if len(sizes) == 1:  # one more comes meanwhile
                came = threading.Event()
                writer._loop.call_soon_threadsafe(lambda: (writer.keep([entry("bb")]), came.set()))
                assert came.wait(10)
            return write(entries)

        monkeypatch.setattr(store, "write", slowly)
        writer.start()
        await writer.submit([entry("a")])
        writer.keep([entry("ccc")])
        await asyncio.to_thread(until, lambda: len(sizes) == 2)
        await asyncio.to_thread(writer.stop)

    asyncio.run(run())
    assert sizes == [1, 2]
    assert store.counts()["answers"] == 3


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
