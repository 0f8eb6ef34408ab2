"""What a row costs that is predicted and then learned, for everybody, in each dimension."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

from speed.contestants import Contestant, engines, estimators
from speed.figures import Figure
from speed.limit import IN_CACHE, OUT_OF_CACHE, limit, limit_out_of_cache
from speed.packages import RIVER, other_packages
from speed.plan import Plan
from speed.problem import Problem, Rows
from speed.timing import Job, side_by_side


def everybody() -> list[Contestant]:
    return [*engines(), *estimators(), *other_packages()]


@lru_cache(maxsize=2)
def _drawn(problem: Problem, n_rows: int, d: int) -> Rows:
    return problem.draw(n_rows, d)


def job(
    contestant: Contestant, problem: Problem, d: int, most: int
) -> tuple[Job, dict[str, float]]:
    """Return work that learns the same rows every time, and what happens to these rows."""
    rows = _drawn(problem, contestant.warm_up_rows + most, d)
    learner = contestant.start(problem, rows.part(0, contestant.warm_up_rows))

    def prepare(n_rows: int) -> Callable[[], object]:
        used_up = contestant.copy(learner)
        late = rows.part(contestant.warm_up_rows, contestant.warm_up_rows + n_rows)
        return lambda: contestant.run(used_up, late)

    happened = contestant.details(prepare(most)()) if contestant.details else {}
    return prepare, happened


def measure_rows(
    part: str, problem: Problem, d: int, contestants: Sequence[Contestant], plan: Plan
) -> list[Figure]:
    """Measure everybody in one dimension, beside the limit and river if that is among them."""
    found = {c.name: job(c, problem, d, plan.portion.most) for c in contestants}
    jobs = {IN_CACHE: limit(d), OUT_OF_CACHE: limit_out_of_cache(d)}
    jobs |= {name: work for name, (work, _) in found.items()}
    yardsticks = {"× limit": jobs[IN_CACHE]}
    if RIVER in jobs:
        yardsticks["× river"] = jobs[RIVER]
    details = {name: what for name, (_, what) in found.items()}
    taken = side_by_side(yardsticks, jobs, plan.rounds, plan.unit, plan.portion)
    return [
        Figure(part, name, {"d": d}, values | details.get(name, {}))
        for name, values in taken.items()
    ]
