"""Noticing that a stream has changed: more surprises than whoever predicts it expects."""

from __future__ import annotations

from typing import NamedTuple

ALARM = 5.0  # standard deviations
HISTORY = 4  # blocks needed to know what is usual
MEMORY = 32  # blocks that count towards it


class DriftDetector(NamedTuple):
    """What losses are usual.

    Who gives probabilities to what may come also says what loss, −log p, to expect, and how much it
    will vary. The sum of losses over a block of rows, less what was expected, in standard
    deviations, is near zero for one who is right. It grows at once when the stream changes, and
    learning, which makes losses smaller and expectations too, leaves it where it is.
    """

    excess: float = 0.0  # loss beyond what was expected, in the block under way, so far
    variance: float = 0.0  # that was expected of it
    n_blocks: int = 0
    usual: float = 0.0  # mean excess of a block, in standard deviations

    def end_block(self) -> tuple[DriftDetector, bool]:
        """Return what is usual now, and whether the block that ends is a reason for alarm.

        Examples
        --------
        >>> from virtualvector.auto.drift import DriftDetector
        >>> drift = DriftDetector()
        >>> for excess in (10.0, -5.0, 8.0, 3.0, 70.0):
        ...     drift, alarm = drift._replace(excess=excess, variance=100.0).end_block()
        >>> alarm
        True
        """
        excess = self.excess / (self.variance + 1.0) ** 0.5
        if self.n_blocks >= HISTORY and excess > self.usual + ALARM:
            return DriftDetector(), True
        n = min(self.n_blocks + 1, MEMORY)
        usual = self.usual + (excess - self.usual) / n
        return DriftDetector(n_blocks=self.n_blocks + 1, usual=usual), False
