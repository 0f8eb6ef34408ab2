"""Section 5 of the paper, one file per figure and table, and three pictures beyond it."""

from virtualvector.paper.experiment import Experiment, Options
from virtualvector.paper.figure1 import Figure1
from virtualvector.paper.figures2to4 import Figure2, Figure3, Figure4
from virtualvector.paper.memory import Memory
from virtualvector.paper.rank import Rank
from virtualvector.paper.report import write_report
from virtualvector.paper.runner import run
from virtualvector.paper.sphere import Sphere
from virtualvector.paper.table1 import Table1

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in (
        Figure1(),
        Table1(),
        Figure2(),
        Figure3(),
        Figure4(),
        Sphere(),
        Memory(),
        Rank(),
    )
}

__all__ = ["EXPERIMENTS", "Experiment", "Options", "run", "write_report"]
