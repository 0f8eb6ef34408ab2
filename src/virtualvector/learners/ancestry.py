"""Whether a model can have gone on from another one, as far as that shows in what both know.

What a model has counted never becomes less, and its evidence, a sum of log-probabilities, never
more. A model with more of everything may still have learned other rows: that cannot be seen here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from virtualvector.learners.hedge import Hedged
from virtualvector.learners.one_vs_rest import OneVsRest
from virtualvector.posterior import AnyState
from virtualvector.posterior.pooling import content_of
from virtualvector.posterior.residual.pooled import Points
from virtualvector.posterior.settings import may_merge
from virtualvector.posterior.state import LOG_EVIDENCE, ROWS
from virtualvector.types import Array, Labels


class WentOn:
    """A model that is said to have gone on from a common one; says so if it cannot have.

    Parameters
    ----------
    name, common_name : str
        What errors call both.

    Examples
    --------
    >>> from virtualvector.learners.ancestry import WentOn
    >>> WentOn("b", "a").check_counts([8, 3], [5, 4], ["dogs", "cats"])
    Traceback (most recent call last):
    ValueError: b has 3 cats and a 4, which b did not go on from; expected models that did
    """

    def __init__(self, name: str, common_name: str) -> None:
        self._name, self._common = name, common_name

    def cannot_be(self, found: str, before: str) -> ValueError:
        """Return the error for a model that has something, and the common one something else."""
        return ValueError(
            f"{self._name} has {found} and {self._common} {before}, which {self._name} did not go "
            "on from; expected models that did"
        )

    def check_rows(self, n_rows: int, n_before: int) -> None:
        """Raise for fewer rows than the common one has learned."""
        if n_rows < n_before:
            raise self.cannot_be(f"learned {n_rows} rows", str(n_before))

    def check_contents(self, is_same: bool, n_rows: int) -> None:
        """Raise for as many rows as the common one has learned, if they are others."""
        if not is_same:
            raise self.cannot_be(f"learned {n_rows} rows", f"as many, but others than {self._name}")

    def check_evidence(self, found: Iterable[float], before: Iterable[float]) -> None:
        """Raise if what came is now more probable than it was before more came."""
        for own, common in zip(found, before, strict=True):
            if own > common:
                raise self.cannot_be(f"a log evidence of {own:.6g}", f"of {common:.6g}")

    def check_classes(self, found: Labels, before: Labels) -> None:
        """Raise if a class of the common one is not known any more."""
        lost = [label for label in before.tolist() if label not in found.tolist()]
        if lost:
            raise self.cannot_be(f"the classes {found.tolist()!r}", f"also {lost!r}")

    def check_counts(
        self, found: Iterable[float], before: Iterable[float], what: Sequence[str]
    ) -> None:
        """Raise if less of something was counted than by the common one."""
        for own, common, each in zip(found, before, what, strict=True):
            if own < common:
                raise self.cannot_be(f"{own:,.10g} {each}", f"{common:,.10g}")

    def check_rows_of_classes(
        self, found: tuple[Labels, Array], before: tuple[Labels, Array]
    ) -> None:
        """Raise if fewer rows of a class have come than to the common one."""
        (classes, counts), (labels, at_start) = (
            [e.tolist() for e in each] for each in (found, before)
        )
        own = dict(zip(classes, counts, strict=True))
        what = [f"rows of the class {label!r}" for label in labels]
        self.check_counts([own[label] for label in labels], at_start, what)


def check_went_on(known: OneVsRest, start: OneVsRest, name: str, common_name: str) -> None:
    """Raise for posteriors that cannot have gone on from those of a start with the same classes."""
    said = WentOn(name, common_name)
    n_rows, n_before = (n_rows_of(each) for each in (known, start))
    said.check_rows(n_rows, n_before)
    found, before = zip(*_pairs(known, start), strict=True)
    if n_rows == n_before:
        said.check_contents(content_of(found[0]) == content_of(before[0]), n_rows)
    said.check_evidence(map(_evidence, found), map(_evidence, before))
    if _has_other_first_rows(known, start):
        raise said.cannot_be(f"kept one of its first {n_before} rows", "others there")


def n_rows_of(known: OneVsRest) -> int:
    """Return how many rows have been learned."""
    return int(known.states[0].counts[ROWS])


def _pairs(known: OneVsRest, start: OneVsRest) -> Iterator[tuple[AnyState, AnyState]]:
    """Yield each posterior, and what it was at the start."""
    yield from zip(known.states, start.states, strict=True)
    if known.unseen is not None and start.unseen is not None:
        yield known.unseen, start.unseen
    if isinstance(known, Hedged) and isinstance(start, Hedged):
        yield from _pairs(known.beside, start.beside)


def _evidence(state: AnyState) -> float:
    return float(state.sums[LOG_EVIDENCE])


def _has_other_first_rows(known: OneVsRest, start: OneVsRest) -> bool:
    """Whether a point from before the start is none of its points.

    Points that merge become another one. Those that are pooled get later numbers, never earlier.
    """
    if may_merge(known.settings):
        return False
    own, before = (Points.of(each.states[0]) for each in (known, start))
    is_old = own.row_numbers < n_rows_of(start)
    return not {*own.at(is_old.nonzero()[0].tolist()).factors()} <= {*before.factors()}
