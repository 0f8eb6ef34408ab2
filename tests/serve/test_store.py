"""What is durable, once, and in which order: against a dictionary that does it naively."""

import random
import sqlite3
from contextlib import closing

import pytest
from sqlalchemy import event

from tests.serve.conftest import row_text
from virtualvector.serve.entries import Entry, Outcome
from virtualvector.serve.store import Base, Store, StoreLost
from virtualvector.streams.bad_input import BadInput

PREDICTED = '{"no":0.4,"yes":0.6}'


@pytest.fixture
def store(address):
    own = Store(address).begun(b"base", ["x"])
    yield own
    own.close()


def asked(own, number=1, label=None):
    return Entry(own, 1.0, row_text(number), PREDICTED, label=label)


def outcomes(store, *entries):
    return [written.outcome for written in store.write(entries)]


def order(store):
    return [(row.sequence, row.id, row.label) for row in store.labelled(0, 10_000)]


class Naive:
    """The same by a dictionary, without thinking of transactions."""

    def __init__(self):
        self.rows, self.labels, self.order, self.conflicts = {}, {}, [], set()

    def take(self, entry):
        if entry.row is not None:
            if self.rows.setdefault(entry.id, entry.row) != entry.row:
                return Outcome.TAKEN
            if entry.label is None:
                return Outcome.ANSWERED
        if entry.id not in self.rows:
            return Outcome.UNKNOWN
        if entry.id not in self.labels:
            self.labels[entry.id] = entry.label
            self.order.append((len(self.order) + 1, entry.id, entry.label))
            return Outcome.ACCEPTED
        if self.labels[entry.id] == entry.label:
            return Outcome.REPEATED
        self.conflicts.add((entry.id, entry.label))
        return Outcome.CONFLICT


@pytest.mark.parametrize("seed", range(4))
def test_any_stream_of_rows_and_labels_becomes_what_a_dictionary_makes_of_it(store, seed):
    rng, naive = random.Random(seed), Naive()
    for _ in range(12):
        some = []
        for _ in range(rng.randrange(1, 12)):
            own, label = f"id {rng.randrange(15)}", rng.choice(["no", "yes"])
            some.append(
                rng.choice(
                    [
                        asked(own, rng.randrange(2)),
                        asked(own, rng.randrange(2), label),
                        Entry(own, 2.0, label=label),
                        Entry(own, 2.0, label=label),
                    ]
                )
            )
        assert outcomes(store, *some) == [naive.take(entry) for entry in some]
    assert order(store) == naive.order
    assert {(c["id"], c["other"]) for c in store.conflicts(100)} == naive.conflicts
    assert store.counts() == {
        "answers": len(naive.rows),
        "waiting": len(naive.rows) - len(naive.labels),
        "conflicts": len(naive.conflicts),
    }
    assert store.last == len(naive.order)


def test_what_was_said_at_the_time_is_said_again(store):
    store.write([asked("a")])
    again = Entry("a", 5.0, row_text(1), '{"no":0.9,"yes":0.1}')
    assert store.write([again])[0].predicted == PREDICTED


def test_another_opening_finds_everything(store, address):
    store.write([asked("a"), asked("b"), Entry("b", 3.0, label="no"), Entry("a", 4.0, label="yes")])
    other = Store(address, must_exist=True)
    assert other.id == store.id
    assert other.base == Base(0, b"base")
    assert order(other) == [(1, "b", "no"), (2, "a", "yes")]
    other.close()


def test_labels_go_on_being_numbered_when_old_rows_are_gone(store):
    for k in range(6):
        store.write([Entry(f"{k}", float(k), row_text(k), PREDICTED)])
    # The oldest row has the latest label.
    store.write([Entry(f"{k}", 9.0, label="yes") for k in (5, 4, 3, 0)])
    assert store.prune(Base(4, b"later"), before=2.0) == 2  # one had no label
    assert store.base == Base(4, b"later")
    assert outcomes(store, Entry("0", 9.0, label="yes")) == [Outcome.UNKNOWN]
    assert outcomes(store, Entry("2", 9.0, label="no")) == [Outcome.ACCEPTED]
    assert [row.sequence for row in store.labelled(4, 10)] == [5]


def test_a_label_that_the_base_has_not_learned_is_never_dropped(store):
    entries = [Entry(f"{k}", float(k), row_text(k), PREDICTED, label="no") for k in range(10)]
    store.write(entries)
    assert store.prune(Base(3, b"later"), before=100.0, most=0) == 3
    assert [row.sequence for row in store.labelled(0, 100)] == list(range(4, 11))


def test_without_a_later_base_only_rows_go_that_nobody_will_learn(store, monkeypatch):
    monkeypatch.setattr("virtualvector.serve.store.DROPPED_AT_ONCE", 2)
    store.write([Entry(f"{k}", float(k), row_text(k), PREDICTED) for k in range(10)])
    store.write([Entry("3", 9.0, label="no")])
    assert store.prune(None, before=8.0) == 7
    assert store.base == Base(0, b"base")
    assert order(store) == [(1, "3", "no")]


def test_the_latest_rows_stay(store):
    store.write([Entry(f"{k}", float(k), row_text(k), PREDICTED) for k in range(10)])
    assert store.prune(Base(0, b"base"), most=4) == 6
    assert outcomes(store, *(Entry(f"{k}", 9.0, label="no") for k in (5, 6))) == [
        Outcome.UNKNOWN,
        Outcome.ACCEPTED,
    ]


def test_rows_of_other_columns_are_refused(store, address):
    store.write([asked("a")])
    other = Store(address)
    with pytest.raises(BadInput, match="rows of other columns"):
        other.begun(b"base", ["y"])
    other.close()


def test_an_unused_store_begins_anew_and_who_had_begun_it_writes_no_more(store, address):
    other = Store(address).begun(b"another base", ["y"])
    assert other.base == Base(0, b"another base")
    with pytest.raises(StoreLost, match="another service began with it"):
        store.write([asked("a")])
    assert outcomes(other, asked("a")) == [Outcome.ANSWERED]
    other.close()


def test_a_store_without_the_labels_that_a_model_has_learned_does_not_begin_anew(store, address):
    own = store.id
    other = Store(address).begun(b"a model that has learned", ["x"], learned_from=own)
    assert (other.id, other.base) == (own, Base(0, b"base"))
    other.close()


def test_on_a_full_disk_nothing_is_half_written(tmp_path):
    store = Store(f"sqlite:///{tmp_path}/own.store").begun(b"base", ["x"])
    store.write([asked("a")])
    pages = []

    @event.listens_for(store._engine, "checkout")
    def narrow(connection, *_):
        connection.execute(f"PRAGMA max_page_count={pages[-1] if pages else 2**30}")

    with closing(sqlite3.connect(tmp_path / "own.store")) as direct:
        pages += direct.execute("PRAGMA page_count").fetchone()
    many = [Entry(f"b{k}", 1.0, row_text("x" * 500), PREDICTED) for k in range(200)]
    with pytest.raises(StoreLost, match="disk is full"):
        store.write([Entry("a", 2.0, label="no"), *many])
    assert order(store) == []
    pages.clear()
    assert outcomes(store, Entry("a", 2.0, label="no")) == [Outcome.ACCEPTED]
    store.close()


def test_a_database_that_was_killed_is_found_again(server):
    store = Store(server.address("killed")).begun(b"base", ["x"])
    store.write([asked("a"), Entry("a", 2.0, label="no")])
    server.kill()
    try:
        with pytest.raises(StoreLost):
            store.write([asked("b")])
    finally:
        server.start()
    assert outcomes(store, asked("b"), Entry("a", 3.0, label="no")) == [
        Outcome.ANSWERED,
        Outcome.REPEATED,
    ]
    store.close()


@pytest.mark.parametrize("wrong", ["mysql://h/x", "sqlite://", "nothing", "sqlite:///:memory:"])
def test_an_address_of_something_else_is_refused(wrong):
    with pytest.raises(BadInput, match="expected sqlite:///FILE or postgresql"):
        Store(wrong)


def test_an_address_that_is_refused_does_not_tell_its_password():
    with pytest.raises(BadInput) as refused:
        Store("mysql://me:secret@host/x")
    assert "secret" not in str(refused.value)
