"""Where a posterior goes when it needs more room, or another space."""

from __future__ import annotations

from virtualvector.posterior.settings import most_points
from virtualvector.posterior.state import POINTS, State, empty_state
from virtualvector.posterior.workspace import KernelArguments, make_workspace


def more_room(arguments: KernelArguments) -> KernelArguments:
    """Return arguments for the same state and twice as many points, as far as they are allowed.

    Once there is room for too many points, q̃ moves from margin space to weight space.
    """
    state, settings = arguments.state, arguments.settings
    capacity = min(2 * len(state.points), most_points(settings))
    margin_space = None if len(state.gram) else False  # there is no way back
    larger = empty_state(len(state.mean), settings, capacity, margin_space)
    return moved(arguments, larger)


def in_weight_space(arguments: KernelArguments) -> KernelArguments:
    """Return arguments for the same state in weight space."""
    n_weights, capacity = len(arguments.state.mean), len(arguments.state.points)
    return moved(
        arguments, empty_state(n_weights, arguments.settings, capacity, margin_space=False)
    )


def moved(arguments: KernelArguments, to: State) -> KernelArguments:
    """Copy what does not depend on the space; the rest is left to be computed anew."""
    state = arguments.state
    n = state.counts[POINTS]
    for name in ("mean", "factor", "counts", "sums"):
        getattr(to, name)[:] = getattr(state, name)
    for name in (
        "points",
        "margin_noises",
        "label_noises",
        "row_numbers",
        "site_precisions",
        "site_shifts",
    ):
        getattr(to, name)[:n] = getattr(state, name)[:n]
    if len(to.distances):
        to.distances[:n, :n] = state.distances[:n, :n]
    if len(to.matched) and len(state.matched):
        to.matched[:n] = state.matched[:n]
    work = make_workspace(to, arguments.settings)._replace(
        probabilities=arguments.work.probabilities
    )
    return arguments._replace(state=to, work=work)
