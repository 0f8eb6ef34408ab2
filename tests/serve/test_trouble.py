"""Full disk, read-only store, lost database: predictions go on, labels are refused, all is said."""

import json
import os
import re
import signal
import socket
import subprocess
import time

import pytest
from sqlalchemy import event

from tests import forking
from tests.cli.conftest import COMMAND, small_files
from tests.serve.conftest import learn_all, rows_of, until
from virtualvector.serve import writer
from virtualvector.serve.client import Client, ServiceError
from virtualvector.serve.store import Store

pytestmark = pytest.mark.processes

ROWS, LABELS = rows_of(200, seed=7)


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr(writer, "PROBE", 0.05)


def spoil(service, how):
    """Let every connection of the store fail to write, until the list is emptied."""
    troubles = [how]

    @event.listens_for(service._store._engine, "checkout")
    def narrow(connection, *_):
        connection.execute(f"PRAGMA query_only={int('read-only' in troubles)}")
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        most = pages if "full" in troubles else 2**30
        connection.execute(f"PRAGMA max_page_count={most}")

    return troubles


@pytest.mark.parametrize("how", ["full", "read-only"])
def test_a_store_that_cannot_be_written_is_told_and_predictions_go_on(client, how):
    body = {"rows": ROWS[:100], "ids": [f"a{k}" for k in range(100)]}
    client.post("/predict", json=body)
    assert client.post("/labels", json={"id": "a0", "label": "good"}).status_code == 200
    troubles = spoil(client.service, how)

    def learn(k):
        return client.post("/learn", json={"row": ROWS[k], "label": LABELS[k]})

    refused = [learn(k) for k in range(100, 200)]
    statuses = [answer.status_code for answer in refused]
    assert statuses[-1] == 503  # pages that are there may take a few first
    assert set(statuses) <= {200, 503}
    assert "the store cannot be written" in refused[-1].json()["error"]
    ready = client.get("/ready")
    assert ready.status_code == 503
    assert "labels are refused: the store cannot be written" in ready.json()["troubles"][0]
    assert client.get("/health").status_code == 200
    answer = client.post("/predict", json={"row": ROWS[0]})
    assert answer.status_code == 200
    assert answer.json()["kept"] is False

    troubles.clear()
    until(lambda: client.get("/ready").status_code == 200)
    said = client.post("/labels", json={"id": "a0", "label": "good"}).json()
    assert said["outcome"] == "repeated"  # what was acknowledged is still there
    assert client.post("/predict", json={"row": ROWS[0]}).json()["kept"] is True
    learn_all(client, 1 + statuses.count(200))


@pytest.mark.parametrize("is_replaced", [False, True])
def test_a_store_whose_file_was_moved_is_told_and_found_again(client, model, is_replaced):
    client.post("/predict", json={"row": ROWS[0], "id": "a"})
    file, elsewhere = model.with_name("m.vvm.store"), model.with_name("elsewhere")
    os.rename(file, elsewhere)
    if is_replaced:
        file.write_bytes(elsewhere.read_bytes())
    until(lambda: client.get("/ready").status_code == 503)
    assert "its file was moved or deleted" in client.get("/ready").json()["troubles"][0]
    said = client.post("/labels", json={"id": "a", "label": "good"})
    assert said.status_code == 503
    assert "the store cannot be written: its file was moved or deleted" in said.json()["error"]
    assert client.post("/predict", json={"row": ROWS[1]}).json()["kept"] is False

    os.rename(elsewhere, file)
    until(lambda: client.get("/ready").status_code == 200)
    said = client.post("/labels", json={"id": "a", "label": "good"})
    assert said.json()["outcome"] == "accepted"
    learn_all(client, 1)


def test_a_lost_database_is_told_and_found_again(serving, server):
    address = server.address("lost")
    with serving(store=address) as client:
        client.post("/learn", json={"row": ROWS[0], "label": "good", "id": "a"})
        learn_all(client, 1)
        server.kill()
        try:
            said = client.post("/labels", json={"id": "a", "label": "good"})
            assert said.status_code == 503
            assert client.get("/ready").status_code == 503
            answer = client.post("/predict", json={"row": ROWS[1]})
            assert (answer.status_code, answer.json()["kept"]) == (200, False)
        finally:
            server.start()
        until(lambda: client.get("/ready").status_code == 200)
        said = client.post("/learn", json={"row": ROWS[0], "label": "good", "id": "a"})
        assert said.json()["outcome"] == "repeated"


def test_a_model_file_that_cannot_be_saved_is_told_and_saved_later(client, model):
    parent = model.parent
    own, other = model.read_bytes(), parent / "other"
    os.rename(model, other)
    model.mkdir()  # where no file can be written
    body = {"rows": ROWS[:30], "labels": LABELS[:30]}
    assert client.post("/learn", json=body).status_code == 200
    until(lambda: client.get("/ready").status_code == 503)
    assert client.get("/ready").json()["troubles"][0].startswith("saving: ")
    assert client.post("/predict", json={"row": ROWS[0]}).json()["kept"] is True
    model.rmdir()
    os.rename(other, model)
    assert model.read_bytes() == own
    client.post("/learn", json={"rows": ROWS[30:60], "labels": LABELS[30:60]})
    until(lambda: client.get("/ready").status_code == 200)


@pytest.fixture
def started(model):
    """Start a service in a process of its own; return it and its address."""
    processes = []

    def start(*arguments, before=""):
        process = forking.start(
            f"{before}\n{COMMAND}", "serve", "--model", "m.vvm", "--port", "0", *arguments,
            cwd=model.parent, stderr=subprocess.PIPE,
        )  # fmt: skip
        processes.append(process)
        for line in process.stderr:
            found = re.search(r"answers at (\S+)", line)
            if found:
                return process, found[1]
        raise AssertionError("it did not start")

    yield start
    for process in processes:
        with process:
            if process.returncode is None:
                process.kill()


def connected(address):
    return socket.create_connection(("127.0.0.1", int(address.rpartition(":")[2])))


HALF = (
    b"POST /predict HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    b"Content-Length: 500\r\n\r\n{"
)


def test_sigterm_ends_it_within_ten_seconds_with_everything_saved(started, model):
    process, address = started()
    client = Client(address)
    for k in range(40):
        client.learn(ROWS[k], LABELS[k])
    with connected(address) as slow:
        slow.sendall(HALF)
        until(lambda: client.get("/model")["labels_learned"] == 40)
        began = time.monotonic()
        process.send_signal(signal.SIGTERM)
        assert process.wait() == 0
        assert time.monotonic() - began < 10.0
        assert slow.recv(1000).startswith(b"HTTP/1.1 503 ")
    assert process.stderr.read() == "vvm: m.vvm: stopped; everything is saved.\n"
    store = Store(f"sqlite:///{model}.store")
    assert store.last == 40
    store.close()
    process, address = started()
    assert Client(address).get("/model")["rows_learned"] == 100


def test_sigterm_ends_answers_that_never_end_without_a_word(started):
    process, address = started(before="from virtualvector.serve import app; app.EVERY = 1000.0")
    with connected(address) as slow:
        slow.sendall(b"GET /events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        assert slow.recv(1000).startswith(b"HTTP/1.1 200 ")
        process.send_signal(signal.SIGTERM)
        assert process.wait() == 0
    assert process.stderr.read() == "vvm: m.vvm: stopped; everything is saved.\n"


def test_no_value_of_a_row_is_ever_logged(started):
    process, address = started()
    client = Client(address, patience=0.0)
    with pytest.raises(ServiceError):
        client.predict(ROWS[0] | {"x0": "SECRET"}, "SECRET")
    client.predict(ROWS[0] | {"colour": "SECRET"}, "SECRET")
    process.send_signal(signal.SIGTERM)
    process.wait()
    assert "SECRET" not in process.stderr.read()


def test_requests_that_are_no_http_are_counted_and_not_logged(started):
    process, address = started()
    for _ in range(3):
        with connected(address) as broken:
            broken.sendall(b"\x00\xff\r\n\r\n")
            assert broken.recv(1000).startswith(b"HTTP/1.1 400 ")
    with connected(address) as asking:
        asking.sendall(b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        assert b'vvm_requests_total{path="malformed",status="400"} 3\n' in asking.recv(1000)
    process.send_signal(signal.SIGTERM)
    process.wait()
    assert process.stderr.read() == "vvm: m.vvm: stopped; everything is saved.\n"


def test_on_a_disk_that_is_really_full_nothing_acknowledged_is_lost(started, model):
    size = 400_000
    process, address = started(before=small_files(size) + "\nimport signal; "
                               "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)")  # fmt: skip
    client, accepted = Client(address, patience=0.0), []

    def fill():
        for k in range(3000):
            client.learn(ROWS[k % 200], LABELS[k % 200], f"{k}")
            accepted.append(f"{k}")

    with pytest.raises(ServiceError) as full:
        fill()
    assert full.value.status == 503
    with pytest.raises(ServiceError) as told:
        client.get("/ready")
    assert told.value.status == 503
    assert client.predict(ROWS[0])["kept"] is False
    process.kill()
    process.wait()
    process, address = started()  # on a larger disk
    client = Client(address)
    for own in accepted:
        k = int(own)
        assert client.learn(ROWS[k % 200], LABELS[k % 200], own) == "repeated"
    until(lambda: client.get("/model")["labels_learned"] >= len(accepted))


def test_slow_and_broken_clients_do_not_keep_others_waiting(started):
    _, address = started()
    port = int(address.rpartition(":")[2])
    slow = [socket.create_connection(("127.0.0.1", port)) for _ in range(100)]
    for k, each in enumerate(slow):
        each.sendall([b"POST /pre", b"GET / HTTP/1.1\r\nHost:", b"\x00\xff", b"{" * 1000][k % 4])
    client = Client(address, patience=0.0)
    for k in range(20):
        assert client.predict(ROWS[k])["kept"]
    for each in slow:
        each.close()
    assert client.get("/ready") == {"status": "ready"}


@pytest.mark.parametrize("before", [b"", b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"])
def test_a_connection_that_sends_half_a_head_is_closed(started, before):
    _, address = started(before="from virtualvector.serve import protocol; protocol.HEAD = 0.5")
    with connected(address) as slow:
        slow.settimeout(60.0)
        if before:
            slow.sendall(before)
            assert slow.recv(1000).startswith(b"HTTP/1.1 200 ")
        slow.sendall(b"POST /predict HTTP/1.1\r\nHost:")
        assert slow.recv(1000) == b""


def test_a_body_may_take_longer_than_a_head(started):
    _, address = started(before="from virtualvector.serve import protocol; protocol.HEAD = 0.2")
    body = json.dumps({"row": ROWS[0]}).encode().ljust(499)
    with connected(address) as slow:
        slow.settimeout(60.0)
        for _ in range(2):
            slow.sendall(HALF)
            time.sleep(0.6)
            slow.sendall(body[1:] + b" ")
            assert slow.recv(1000).startswith(b"HTTP/1.1 200 ")
