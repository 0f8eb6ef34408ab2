"""One report of all experiments: the paper's statements beside what came out."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt
from markupsafe import Markup

from virtualvector.paper.runner import write_safely
from virtualvector.report.frame import framed

VERDICTS = {True: "reproduced", False: "**not reproduced**", None: "not stated"}


def write_report(folder: Path, names: Sequence[str], command: str) -> None:
    """Write ``report.md`` and ``report.html`` about the experiments that a folder has results of.

    Parameters
    ----------
    folder : Path
        Where the summaries ``NAME.json`` and the pictures ``NAME.png`` are.
    names : sequence of str
        All experiments, in the order of the report; those without results are left out.
    command : str
        What was typed to get the results.
    """
    summaries = [
        json.loads(file.read_text(encoding="utf-8"))
        for file in (folder / f"{name}.json" for name in names)
        if file.exists()
    ]
    text = as_markdown(summaries, command)
    write_safely(folder / "report.md", text.encode())
    write_safely(folder / "report.html", _as_html(text, folder, summaries).encode())


def as_markdown(summaries: Sequence[dict[str, Any]], command: str) -> str:
    """Return the report as Markdown."""
    lines = ["# The paper, reproduced", ""]
    lines += [
        "Minka, Xiang and Qi (2009), *Virtual Vector Machine for Bayesian Online Classification*, "
        "section 5: what it states, and what came out here. All numbers come from",
        "",
        f"    {command}",
        "",
    ]
    if any(summary["quick"] for summary in summaries):
        lines += ["**These are quick versions: too small to judge the paper by.**", ""]
    lines += ["| | reproduced | not reproduced | not stated in the paper |", "|---|---|---|---|"]
    for summary in summaries:
        verdicts = [statement["holds"] for statement in summary["statements"]]
        counts = " | ".join(str(verdicts.count(verdict)) for verdict in VERDICTS)
        lines.append(f"| [{summary['title']}](#{_anchor(summary)}) | {counts} |")
    for summary in summaries:
        lines += ["", *_section(summary)]
    versions = {json.dumps(summary["versions"], sort_keys=True) for summary in summaries}
    lines += ["", "## Made with", ""]
    for version in sorted(versions):
        lines.append(", ".join(f"{name} {number}" for name, number in json.loads(version).items()))
    return "\n".join(lines) + "\n"


def _section(summary: dict[str, Any]) -> list[str]:
    name = summary["name"]
    lines = [f'<a id="{_anchor(summary)}"></a>', "", f"## {summary['title']}", ""]
    lines += [f"![{summary['title']}]({name}.png)", "", f"*{summary['caption']}*", ""]
    lines += ["| the paper | here | |", "|---|---|---|"]
    lines += [
        f"| {_cell(each['paper'])} | {_cell(each['ours'])} | {VERDICTS[each['holds']]} |"
        for each in summary["statements"]
    ]
    for remark in summary["remarks"]:
        lines += ["", remark]
    seed = f"Seed {summary['seed']}."
    lines += ["", f"{seed} Every run is in `{name}.csv`, the summary in `{name}.json`."]
    return lines


def _anchor(summary: dict[str, Any]) -> str:
    return f"experiment-{summary['name']}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _as_html(text: str, folder: Path, summaries: Sequence[dict[str, Any]]) -> str:
    """Return one page that needs no other file and no network."""
    body = MarkdownIt("commonmark", {"html": True}).enable("table").render(text)
    for summary in summaries:
        picture = base64.b64encode((folder / f"{summary['name']}.png").read_bytes()).decode()
        body = body.replace(
            f'src="{summary["name"]}.png"', f'src="data:image/png;base64,{picture}"'
        )
    return framed("The paper, reproduced", Markup(body))
