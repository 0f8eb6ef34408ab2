"""Two processes: one takes requests and asks, the other one answers."""

import asyncio
import os
import re
import signal
import socket
import subprocess
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import forking
from tests.cli.conftest import COMMAND
from tests.serve.conftest import rows_of, until
from virtualvector.serve.answering import PATHS, Answering
from virtualvector.serve.bodies import Limits
from virtualvector.serve.client import Client
from virtualvector.serve.pipe import Asking, OneWrite, Telling, framed
from virtualvector.serve.store import Store

ROWS, LABELS = rows_of(30, seed=3)


class Echo:
    """Answers with what was asked, the first questions last."""

    is_stopping = False

    def __init__(self, n_questions):
        self.left = n_questions

    async def answer(self, path, body=b""):
        self.left -= 1
        for _ in range(self.left):
            await asyncio.sleep(0)
        return 200 + PATHS.index(path), body[::-1]

    def answer_together(self, bodies):
        at_once = (200 + PATHS.index("/predict"), bodies[0][::-1])
        return [at_once, *(self.answer("/predict", body) for body in bodies[1:])]


@asynccontextmanager
async def joined(answers, stop=lambda: None):
    own, other = socket.socketpair()
    loop = asyncio.get_running_loop()
    _, asking = await loop.create_unix_connection(lambda: Asking(stop), sock=own)
    _, telling = await loop.create_unix_connection(lambda: Telling(answers), sock=other)
    try:
        yield asking, telling
    finally:
        for end in (asking, telling):
            end.close()
            await end.closed.wait()


@given(st.lists(st.tuples(st.sampled_from(PATHS), st.binary(max_size=200)), max_size=30))
def test_everyone_gets_the_reply_to_what_they_asked(questions):
    async def ask():
        async with joined(Echo(len(questions))) as (asking, _):
            return await asyncio.gather(*(asking.answer(*question) for question in questions))

    expected = [(200 + PATHS.index(path), body[::-1]) for path, body in questions]
    assert asyncio.run(ask()) == expected


@given(st.lists(st.binary(max_size=60), min_size=1, max_size=8), st.data())
def test_wherever_a_stream_is_cut_what_was_sent_comes_whole(bodies, data):
    async def send():
        async with joined(Echo(0)) as (asking, _):
            stream = b"".join(framed(number, number, body) for number, body in enumerate(bodies))
            cuts = sorted(data.draw(st.sets(st.integers(0, len(stream)))))
            parts = zip([0, *cuts], [*cuts, len(stream)], strict=True)
            return [each for start, stop in parts for each in asking.came(stream[start:stop])]

    came = asyncio.run(send())
    assert came == [(number, number, body) for number, body in enumerate(bodies)]


def test_who_gives_up_takes_nobody_along_and_a_stop_is_told():
    async def ask():
        stopped = asyncio.Event()
        async with joined(Echo(3), stopped.set) as (asking, telling):
            asked = [asyncio.ensure_future(asking.answer("/predict", b"ab")) for _ in range(3)]
            await asyncio.sleep(0)
            asked[0].cancel()
            replies = await asyncio.gather(*asked[1:])
            telling.stop()
            await stopped.wait()
            return replies, asking.is_stopping, asking._waiting

    assert asyncio.run(ask()) == ([(200, b"ba")] * 2, True, {})


def test_what_is_written_in_a_turn_goes_at_once_and_before_the_end():
    class Transport:
        def __init__(self):
            self.sent, self.is_over = [], False

        def write(self, data):
            assert not self.is_over
            self.sent.append(data)

        def close(self):
            self.is_over = True

        def is_closing(self):
            return self.is_over

    async def run():
        transport = Transport()
        one = OneWrite(transport)
        one.write(b"head ")
        one.write(b"body")
        assert transport.sent == []
        await asyncio.sleep(0)
        one.write(b"last")
        one.close()
        one.write(b"nobody reads it")
        await asyncio.sleep(0)
        return transport.sent, one.is_closing()

    assert asyncio.run(run()) == ([b"head body", b"last"], True)


def test_a_fault_is_told_by_its_kind_and_nothing_of_a_row():
    class Broken:
        form, is_stopping = None, False

    status, body = asyncio.run(Answering(Broken(), Limits()).answer("/predict", b'{"row": {}}'))
    assert (status, body) == (500, b'{"error":"a fault of the service: AttributeError"}')


@pytest.fixture
def started(model):
    """Return a service, its address, and the process that takes requests for it."""
    asked = ("serve", "--model", "m.vvm", "--port", "0")
    options = {"cwd": model.parent, "stderr": subprocess.PIPE}
    with forking.start(COMMAND, *asked, **options) as process:
        said = next(filter(None, (re.search(r"at (\S+)", line) for line in process.stderr)))
        (taker,) = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        yield process, said[1], int(taker)
        if process.returncode is None:
            process.kill()


@pytest.mark.processes
def test_who_takes_requests_is_gone_once_who_answers_is_killed(started):
    process, address, taker = started
    Client(address).get("/ready")
    process.kill()
    process.wait()
    until(lambda: not Path(f"/proc/{taker}").exists() or "Z" in _state(taker), seconds=5)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", int(address.rpartition(":")[2])))


@pytest.mark.processes
def test_who_answers_saves_everything_once_who_takes_requests_is_killed(started, model):
    process, address, taker = started
    client = Client(address)
    for k in range(10):
        client.learn(ROWS[k], LABELS[k])
    until(lambda: client.get("/model")["labels_learned"] == 10)
    os.kill(taker, signal.SIGKILL)
    assert process.wait() == 1
    said = process.stderr.read()
    assert "the process that takes requests was ended by someone else; all is saved." in said
    store = Store(f"sqlite:///{model}.store")
    assert store.last == 10
    store.close()


def _state(process):
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return "Z"
