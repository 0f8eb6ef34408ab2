"""What came of an attack."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

SECONDS = 10.0  # that a case may take
BYTES = 10**9  # of memory that a case may take
MOST_FAILURES = 20  # that are told


@dataclass
class Outcome:
    """How many cases were tried, how they ended, and which of them should not have ended so."""

    attack: str
    ends: Counter[str] = field(default_factory=Counter)  # "refused", "accepted", ...
    failures: list[str] = field(default_factory=list)  # how to repeat each, and what happened

    @property
    def n_cases(self) -> int:
        """How many cases were tried."""
        return sum(self.ends.values())

    def __str__(self) -> str:
        ends = ", ".join(f"{n:,} {end}" for end, n in sorted(self.ends.items()))
        lines = [f"{self.attack}: {self.n_cases:,} cases ({ends}), {len(self.failures)} failures"]
        return "\n  ".join(lines + self.failures[:MOST_FAILURES])
