"""Requests per second and latency of `vvm serve`, beside the same stack answering a constant.

    python benchmarks/serving.py --seconds 10
    python benchmarks/serving.py --soak 600

Needs wrk (Debian's package), which is the client in a process of its own. The model has learned
Spambase; every request asks about one of its rows. Three servers are measured in turn, several
times, and the best of each is kept: one that answers a constant with Starlette and uvicorn, the
service, and the service while 500 labels a second come. Beside rates there is the processor time
that each server takes for a request, which other work on the machine disturbs less. With --soak
the service alone is kept busy for so long, labels included, and its memory is looked at.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.request import Request, urlopen

CONSTANT = """
import asyncio, sys
import uvicorn
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

async def constant(request):
    await request.body()
    said = {"ham": 0.25, "spam": 0.75}
    return JSONResponse({"id": "0" * 32, "label": "spam", "probabilities": said})

app = Starlette(routes=[Route("/predict", constant, methods=["POST"])])
uvicorn.run(app, port=int(sys.argv[1]), log_config=None, access_log=False)
"""

SCRIPT = """
local bodies, at = {}, 0
for line in io.lines("%s") do bodies[#bodies + 1] = line end
request = function()
  at = at %% #bodies + 1
  return wrk.format("POST", "/predict", {["Content-Type"] = "application/json"}, bodies[at])
end
"""

LABELS_PER_SECOND = 500
AT_ONCE = 50  # labels in a request


class Load(NamedTuple):
    """What a client sees, and what it costs the server."""

    rate: float  # requests in a second
    p50: float  # milliseconds
    p99: float
    processor: float  # microseconds of the server for a request
    failed: int


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=10.0, help="of each measurement")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--connections", type=int, default=8)
    parser.add_argument("--learner", default="auto", help="of vvm learn")
    parser.add_argument("--soak", type=float, help="seconds to watch the memory for, instead")
    parser.add_argument("--store", help="another address than a SQLite file")
    parser.add_argument("--port", type=int, default=8790)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = prepare(folder, options.learner)
        if options.soak:
            soak(folder, rows, options)
            return
        kinds = ("constant", "service", "service, 500 labels a second")
        best: dict[str, Load] = {}
        for _ in range(options.rounds):
            for kind in kinds:
                found = measure(folder, kind, rows, options)
                print(f"{kind:30} {told(found)}", flush=True)
                best[kind] = better(best.get(kind), found)
        print("\nBest of each")
        for kind, load in best.items():
            print(f"{kind:30} {told(load)}")
        constant = best[kinds[0]]
        for kind in kinds[1:]:
            load = best[kind]
            print(
                f"{kind}: {load.rate / constant.rate:.2f} of the constant's rate (aim 0.5), "
                f"p99 {load.p99 / constant.p99:.2f} of its (aim 3 while learning), processor time "
                f"{load.processor / constant.processor:.2f}"
            )


def prepare(folder: Path, learner: str) -> list[dict[str, object]]:
    """Learn Spambase, and write the bodies of requests."""
    from virtualvector.streams.table import read

    vvm = Path(sys.executable).with_name("vvm")
    model = folder / "m.vvm"
    command = [vvm, "learn", "spambase", "--model", model, "--learner", learner, "--quiet"]
    subprocess.run(command, check=True)
    stream = read("spambase")
    rows = [
        {"row": dict(zip(stream.columns, row, strict=True)), "label": label}
        for row, label in zip(stream.rows.tolist(), stream.labels.tolist(), strict=True)
    ]
    bodies = (json.dumps({"row": each["row"]}) + "\n" for each in rows)
    (folder / "bodies").write_text("".join(bodies))
    (folder / "script.lua").write_text(SCRIPT % (folder / "bodies"))
    return rows


def serving(folder: Path, options: object) -> list[str]:
    """Return the command of a service of a fresh model and store."""
    for old in folder.glob("*.store*"):
        old.unlink()
    (folder / "live.vvm").write_bytes((folder / "m.vvm").read_bytes())
    vvm = Path(sys.executable).with_name("vvm")
    command = [str(vvm), "serve", "--model", str(folder / "live.vvm"), "--port", str(options.port)]
    return [*command, "--store", options.store] if options.store else command


def soak(folder: Path, rows: list[dict[str, object]], options: object) -> None:
    """Keep a service busy, and print what memory it has."""
    command = [*serving(folder, options), "--keep-rows", "20000"]
    with server(command, options.port) as process, labels(options.port, rows, True):
        n_requests, began = 0, time.monotonic()
        while time.monotonic() - began < options.soak:
            said = shoot(folder, options.port, options.soak / 10, options.connections)
            n_requests += int(re.search(r"(\d+) requests in", said)[1])
            status = Path(f"/proc/{process.pid}/status").read_text()
            memory = int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024
            seconds = time.monotonic() - began
            print(f"{seconds:5.0f} s, {n_requests:9,} requests, {memory:5.0f} MB", flush=True)


def measure(folder: Path, kind: str, rows: list[dict[str, object]], options: object) -> Load:
    port = options.port
    if kind == "constant":
        command = [sys.executable, "-c", CONSTANT, str(port)]
    else:
        command = serving(folder, options)
    with server(command, port) as process, labels(port, rows, "labels" in kind):
        shoot(folder, port, 2.0, options.connections)  # to warm up
        before = processor_seconds(process.pid)
        said = shoot(folder, port, options.seconds, options.connections)
        used = processor_seconds(process.pid) - before
    n_requests = int(re.search(r"(\d+) requests in", said)[1])
    failed = re.search(r"Non-2xx or 3xx responses: (\d+)", said)
    return Load(
        float(re.search(r"Requests/sec:\s+([\d.]+)", said)[1]),
        milliseconds(re.search(r"\n\s+50%\s+(\S+)", said)[1]),
        milliseconds(re.search(r"\n\s+99%\s+(\S+)", said)[1]),
        1e6 * used / n_requests,
        int(failed[1]) if failed else 0,
    )


def shoot(folder: Path, port: int, seconds: float, connections: int) -> str:
    command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds:.0f}s", "--latency", "-s",
               str(folder / "script.lua"), f"http://127.0.0.1:{port}"]  # fmt: skip
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@contextmanager
def server(command: list[str], port: int) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        end = time.monotonic() + 120
        while True:
            try:
                ask(port, "/predict", {"row": {}})
                break
            except OSError as error:
                if getattr(error, "code", None):  # it answers
                    break
                if time.monotonic() > end or process.poll() is not None:
                    raise RuntimeError(f"{command[0]} did not start") from error
                time.sleep(0.1)
        yield process
    finally:
        process.terminate()
        process.wait()


@contextmanager
def labels(port: int, rows: list[dict[str, object]], wanted: bool) -> Iterator[None]:
    """Let a process ask about rows and send their labels, so many in a second."""
    if not wanted:
        yield
        return
    child = os.fork()
    if child == 0:
        try:
            send_labels(port, rows)
        finally:
            os._exit(0)
    try:
        yield
    finally:
        os.kill(child, 15)
        os.waitpid(child, 0)


def send_labels(port: int, rows: list[dict[str, object]]) -> None:
    at, due = 0, time.monotonic()
    while True:
        some = [rows[(at + k) % len(rows)] for k in range(AT_ONCE)]
        at += AT_ONCE
        try:
            said = ask(port, "/predict", {"rows": [each["row"] for each in some]})["answers"]
            sent = [
                {"id": answer["id"], "label": each["label"]}
                for answer, each in zip(said, some, strict=True)
            ]
            ask(port, "/labels", sent)
        except OSError:
            return
        due += AT_ONCE / LABELS_PER_SECOND
        time.sleep(max(0.0, due - time.monotonic()))


def ask(port: int, path: str, body: object) -> dict[str, list[dict[str, str]]]:
    request = Request(
        f"http://127.0.0.1:{port}{path}",
        json.dumps(body).encode(),
        {"Content-Type": "application/json"},
    )
    with urlopen(request, timeout=30) as answer:
        return json.load(answer)


def processor_seconds(pid: int) -> float:
    """Return what a process and those it has started have taken."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    others = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    own = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return own + sum(processor_seconds(int(other)) for other in others)


def milliseconds(text: str) -> float:
    number, unit = re.fullmatch(r"([\d.]+)(\D+)", text).groups()
    return float(number) * {"us": 1e-3, "ms": 1.0, "s": 1e3}[unit]


def better(one: Load | None, other: Load) -> Load:
    if one is None:
        return other
    return Load(
        max(one.rate, other.rate),
        min(one.p50, other.p50),
        min(one.p99, other.p99),
        min(one.processor, other.processor),
        one.failed + other.failed,
    )


def told(load: Load) -> str:
    return (
        f"{load.rate:7.0f} requests/s, p50 {load.p50:6.2f} ms, p99 {load.p99:6.2f} ms, "
        f"{load.processor:4.0f} us of processor each, {load.failed} failed"
    )


if __name__ == "__main__":
    main()
