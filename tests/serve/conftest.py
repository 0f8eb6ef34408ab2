"""A service of a small model, within this process."""

import json
import shutil
import time
from contextlib import contextmanager

import pytest
from typer.testing import CliRunner

from faults import postgres
from tests.cli.conftest import lines_of, vvm  # noqa: F401
from virtualvector.cli.main import app as command
from virtualvector.cli.run import warm_up
from virtualvector.cli.serve import Keeping, service_of
from virtualvector.serve.app import Door, application
from virtualvector.serve.bodies import Limits

OFTEN = Keeping(checkpoint_every=20)
USUAL = Limits()


def rows_of(n_rows, seed=0):
    """Return rows as JSON has them, and their labels."""
    names, *lines = (line.split(",") for line in lines_of(n_rows, seed))
    rows, labels = [], []
    for cells in lines:
        *values, colour, label = cells
        numbers = [float(cell) if cell else None for cell in values]
        rows.append(dict(zip(names, [*numbers, colour], strict=False)))
        labels.append(label)
    return rows, labels


@pytest.fixture(scope="session")
def learned(tmp_path_factory):
    """Learn sixty rows; return the model file, which is not to be changed."""
    folder = tmp_path_factory.mktemp("learned")
    source, model = folder / "rows.csv", folder / "m.vvm"
    source.write_text("\n".join(lines_of(60)) + "\n")
    asked = ["learn", source, "--model", model, "--learner", "adf", "-q"]
    assert CliRunner().invoke(command, list(map(str, asked))).exit_code == 0
    service = service_of(shutil.copy(model, folder / "warm.vvm"), None, OFTEN)
    warm_up(service.snapshot.model, service.form.columns)  # nobody waits for kernels later
    service.snapshot.ready(service.form.example)
    service._store.close()
    return model


@pytest.fixture
def model(learned, tmp_path):
    return shutil.copy(learned, tmp_path / "m.vvm")


@pytest.fixture(scope="session")
def server():
    if postgres.programs() is None:
        pytest.skip("needs Debian's package postgresql")
    with postgres.running() as running:
        yield running


_numbers = iter(range(1000))


@pytest.fixture(params=["sqlite", "postgresql"])
def address(request, tmp_path):
    """The address of an empty store, in each kind of database."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/own.store"
    return request.getfixturevalue("server").address(f"own{next(_numbers)}")


@pytest.fixture
def serving(model):
    """Serve a model, and stop in the end; the client has the service."""
    from starlette.testclient import TestClient  # which needs more than a service does

    @contextmanager
    def run(store=None, keeping=OFTEN, limits=USUAL, tokens=None, path=None):
        service = service_of(path or model, store, keeping)
        gate = application(service, Door(limits, tokens, ("testserver",)))
        with TestClient(gate, raise_server_exceptions=False) as client:
            client.service = service
            yield client

    return run


@pytest.fixture
def client(serving):
    with serving() as client:
        yield client


def until(condition, seconds=30):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.005)


def learn_all(client, n_labels):
    """Wait until the service has learned so many labels."""
    until(lambda: client.service.snapshot.sequence >= n_labels)


def row_text(number):
    return json.dumps([number])
