"""Compile what learns, so that not both processes that test have to: `make kernels` runs this."""

from __future__ import annotations

from virtualvector.jit.compiled import entry
from virtualvector.posterior import drift, ensemble, step
from virtualvector.posterior.low_rank_state import LowRankAddress
from virtualvector.posterior.residual.cut import cut_residual

ADDRESS = int
KERNELS = (
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
    (step.learn_rows, (LowRankAddress, int, int, bool)),
    (step.merge_or_evict, (LowRankAddress, int)),
    (step.rebuild, (LowRankAddress, bool)),
    (step.predict_row, (LowRankAddress,)),
    (drift.drift_rows, (LowRankAddress,)),
    (cut_residual, (LowRankAddress,)),
)

if __name__ == "__main__":
    for kernel, arguments in KERNELS:
        entry(kernel, *arguments)
