"""How cost and memory grow: with the weights, with the points kept, with the rows learned."""

from __future__ import annotations

from collections.abc import Sequence
from time import process_time

import numpy as np

from speed.contestants import Contestant, engine, engines, estimators, vvm_settings
from speed.figures import Figure, Report
from speed.limit import IN_CACHE, limit
from speed.machine import give_back_free_memory, resident_bytes
from speed.plan import Plan
from speed.problem import NOISY, Array
from speed.rows import job
from speed.timing import microseconds, side_by_side

D_OF_STREAM, D_OF_BUFFERS = 57, 100
PIECE = 1000  # rows of a stream that are timed at once
STREAMING = ("VVM 0 (ADF)", "VVM 30, merging", "VVM 30, merging, one row")
LEAST_D = 100  # below, a row costs what calls cost
FIRST_B, LAST_B = 10, 50
WAYS = {"evicting": False, "merging": True}
_LIMITS_PER_PIECE = 500
_KEPT = (0, 10, 30, 100)  # points, where bytes are counted


def exponent(x: Sequence[float], y: Sequence[float]) -> float:
    """Return the p of y ∝ xᵖ, by least squares between logarithms."""
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def steepest(x: Sequence[float], y: Sequence[float]) -> float:
    """Return the largest exponent between neighbours."""
    return float(np.max(np.diff(np.log(y)) / np.diff(np.log(x))))


# With the weights: everybody has been measured in each dimension already


def exponents_in_d(report: Report) -> list[Figure]:
    """Fit the growth of what was measured from 100 weights on."""
    found = []
    for name in (IN_CACHE, *(contestant.name for contestant in engines())):
        costs = {
            figure.at["d"]: figure.values["µs"]
            for figure in report.of("rows")
            if figure.name == name and figure.at["d"] >= LEAST_D
        }
        if len(costs) > 1:
            x, y = list(costs), list(costs.values())
            powers = {"in d": exponent(x, y), "in d, steepest": steepest(x, y)}
            found.append(Figure("exponents", name, {}, powers))
    return found


# With the points


def measure_buffers(plan: Plan) -> list[Figure]:
    """Measure VVM with more and more points, and how its cost grows with them."""
    vvms = {
        (how, size): engine(f"{size}, {how}", vvm_settings(size, merging))
        for how, merging in WAYS.items()
        for size in plan.buffers
    }
    jobs = {c.name: job(c, NOISY, D_OF_BUFFERS, plan.portion.most)[0] for c in vvms.values()}
    yardsticks = {"× limit": limit(D_OF_BUFFERS)}
    taken = side_by_side(yardsticks, jobs, plan.rounds, plan.unit, plan.portion)
    figures = [
        Figure("points", f"VVM, {how}", {"d": D_OF_BUFFERS, "B": size}, taken[c.name])
        for (how, size), c in vvms.items()
    ]
    for how in WAYS:
        costs = {size: taken[vvms[how, size].name]["× limit"] for size in plan.buffers}
        figures.append(Figure("exponents", f"VVM, {how}", {}, exponents_in_b(costs)))
    return figures


def exponents_in_b(costs: dict[int, float]) -> dict[str, float]:
    """Fit the growth with B of the whole cost of a row, and of what it costs beyond B = 0."""
    sizes = [size for size in costs if FIRST_B <= size <= LAST_B]
    beyond = [costs[size] - costs[0] for size in sizes]
    return {
        "in B": exponent(sizes, [costs[size] for size in sizes]),
        "in B, beyond B = 0": exponent(sizes, beyond),
        "in B, steepest": steepest(sizes, beyond),
    }


# With the rows


def streaming() -> list[Contestant]:
    return [c for c in (*engines(), *estimators()) if c.name in STREAMING]


def measure_stream(contestant: Contestant, plan: Plan) -> list[Figure]:
    """Learn a long stream, and measure cost and memory on the way."""
    give_back_free_memory()
    n_pieces = plan.stream_rows // PIECE
    learner = contestant.start(NOISY, NOISY.draw(contestant.warm_up_rows, D_OF_STREAM))
    learner = contestant.run(learner, NOISY.draw(PIECE, D_OF_STREAM))  # compiles
    yardstick = limit(D_OF_STREAM)
    found = np.empty((n_pieces, 3))
    for piece in range(n_pieces):
        rows = NOISY.draw(PIECE, D_OF_STREAM, seed=piece + 1)
        least = microseconds(yardstick, _LIMITS_PER_PIECE)
        start = process_time()
        learner = contestant.run(learner, rows)
        cost = 1e6 * (process_time() - start) / PIECE
        least = 0.5 * (least + microseconds(yardstick, _LIMITS_PER_PIECE))
        found[piece] = cost, cost / least, resident_bytes() or np.nan
    return along(contestant.name, *found.T)


def along(name: str, costs: Array, ratios: Array, resident: Array) -> list[Figure]:
    """Sum up a stream of which every piece was measured."""
    seconds = 1e-6 * PIECE * np.cumsum(costs)
    stops = _round_numbers(len(costs))
    figures = [
        Figure(
            "stream",
            name,
            {"d": D_OF_STREAM, "T": PIECE * stop},
            {
                "µs": float(np.median(costs[start:stop])),
                "seconds": float(seconds[stop - 1]),
                "MB": float(resident[stop - 1]) / 2**20,
            },
        )
        for start, stop in zip([0, *stops], stops, strict=False)
    ]
    tenth, warm = len(costs) // 10, -(-len(costs) // 100)
    first, last = np.median(ratios[warm : warm + tenth]), np.median(ratios[-tenth:])
    flat = {
        "last tenth / first": float(last / first),
        "MB more": float(np.ptp(resident[warm:])) / 2**20,
    }
    in_t = exponent([f.at["T"] for f in figures], [f.values["seconds"] for f in figures])
    return [
        *figures,
        Figure("flatness", name, {"T": PIECE * len(costs)}, flat),
        Figure("exponents", name, {}, {"in T": in_t}),
    ]


def _round_numbers(most: int) -> list[int]:
    """Return 1, 2, 5, 10, 20, 50 … up to a number."""
    return [m * 10**k for k in range(len(str(most))) for m in (1, 2, 5) if m * 10**k <= most]


# What is kept


def count_bytes(plan: Plan) -> list[Figure]:
    """Count what the engine keeps between rows, when its buffer is full."""
    places = {(size, d): None for d in plan.dimensions for size in _KEPT}
    places |= {(size, D_OF_BUFFERS): None for size in plan.buffers}
    figures = []
    for size, d in places:
        learner = engine("", vvm_settings(size, True)).start(NOISY, NOISY.draw(size + 50, d))
        kept = {"kB": 1e-3 * sum(array.nbytes for array in learner.state)}
        figures.append(Figure("bytes", "VVM, merging", {"d": d, "B": size}, kept))
    return figures
