"""Compile what learns, so that not both processes that test have to: `make kernels` runs this."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np
from sklearn.base import clone

from tests.posterior import reducing
from virtualvector import AutoVVMClassifier, VVMClassifier, pool
from virtualvector.jit.compiled import entry
from virtualvector.posterior import drift, ensemble, pooling, step
from virtualvector.posterior.gaussian import _propagate
from virtualvector.posterior.low_rank_state import LowRankAddress
from virtualvector.posterior.residual.cut import cut_residual

ADDRESS = int
# Those of one kind share most of what is compiled, if it is one process that does it.
KERNELS = (
    (
        (step.learn_rows, (ADDRESS, int, int, bool)),
        (step.learn_clean_rows, (ADDRESS, int, int, bool)),
        (step.merge_or_evict, (ADDRESS, int)),
        (step.yield_to_contradiction, (ADDRESS, int)),
        (step.learn_part, (ADDRESS, int)),
        (step.rebuild, (ADDRESS, bool)),
        (step.predict_row, (ADDRESS,)),
        (step.flush_residual, (ADDRESS,)),
        (drift.drift_rows, (ADDRESS,)),
        (ensemble.learn_one_row, (ADDRESS,)),
        (ensemble.predict_one_row, (ADDRESS,)),
        (pooling.assemble, (ADDRESS,)),
        (pooling.run_ep_on_all, (ADDRESS, bool)),
        (pooling.evict_surplus, (ADDRESS, int, bool)),
        (_propagate, (ADDRESS,)),
        (reducing.merge_at, (ADDRESS,)),
        (reducing.count_underrated, (ADDRESS,)),
        (reducing.merges_despite, (ADDRESS, float)),
    ),
    (
        (step.learn_rows, (LowRankAddress, int, int, bool)),
        (step.merge_or_evict, (LowRankAddress, int)),
        (step.yield_to_contradiction, (LowRankAddress, int)),
        (step.rebuild, (LowRankAddress, bool)),
        (step.predict_row, (LowRankAddress,)),
        (drift.drift_rows, (LowRankAddress,)),
        (cut_residual, (LowRankAddress,)),
        (ensemble.learn_one_row, (ensemble.MixedAddress,)),
        (ensemble.predict_one_row, (ensemble.MixedAddress,)),
        (pooling.assemble, (LowRankAddress,)),
        (pooling.run_ep_on_all, (LowRankAddress, bool)),
        (pooling.evict_surplus, (LowRankAddress, int, bool)),
    ),
)
LEARNERS = (
    (
        VVMClassifier(4, margin_noise=0.1),
        VVMClassifier(4, label_noise=0.05),  # ADF learns beside it
        VVMClassifier(4, margin_noise=0.1, covariance="low-rank", rank=2),
    ),
    (AutoVVMClassifier(),),
)


def use(learners: tuple[Any, ...]) -> None:
    """Call what nearly every test calls: else both processes that test would begin by compiling."""
    random = np.random.default_rng(0)
    rows, labels = random.normal(size=(60, 8)), random.integers(3, size=60)
    for learner in learners:
        halves = clone(learner), clone(learner)
        for half, model in enumerate(halves):
            model.partial_fit(rows[half::2], labels[half::2], np.arange(3)).predict_proba(rows)
        pooled = pool(halves)
        pooled.predict_then_learn(rows, labels)
        if isinstance(pooled, VVMClassifier):
            _ = pooled.decision_function(rows), pooled.coef_


def compile_kernels(kind: int) -> None:
    """Compile those of one kind, or find them compiled."""
    for kernel, arguments in KERNELS[kind]:
        entry(kernel, *arguments)


if __name__ == "__main__":
    with ProcessPoolExecutor(len(KERNELS)) as processes:
        list(processes.map(compile_kernels, range(len(KERNELS))))
        list(processes.map(use, LEARNERS))
