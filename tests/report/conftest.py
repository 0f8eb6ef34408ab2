"""A report made by hand: what it says is known without any code of the package."""

import numpy as np
import pytest

from virtualvector.evaluation import Tally
from virtualvector.report import Points, Report, Weight

ALARM = "<script>alert(1)</script>"
NASTY = [
    ALARM,
    "\"'><img src=x onerror=alert(2)>",
    "emoji 🦆 and שלום עולם",
    "{{ 7 * 7 }} $\\frac{1}{2}$ &amp; %s",
    "\N{RIGHT-TO-LEFT OVERRIDE}gnp.exe\x07",
    "half \ud83e of a duck",
    "long " * 60,
    "W" * 300,
]
CLASSES = ("<b>ham</b>", "<script>alert(3)</script>")


@pytest.fixture(scope="session")
def stream():
    """Labels, and what was said of them before: bolder than it should be, and better with time."""
    rng = np.random.default_rng(0)
    n = 4601
    truth = rng.uniform(size=n) < 0.4
    margins = np.where(truth, 1.0, -1.0) * (0.5 + np.linspace(0.0, 2.0, n)) + rng.normal(size=n)
    second = 1.0 / (1.0 + np.exp(-2.5 * margins))
    return np.array(CLASSES)[truth.astype(int)], np.column_stack([1.0 - second, second])


@pytest.fixture(scope="session")
def report(stream):
    rng = np.random.default_rng(1)
    columns = [*NASTY, *(f"column {k}" for k in range(50))]
    weights = [
        Weight(name, "", float(mean), float(deviation))
        for name, mean, deviation in zip(
            columns, rng.normal(size=58), rng.uniform(0.05, 0.5, size=58), strict=True
        )
    ]
    points = rng.normal(size=(40, 58))
    experts = ["linear, s² 1, 10 points", "rbf ×0.5, s² 0.1, ε 0.02, half-life 20000, detail 2"]
    experts += [f"rbf ×{k}, s² {k}" for k in range(1, 15)]
    trust = np.linspace(5.0, 0.2, len(experts))
    return Report(
        title=f"{ALARM} stream.csv",
        about={"source": f"{ALARM} stream.csv", "label": NASTY[1], "rows": "4,601"},
        tally=Tally(CLASSES).with_rows(*stream),
        weights=sorted(weights, key=lambda weight: -abs(weight.mean) / weight.deviation),
        points=Points(columns, points / np.linalg.norm(points, axis=1)[:, None], [""] * 40),
        buffer={"evicted": 4561, "merged": 7, "divergence_lost": 6.12, "divergence_score": 0.25},
        experts=[
            {"expert": name, "weight": 2.0 ** -(k + 1), "awake": k < 3}
            for k, name in enumerate(experts)
        ],
        history=[
            (n, dict(zip(experts, rng.dirichlet(trust).tolist(), strict=True)))
            for n in range(128, 4601, 128)
        ],
        parameters={"budget": "as usual", "experts": "16"},
    )
