"""What an experiment is: tasks that can run anywhere, and what is made of their records."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Record = dict[str, Any]  # one line of the CSV: column name → text or number


class Options(NamedTuple):
    """What the user chose."""

    runs: int | None = None  # None: as many as the paper
    seed: int = 0
    quick: bool = False  # small versions that show that everything works


class Task(NamedTuple):
    """A piece of work: a pure function of its arguments, which can be written as JSON."""

    name: str  # unique within the experiment, fit for a file name
    arguments: dict[str, Any]


class Statement(NamedTuple):
    """What the paper says, and what came out here."""

    paper: str
    ours: str
    holds: bool | None  # None: the paper states nothing to compare with


class Experiment(ABC):
    """One figure or table: tasks → records → summary, picture and statements."""

    name: ClassVar[str]
    title: ClassVar[str]
    caption: ClassVar[str]  # what the picture shows, for a reader of the report

    @abstractmethod
    def plan(self, options: Options, records: Sequence[Record]) -> list[Task]:
        """Return the tasks to do, given the records of all tasks done so far.

        It is asked again after those tasks are done, so that later tasks can build on the records
        of earlier ones, until it names no new ones.
        """

    @abstractmethod
    def work(self, arguments: dict[str, Any]) -> list[Record]:
        """Do one task; the same arguments give the same records."""

    @abstractmethod
    def summarise(self, records: Sequence[Record], options: Options) -> dict[str, Any]:
        """Return the summary: numbers by name, and what the experiment's parameters were."""

    @abstractmethod
    def draw(self, records: Sequence[Record], summary: dict[str, Any]) -> Figure:
        """Return the picture."""

    @abstractmethod
    def statements(self, summary: dict[str, Any]) -> list[Statement]:
        """Put the paper's statements beside what came out."""

    @abstractmethod
    def remarks(self, summary: dict[str, Any]) -> list[str]:
        """Say what the paper leaves open and what was chosen here, a paragraph each."""
