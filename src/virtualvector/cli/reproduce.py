"""`vvm reproduce`: the paper's experiments."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from virtualvector.cli.console import compile_engine, progress
from virtualvector.cli.errors import say
from virtualvector.escaping import printable

ALL = "all"
NAMES = ("fig1", "table1", "fig2", "fig3", "fig4", "sphere", "memory", "rank")
_ALONG = {"memory": "rank"}  # memory has two axes


def _known(names: list[str]) -> list[str]:
    for name in names:
        if name not in (*NAMES, ALL):
            raise typer.BadParameter(f"{name!r} is not one of {', '.join((*NAMES, ALL))}.")
    return names


def reproduce(
    experiments: Annotated[
        list[str],
        typer.Argument(
            callback=_known, metavar="EXPERIMENT...", help=f"{', '.join(NAMES)}, or {ALL}."
        ),
    ],
    out: Annotated[Path, typer.Option(help="Folder for the results.", file_okay=False)] = Path(
        "reproduced"
    ),
    runs: Annotated[
        int | None, typer.Option(min=1, help="Runs of each experiment; by default the paper's.")
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Tasks at the same time; by default one per core.")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Small versions that show that everything works.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Seed of all that is drawn.")] = 0,
) -> None:
    """Run the paper's experiments, and put what it states beside what comes out.

    Writes for each a picture (PNG, SVG), every run (CSV) and a summary
    (JSON), and one report about all that the folder has results of
    (report.md, report.html). Tasks that are done are kept: after an
    interruption, the same command goes on. Neither that nor the number
    of jobs changes results.

    For example:

        vvm reproduce all --out results
        vvm reproduce fig1 table1 --quick
    """
    from virtualvector.paper import EXPERIMENTS, Options, run, write_report

    asked = {*experiments, *(_ALONG[name] for name in experiments if name in _ALONG)}
    names = [name for name in NAMES if name in asked or ALL in asked]
    options = Options(runs, seed, quick)
    command = " ".join(
        ["vvm reproduce", ALL if ALL in experiments else " ".join(names), f"--seed {seed}"]
        + [f"--runs {runs}"] * (runs is not None)
        + ["--quick"] * quick
    )
    out.mkdir(parents=True, exist_ok=True)
    compile_engine()  # once, and not in every process to come
    try:
        for name in names:
            run(EXPERIMENTS[name], options, out, jobs or os.cpu_count() or 1, progress)
            write_report(out, NAMES, command)
            print(printable(f"{name}: {out / name}.png, .svg, .csv, .json"), flush=True)
    except KeyboardInterrupt:
        say(f"What is done is kept in {out / 'parts'}; the same command goes on.")
        raise
    print(printable(f"Report: {out / 'report.md'}, {out / 'report.html'}"))
