"""`vvm serve`: a model that answers over HTTP, and learns from labels that come later."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from virtualvector.cli.errors import FAILED, say
from virtualvector.cli.option_groups import takes_groups
from virtualvector.escaping import counted
from virtualvector.streams.bad_input import BadInput

if TYPE_CHECKING:
    from virtualvector.cli.mark import MarkFile
    from virtualvector.serve.gate import Tokens
    from virtualvector.serve.service import Service

STORE, LIMITS = "Store", "Limits"
LOOPBACK = ("localhost", "127.0.0.1", "::1")
DAY = 86_400.0  # seconds


class Keeping(NamedTuple):
    """What is kept, and when the model is saved, as `vvm serve` was told."""

    checkpoint_every: Annotated[
        int,
        typer.Option(
            min=1, metavar="N", help="Labels after which it is saved.", rich_help_panel=STORE
        ),
    ] = 10_000
    checkpoint_seconds: Annotated[
        float,
        typer.Option(
            min=0.1, metavar="S", help="Seconds after which it is saved.", rich_help_panel=STORE
        ),
    ] = 60.0
    keep_days: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            metavar="N",
            help="Drop rows that were asked about longer ago, and with them the memory of their "
            "ids: one that comes again is learned again. By default all are kept.",
            rich_help_panel=STORE,
        ),
    ] = None
    keep_rows: Annotated[
        int | None,
        typer.Option(
            min=0,
            metavar="N",
            help="Drop all but the latest rows, and the memory of their ids as well; by default "
            "all are kept.",
            rich_help_panel=STORE,
        ),
    ] = None


class Bounds(NamedTuple):
    """How much may be asked for, as `vvm serve` was told."""

    max_body: Annotated[
        int, typer.Option(min=1, metavar="BYTES", help="Of a request.", rich_help_panel=LIMITS)
    ] = 2**20
    max_rows: Annotated[
        int, typer.Option(min=1, metavar="N", help="In a request.", rich_help_panel=LIMITS)
    ] = 1000
    max_open: Annotated[
        int, typer.Option(min=4, metavar="N", help="Requests at a time.", rich_help_panel=LIMITS)
    ] = 256
    max_rate: Annotated[
        float | None,
        typer.Option(
            min=0.1,
            metavar="N",
            help="Requests in a second; by default any number.",
            rich_help_panel=LIMITS,
        ),
    ] = None


@takes_groups
def serve(
    *,
    model: Annotated[
        Path,
        typer.Option(
            "--model", metavar="FILE", help="As written by vvm learn; it goes on learning."
        ),
    ],
    store: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Where answers and labels are kept: sqlite:///FILE, or postgresql://…; by default "
            "a SQLite file beside the model.",
        ),
    ] = None,
    host: Annotated[
        str, typer.Option(metavar="H", help="Address to listen at; any but loopback needs tokens.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, metavar="P", help="0 for any that is free.")
    ] = 8750,
    token_file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Lines 'read TOKEN' and 'write TOKEN', for those who may come in."
        ),
    ] = None,
    keeping: Keeping,
    bounds: Bounds,
) -> None:
    """Answer over HTTP, and learn from labels that come later.

    POST /predict with {"row": {column: value, ...}} says how probable each
    class is, and gives the row an id; POST /labels with {"id": ..., "label":
    ...} is acknowledged once the label is durable, and learned once. The
    page at / shows how good the answers were; /openapi.json says the rest.

    SIGTERM ends it within ten seconds with everything saved; after a crash
    it goes on as if nothing had happened.

    For example:

        vvm serve --model outcome.vvm
        vvm serve --model outcome.vvm --host 0.0.0.0 --token-file tokens
    """
    from virtualvector.cli.mark import marking
    from virtualvector.cli.outputs import check_outputs

    check_outputs([], [("--model", model)])
    tokens = _tokens(host, token_file)
    with marking(model) as marks:
        _check_finished(model, marks)
        _answer(model, service_of(model, store, keeping), host, port, tokens, bounds)


def _tokens(host: str, file: Path | None) -> Tokens | None:
    if file is None and host not in LOOPBACK:
        raise BadInput(
            f"--host {host}: others could come in; expected a --token-file, or {LOOPBACK[1]}."
        )
    _check_installed()
    from virtualvector.serve.gate import tokens_in

    if file is None:
        return None
    if file.is_dir():
        raise BadInput(f"--token-file {file}: found a folder; expected a file of tokens.")
    if os.name == "posix" and stat.S_IMODE(file.stat().st_mode) & (stat.S_IRGRP | stat.S_IROTH):
        say(
            f"vvm: --token-file {file}: others can read it; expected a file of its owner only "
            "(chmod 600)."
        )
    # What is no text has no line that is one of tokens, and is refused as such.
    return tokens_in(file.read_text("utf-8", errors="replace"), str(file))


def _check_installed() -> None:
    try:
        import sqlalchemy
        import starlette
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise BadInput(
            f"vvm serve needs {error.name}, which is not installed; expected "
            "pip install 'virtualvector[serve]'."
        ) from error
    del sqlalchemy, starlette


def _check_finished(model: Path, marks: MarkFile) -> None:
    mark = marks.read()
    if mark is not None:
        raise BadInput(
            f"{model}: a run over {', '.join(mark.sources)} was cut short; vvm learn --resume with "
            f"that source finishes it. To give up the rest of it, delete {marks.path}."
        )


def service_of(model: Path, address: str | None, keeping: Keeping) -> Service:
    """Return the service of a model file and a store, ready to start."""
    from virtualvector.cli.served_model import of_service
    from virtualvector.serve.learner import Learner, Upkeep
    from virtualvector.serve.schema import shown, store_beside
    from virtualvector.serve.service import Service
    from virtualvector.serve.store import StoreLost

    address = address or store_beside(model)
    try:
        served = of_service(model, address)
    except StoreLost as error:
        raise BadInput(f"--store {shown(address)}: cannot be opened: {error}.") from error
    days = keeping.keep_days
    upkeep = Upkeep(
        keeping.checkpoint_every,
        keeping.checkpoint_seconds,
        None if days is None else days * DAY,
        keeping.keep_rows,
    )
    learner = Learner(served.learned, served.form, served.store, served.saving_to(model), upkeep)
    return Service(learner, served.form, served.store, served.new_classes)


def _answer(
    model: Path, service: Service, host: str, port: int, tokens: Tokens | None, bounds: Bounds
) -> None:
    from virtualvector.cli.console import compilation_notice
    from virtualvector.cli.run import warm_up, warm_up_heirs
    from virtualvector.serve.app import Door
    from virtualvector.serve.bodies import Limits
    from virtualvector.serve.server import Ended, run

    with compilation_notice():
        warm_up(service.snapshot.model, service.form.columns)
        warm_up_heirs(service.snapshot.model, service.form.columns)
        service.snapshot.ready(service.form.example)
    limits = Limits(bounds.max_body, bounds.max_rows, open=bounds.max_open, rate=bounds.max_rate)

    def tell(at: int) -> None:
        shown = f"[{host}]" if ":" in host else host
        say(f"vvm: {model} answers at http://{shown}:{at}")

    try:
        run(service, Door(limits, tokens, (*LOOPBACK, host)), host, port, tell)
    except Ended as ended:
        say(f"vvm: {model}: {ended}")
        raise typer.Exit(FAILED) from ended
    n_lost = service.writer.n_unwritten
    if n_lost:
        say(
            f"vvm: {model}: the store could not be written: {counted(n_lost, 'answer')} under ids "
            "of the service are forgotten; their labels have to come with their rows."
        )
    say(f"vvm: {model}: stopped; {'all else' if n_lost else 'everything'} is saved.")
