"""Services that are killed under load, and whose database is killed, too.

Clients ask about rows and bring labels late, again and out of order. Whatever is killed meanwhile,
nothing that was acknowledged may be lost, nothing learned twice, and the model has to have the
bytes of `vvm learn --from-store`.
"""

from __future__ import annotations

import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from faults import postgres
from faults.outcome import Outcome
from virtualvector.persistence import read_header
from virtualvector.serve.client import Client, ServiceError
from virtualvector.serve.store import Store

CLIENTS = 3
PATIENCE = 120.0  # seconds for a service to come back on a busy machine
VVM = Path(sys.executable).with_name("vvm")
LEARN = ("learn", "rows.csv", "--model", "m.vvm", "--learner", "vvm", "--quiet")


class Process(Protocol):
    """A process, however it was started."""

    def send_signal(self, number: int) -> None:
        """Send it a signal."""

    def wait(self) -> int:
        """Return how it ended."""


def attack(seconds: float, seed: int) -> Iterator[Outcome]:
    """Kill services for so long."""
    end, case = time.monotonic() + seconds, 0
    outcome = Outcome("services")
    while case == 0 or time.monotonic() < end:
        with tempfile.TemporaryDirectory(prefix="faults-") as name:
            folder = Path(name)
            numbers_only = case % 2 == 0  # which are answered in another way than categories
            (folder / "rows.csv").write_text(table(numbers_only))
            subprocess.run([VVM, *LEARN], cwd=folder, check=True)
            try:
                rng = random.Random(f"{seed} {case}")
                storm = Storm(folder, started, rng, numbers_only=numbers_only)
                outcome.ends.update(storm.run(n_kills=10))
            except AssertionError as error:
                outcome.failures.append(f"seed {seed}, case {case}: {error}")
        case += 1
    yield outcome


def kill(n_kills: int, database: str, seed: int) -> str:
    """Kill one service so many times, or now and then its server; return what came of it, or raise.

    Parameters
    ----------
    n_kills : int
        Of the service, or of both.
    database : {"sqlite", "postgresql"}
        That has the store.
    seed : int
        Of what is sent, and when what is killed.
    """
    with ExitStack() as used:
        folder = Path(used.enter_context(tempfile.TemporaryDirectory(prefix="faults-")))
        (folder / "rows.csv").write_text(table(numbers_only=True))
        subprocess.run([VVM, *LEARN], cwd=folder, check=True)
        store, kill_database = None, None
        if database == "postgresql":
            server = used.enter_context(postgres.running())
            store, kill_database = server.address("storm"), server.kill_and_start
        rng = random.Random(seed)
        storm = Storm(folder, started, rng, store, kill_database, numbers_only=True)
        ends = storm.run(n_kills)
    return f"services, {database}: " + ", ".join(f"{n:,} {end}" for end, n in ends.items())


def table(numbers_only: bool) -> str:
    """Return the rows, as CSV, of a small model that services begin with."""
    known = examples(80, 0, numbers_only)
    lines = [",".join([*known[0][0], "outcome"])]
    lines += [",".join(map(str, (*row.values(), label))) for row, label in known]
    return "\n".join(lines) + "\n"


def examples(n_rows: int, seed: int, numbers_only: bool) -> list[tuple[dict[str, Any], str]]:
    """Return rows and their labels."""
    rng, found = random.Random(seed), []
    for _ in range(n_rows):
        row = {
            "x0": round(rng.gauss(0, 1), 6),
            "x1": round(rng.gauss(0, 1), 6),
            "colour": rng.choice(["red", "green"]),
        }
        score = row["x0"] - row["x1"] + (row["colour"] == "red") + rng.gauss(0, 0.5)
        if numbers_only:
            del row["colour"]
        found.append((row, "good" if score > 0 else "bad"))
    return found


def started(folder: Path, *arguments: str) -> subprocess.Popen[bytes]:
    """Start the command in a process of its own."""
    with (folder / "said").open("ab") as said:
        return subprocess.Popen([VVM, *arguments], cwd=folder, stdout=said, stderr=said)


class _Asked(NamedTuple):
    row: dict[str, Any]
    label: str
    is_made: bool  # whether the service made the id
    n_kills: int  # before it was asked


class Storm:
    """Clients that go on whatever happens, a service that is killed, and what has to hold."""

    def __init__(
        self,
        folder: Path,
        start: Callable[..., Process],
        rng: random.Random,
        store: str | None = None,
        kill_database: Callable[[], None] | None = None,
        numbers_only: bool = False,
    ) -> None:
        self._numbers_only = numbers_only
        self._folder, self._start, self._rng = folder, start, rng
        self._store = store or f"sqlite:///{folder}/m.vvm.store"
        self._kill_database = kill_database
        self._port = _free_port()
        self._over = threading.Event()
        self._failures: list[str] = []
        self._lock = threading.Lock()
        self._acknowledged: dict[str, str] = {}  # labels by id
        self._n_kills = 0  # of the service
        self._n_forgotten = 0  # answers under an id of the service, which was killed since
        self._n_before = read_header(folder / "m.vvm")["counters"]["rows"]

    def run(self, n_kills: int) -> dict[str, int]:
        """Kill so many times, let everything end well, and check what is left."""
        service = self._serve()
        clients = [
            threading.Thread(target=self._client, args=(k, self._rng.random()))
            for k in range(CLIENTS)
        ]
        for client in clients:
            client.start()
        ends = {"killed": 0, "database killed": 0}
        try:
            for _ in range(n_kills):
                self._let_some_in()
                time.sleep(self._rng.uniform(0.0, 0.4))
                if self._kill_database is not None and self._rng.random() < 0.3:
                    self._kill_database()
                    ends["database killed"] += 1
                    continue
                service.send_signal(signal.SIGKILL)
                service.wait()
                self._n_kills += 1
                ends["killed"] += 1
                service = self._serve()
            self._let_some_in()
        finally:
            self._over.set()
            for client in clients:
                client.join()
            self._until_learned()
            service.send_signal(signal.SIGTERM)
            code = service.wait()
        assert code == 0, f"left with {code}"
        assert not self._failures, self._failures[:5]
        return ends | self._checked() | {"answers forgotten": self._n_forgotten}

    def _serve(self) -> Process:
        options = ("--port", str(self._port), "--checkpoint-every", "20")
        return self._start(
            self._folder, "serve", "--model", "m.vvm", "--store", self._store, *options
        )

    def _let_some_in(self) -> None:
        """Wait until some more labels were acknowledged, so that every kill is under load."""
        n_before, end = len(self._acknowledged), time.monotonic() + PATIENCE
        while len(self._acknowledged) < n_before + 5 and not self._failures:
            assert time.monotonic() < end, "no label was acknowledged"
            time.sleep(0.01)

    def _client(self, number: int, seed: float) -> None:
        try:
            self._talk(number, random.Random(seed))
        except Exception as error:
            self._failures.append(f"client {number}: {type(error).__name__}: {error}")

    def _talk(self, number: int, rng: random.Random) -> None:
        client = Client(f"http://127.0.0.1:{self._port}", patience=PATIENCE)
        rows, waiting, k = examples(500, number + 1, self._numbers_only), [], 0
        while not self._over.is_set() or waiting:
            if not self._over.is_set():
                (row, label), own = rows[k % len(rows)], f"{number}-{k}"
                k += 1
                if rng.random() < 0.2:
                    self._note(own, label, client.learn(row, label, own))
                else:
                    own = own if rng.random() < 0.5 else None
                    asked = _Asked(row, label, own is None, self._n_kills)
                    answer = client.predict(row, own)
                    if answer["kept"]:
                        waiting.append((answer["id"], asked))
            if self._over.is_set() or len(waiting) > 10:
                rng.shuffle(waiting)
                for _ in range(rng.randrange(1, 12)):
                    if waiting:
                        self._label(client, *waiting.pop(), rng)

    def _label(self, client: Client, own: str, asked: _Asked, rng: random.Random) -> None:
        label = asked.label
        for _ in range(rng.choice([1, 1, 2])):
            try:
                self._note(own, label, client.label(own, label))
            except ServiceError as error:
                # Only an answer under an id of the service may be forgotten, and by a kill.
                if error.status != 404 or not asked.is_made or asked.n_kills == self._n_kills:
                    raise
                self._n_forgotten += 1
                self._note(own, label, client.learn(asked.row, label, own))
        if rng.random() < 0.05:
            other = "bad" if label == "good" else "good"
            try:
                self._failures.append(f"{own}: a second label was {client.label(own, other)}")
            except ServiceError as error:
                if error.status != 409:
                    self._failures.append(f"{own}: a second label: {error.status}, {error}")

    def _note(self, own: str, label: str, outcome: str) -> None:
        with self._lock:
            if outcome not in ("accepted", "repeated"):
                self._failures.append(f"{own}: {outcome}")
            self._acknowledged[own] = label

    def _until_learned(self) -> None:
        client, end = Client(f"http://127.0.0.1:{self._port}"), time.monotonic() + PATIENCE
        while client.get("/model")["labels_learned"] < len(self._acknowledged):
            assert time.monotonic() < end, "labels were not learned"
            time.sleep(0.05)

    def _checked(self) -> dict[str, int]:
        """Return what became of labels; raise if one was lost, or learned twice."""
        store = Store(self._store)
        rows = store.labelled(0, 10**9)
        store.close()
        stored = {row.id: row.label for row in rows}
        model = self._folder / "m.vvm"
        n_learned = read_header(model)["counters"]["rows"] - self._n_before
        offline = self._start(
            self._folder, "learn", "--from-store", self._store, "--model", "offline.vvm"
        )
        assert offline.wait() == 0, "learning the store failed"
        found = {
            "labels acknowledged": len(self._acknowledged),
            "lost": len(self._acknowledged.items() - stored.items()),
            "learned twice": n_learned - len(stored),
            "bytes unlike those of --from-store": _n_unlike(
                model.read_bytes(), (self._folder / "offline.vvm").read_bytes()
            ),
        }
        assert not any(list(found.values())[1:]), found
        assert stored == self._acknowledged, "labels that nobody acknowledged"
        assert [row.sequence for row in rows] == list(range(1, len(rows) + 1)), "order has gaps"
        return found


def _n_unlike(one: bytes, other: bytes) -> int:
    """Return in how many places two files differ."""
    both = zip(one, other, strict=False)
    return sum(a != b for a, b in both) + abs(len(one) - len(other))


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
