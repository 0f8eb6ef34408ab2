"""Tasks are done once, in any number of processes, and what they came to is written as a whole."""

import csv
import json
from contextlib import contextmanager

import pytest

from virtualvector.paper.experiment import Experiment, Options, Statement, Task
from virtualvector.paper.runner import run


class Squares(Experiment):
    """Squares of the run numbers, then a task that builds on them; each leaves a mark when done."""

    name = "squares"
    title = "Squares"
    caption = "None."

    def __init__(self, marks, fails_at=None):
        self.marks = str(marks)
        self.fails_at = fails_at

    def plan(self, options, records):
        tasks = [Task(f"square-{k}", {"number": k + options.seed}) for k in range(options.runs)]
        if records:
            total = sum(r["square"] for r in records if "square" in r)
            tasks.append(Task("sum", {"total": total}))
        return tasks

    def work(self, arguments):
        number = arguments.get("number")
        if number is not None and number == self.fails_at:
            raise RuntimeError("no more")
        with open(self.marks, "a") as file:
            file.write(f"{arguments}\n")
        if number is None:
            return [{"total": arguments["total"]}]
        return [{"number": number, "square": number**2}, {"number": -number, "square": number**2}]

    def summarise(self, records, options):
        return {"total": records[-1]["total"]}

    def draw(self, records, summary):
        from matplotlib.figure import Figure

        figure = Figure()
        figure.subplots().plot([record.get("square", 0) for record in records])
        return figure

    def statements(self, summary):
        return [Statement("A sum.", str(summary["total"]), None)]

    def remarks(self, summary):
        return ["Nothing."]


class Shown:
    """Progress that remembers what it was told."""

    def __init__(self):
        self.done = []

    @contextmanager
    def __call__(self, total, title):
        before = len(self.done)
        yield self.done.append
        assert len(self.done) - before == total


class NoCount(Shown):
    """Progress for a run that does not come to its end."""

    @contextmanager
    def __call__(self, total, title):
        yield lambda done: None


@pytest.fixture
def marks(tmp_path):
    file = tmp_path / "marks"
    file.touch()
    return file


def test_results_are_written_and_later_tasks_build_on_earlier_ones(tmp_path, marks):
    summary = run(Squares(marks), Options(runs=4), tmp_path / "out", 1, Shown())
    assert summary["total"] == 2 * (0 + 1 + 4 + 9)
    with open(tmp_path / "out" / "squares.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["square"] for row in rows] == ["0", "0", "1", "1", "4", "4", "9", "9", ""]
    assert rows[-1]["total"] == "28"
    written = json.loads((tmp_path / "out" / "squares.json").read_text())
    assert written["total"] == 28
    assert written["seed"] == 0
    assert set(written["versions"]) >= {"numpy", "virtualvector", "python"}
    assert written["statements"] == [{"paper": "A sum.", "ours": "28", "holds": None}]
    assert (tmp_path / "out" / "squares.png").read_bytes().startswith(b"\x89PNG")
    assert b"<svg" in (tmp_path / "out" / "squares.svg").read_bytes()


@pytest.mark.processes
def test_the_number_of_processes_changes_no_byte(tmp_path, marks):
    for jobs in (1, 2):
        run(Squares(marks), Options(runs=5), tmp_path / str(jobs), jobs, Shown())
    for file in ("squares.csv", "squares.json", "squares.png", "squares.svg"):
        assert (tmp_path / "1" / file).read_bytes() == (tmp_path / "2" / file).read_bytes()


def test_what_is_done_is_not_done_again(tmp_path, marks):
    run(Squares(marks), Options(runs=3), tmp_path, 1, Shown())
    first = marks.read_text()
    shown = Shown()
    run(Squares(marks), Options(runs=3), tmp_path, 1, shown)
    assert marks.read_text() == first
    assert shown.done == ["done before"] * 4


def test_a_failure_keeps_what_was_done_before(tmp_path, marks):
    with pytest.raises(RuntimeError, match="no more"):
        run(Squares(marks, fails_at=2), Options(runs=3), tmp_path, 1, NoCount())
    assert marks.read_text().count("\n") == 2
    run(Squares(marks), Options(runs=3), tmp_path, 1, Shown())
    assert marks.read_text().count("\n") == 4  # the one that failed, and the sum
    assert (tmp_path / "squares.json").exists()


def test_other_arguments_are_other_tasks(tmp_path, marks):
    run(Squares(marks), Options(runs=2, seed=0), tmp_path, 1, Shown())
    summary = run(Squares(marks), Options(runs=2, seed=5), tmp_path, 1, Shown())
    assert summary["total"] == 2 * (25 + 36)


def test_more_runs_keep_those_that_are_done(tmp_path, marks):
    run(Squares(marks), Options(runs=2), tmp_path, 1, Shown())
    marks.write_text("")
    run(Squares(marks), Options(runs=3), tmp_path, 1, Shown())
    assert marks.read_text().splitlines() == ["{'number': 2}", "{'total': 10}"]


def test_no_half_file_stays_behind(tmp_path, marks):
    run(Squares(marks), Options(runs=2), tmp_path / "out", 1, Shown())
    assert not [file for file in (tmp_path / "out").rglob(".*") if file.is_file()]
