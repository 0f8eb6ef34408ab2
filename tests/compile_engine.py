"""Compile what learns, so that not both processes that test have to: `make kernels` runs this."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor

from virtualvector.jit.compiled import entry
from virtualvector.posterior import drift, ensemble, pooling, step
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
        (pooling.run_ep_on_all, (ADDRESS, bool)),
        (pooling.evict_surplus, (ADDRESS, int, bool)),
    ),
    (
        (step.learn_rows, (LowRankAddress, int, int, bool)),
        (step.merge_or_evict, (LowRankAddress, int)),
        (step.rebuild, (LowRankAddress, bool)),
        (step.predict_row, (LowRankAddress,)),
        (drift.drift_rows, (LowRankAddress,)),
        (cut_residual, (LowRankAddress,)),
        (pooling.run_ep_on_all, (LowRankAddress, bool)),
        (pooling.evict_surplus, (LowRankAddress, int, bool)),
    ),
)


def compile_kernels(kind: int) -> None:
    """Compile those of one kind, or find them compiled."""
    for kernel, arguments in KERNELS[kind]:
        entry(kernel, *arguments)


if __name__ == "__main__":
    with ProcessPoolExecutor(len(KERNELS)) as pool:
        list(pool.map(compile_kernels, range(len(KERNELS))))
