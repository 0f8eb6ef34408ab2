"""However a service was interrupted, its model is the one of the labels in their order."""

import json
import random
import shutil
import socket
import sqlite3
from contextlib import closing

import pytest

import virtualvector
from tests.serve.conftest import learn_all, rows_of, until
from virtualvector.cli.mark import marking
from virtualvector.cli.serve import Keeping
from virtualvector.persistence import read
from virtualvector.serve.store import Store

pytestmark = pytest.mark.processes

ROWS, LABELS = rows_of(120, seed=2)


@pytest.fixture
def offline(vvm, tmp_path):
    """Return the bytes of the model that a store leads to."""

    def run(address):
        done = vvm("learn", "--from-store", address, "--model", "offline.vvm")
        assert done.code == 0, done.err
        return (tmp_path / "offline.vvm").read_bytes()

    return run


def talk(client, start, stop, seed):
    """Ask about rows, and send their labels late, twice and in any order."""
    rng = random.Random(seed)
    said = client.post("/predict", json={"rows": ROWS[start:stop]}).json()["answers"]
    sent = [
        {"id": answer["id"], "label": label}
        for answer, label in zip(said, LABELS[start:stop], strict=True)
    ] * 2
    rng.shuffle(sent)
    while sent:
        n_next = rng.randrange(1, 8)
        assert client.post("/labels", json=sent[:n_next]).status_code == 200
        sent = sent[n_next:]


def test_a_service_and_learning_its_store_offline_come_to_the_same_bytes(
    serving, model, address, offline
):
    for start in (0, 40, 80):  # stopped and started again in between
        with serving(store=address) as client:
            talk(client, start, start + 40, seed=start)
            learn_all(client, start + 40)
    assert model.read_bytes() == offline(address)
    notes = read(model).about["store"]
    assert notes["sequence"] == 120


def test_after_a_crash_it_is_rebuilt_to_the_bytes_of_an_uninterrupted_service(
    serving, model, tmp_path, offline
):
    address = f"sqlite:///{tmp_path}/own.store"
    with serving(store=address) as client:
        talk(client, 0, 40, seed=0)
        learn_all(client, 40)
    checkpoint = model.read_bytes()
    with serving(store=address) as client:
        talk(client, 40, 120, seed=1)
        learn_all(client, 120)
    whole = model.read_bytes()
    model.write_bytes(checkpoint)  # as if nothing had been saved since
    with serving(store=address) as client:
        learn_all(client, 120)
    assert model.read_bytes() == whole == offline(address)


def test_the_model_is_that_of_learning_the_labels_in_their_order(serving, model, learned):
    with serving() as client:
        talk(client, 0, 60, seed=3)
        learn_all(client, 60)
        order = client.service._store.labelled(0, 1000)
    own = virtualvector.load(learned)
    for row in order:
        values = dict(zip(own.feature_names_in_, json.loads(row.row), strict=True))
        own.learn_one(values, row.label)
    served = virtualvector.load(model)
    table = {name: [row[name] for row in ROWS] for name in ROWS[0]}
    assert (served.predict_proba(table) == own.predict_proba(table)).all()


def test_pruning_changes_nothing_of_what_is_learned(serving, model, tmp_path, offline):
    twin = shutil.copy(model, tmp_path / "twin.vvm")
    stores = [f"sqlite:///{tmp_path}/{name}.store" for name in ("whole", "pruned")]
    for path, store, keeping in (
        (model, stores[0], Keeping(checkpoint_every=20)),
        (twin, stores[1], Keeping(checkpoint_every=20, keep_rows=10)),
    ):
        for start in (0, 60):
            with serving(store=store, keeping=keeping, path=path) as client:
                for k in range(start, start + 60):
                    body = {"row": ROWS[k], "label": LABELS[k], "id": f"{k}"}
                    assert client.post("/learn", json=body).status_code == 200
                learn_all(client, start + 60)
    table = {name: [row[name] for row in ROWS] for name in ROWS[0]}
    both = [virtualvector.load(path).predict_proba(table) for path in (model, twin)]
    assert (both[0] == both[1]).all()
    store = Store(stores[1])
    assert store.counts()["answers"] == 10
    # Where the last label came while the model before it was saved, nothing was left to drop.
    assert 110 <= store.base.sequence <= 120
    store.close()
    assert offline(stores[1]) == twin.read_bytes()


def append(vvm, folder):
    lines = "\n".join(["x0,x1,x2,colour,outcome", "1,2,3,red,good", "3,2,1,blue,bad"])
    (folder / "more.csv").write_text(lines)
    assert vvm("learn", "more.csv", "--model", "m.vvm", "--append", "-q").code == 0


def test_a_model_that_was_learned_elsewhere_is_refused(serving, model, vvm, tmp_path):
    with serving() as client:
        client.post("/learn", json={"row": ROWS[0], "label": "good"})
        learn_all(client, 1)
    append(vvm, tmp_path)
    done = vvm("serve", "--model", "m.vvm")
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "learned elsewhere since; expected the model of the store" in done.err


def test_a_store_that_lost_labels_is_refused(serving, model, vvm, tmp_path):
    store = tmp_path / "m.vvm.store"
    with serving() as client:
        client.post("/learn", json={"row": ROWS[0], "label": "good"})
        learn_all(client, 1)
    before = store.read_bytes()
    with serving() as client:
        client.post("/learn", json={"row": ROWS[1], "label": "good"})
        learn_all(client, 2)
    store.write_bytes(before)  # from a backup
    done = vvm("serve", "--model", "m.vvm")
    assert done.code == 2
    assert "has learned 2 labels of the store, which has 0 to 1" in done.err


def test_only_one_service_has_a_model(serving, model, vvm):
    with marking(model):
        done = vvm("serve", "--model", "m.vvm")
    assert done.code == 1
    assert "another process is learning it" in done.err


def test_old_rows_go_even_if_no_label_comes(serving):
    keeping = Keeping(checkpoint_seconds=0.1, keep_rows=5)
    with serving(keeping=keeping) as client:
        client.post("/predict", json={"rows": ROWS[:30]})
        until(lambda: client.service.learner.n_pruned == 25)


def test_a_port_that_is_taken_is_told_in_one_line(model, vvm):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        done = vvm("serve", "--model", "m.vvm", "--port", port)
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert f"--port {port}: Address already in use; expected" in done.err


def test_a_start_that_failed_does_not_keep_a_model_from_being_learned_and_served(
    serving, model, vvm, tmp_path
):
    with socket.create_server(("127.0.0.1", 0)) as other:
        assert vvm("serve", "--model", "m.vvm", "--port", other.getsockname()[1]).code == 2
    append(vvm, tmp_path)
    with serving() as client:
        client.post("/learn", json={"row": ROWS[0], "label": "good"})
        learn_all(client, 1)
        assert client.get("/model").json()["rows_learned"] == 63


@pytest.mark.parametrize("foreign", [None, "CREATE TABLE own (x)"])
def test_a_database_without_a_store_is_refused_and_stays_as_it_is(vvm, tmp_path, foreign):
    path = tmp_path / "foreign.db"
    path.touch()
    if foreign:
        with closing(sqlite3.connect(path)) as own:
            own.execute(foreign)
    before = path.read_bytes()
    done = vvm("learn", "--from-store", f"sqlite:///{path}", "--model", "new.vvm")
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "found a database without a store of vvm serve" in done.err
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.glob("foreign*")] == ["foreign.db"]


def test_an_address_that_is_none_is_told_by_the_option_it_was_given_to(vvm, model):
    done = vvm("learn", "--from-store", "foo", "--model", "new.vvm")
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "--from-store 'foo': expected sqlite:///FILE" in done.err
    assert "--store 'foo': expected" in vvm("serve", "--store", "foo", "--model", "m.vvm").err


def test_a_folder_that_is_not_there_is_told_in_one_line(vvm, serving, tmp_path):
    store = f"sqlite:///{tmp_path}/own.store"
    with serving(store=store):
        pass
    for asked in (("serve",), ("learn", "--from-store", store)):
        done = vvm(*asked, "--model", "nowhere/m.vvm")
        assert (done.code, done.err) == (
            2,
            "vvm: --model nowhere/m.vvm: there is no folder nowhere.\n",
        )


def test_a_folder_of_tokens_is_refused(vvm, model, tmp_path):
    done = vvm("serve", "--model", "m.vvm", "--token-file", tmp_path)
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "found a folder; expected a file of tokens" in done.err


def test_options_that_a_store_has_no_use_for_are_refused(vvm):
    for others in (("--workers", 2), ("--shards", 2), ("--passes", 2)):
        done = vvm("learn", "--from-store", "sqlite:///own.store", "--model", "new.vvm", *others)
        assert done.code == 2
        assert "--from-store learns what a store has" in done.err


def test_tokens_that_others_can_read_are_told(vvm, model, tmp_path):
    tokens = tmp_path / "tokens"
    tokens.write_text("no tokens\n")
    for mode, n_lines in ((0o600, 1), (0o640, 2), (0o604, 2)):
        tokens.chmod(mode)
        done = vvm("serve", "--model", "m.vvm", "--token-file", "tokens")
        assert done.err.count("\n") == n_lines
        assert ("--token-file tokens: others can read it" in done.err) == (n_lines == 2)
