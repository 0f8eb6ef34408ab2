"""Requests that come at the same time, predicted at once: they share the way through memory."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from virtualvector.serve.learning import Learned
from virtualvector.types import Array


class Said(NamedTuple):
    """What was predicted of some rows, and by which model."""

    learned: Learned
    probabilities: list[list[float]]


class Gathering:
    """Rows of numbers, of whoever asks before the loop comes to predict them.

    What is said of a row does not depend, to the last bit, on the rows it is predicted with.

    Parameters
    ----------
    latest : callable
        Returns the model that answers now.
    """

    def __init__(self, latest: Callable[[], Learned]) -> None:
        self._latest = latest
        self._asked: list[tuple[Array, asyncio.Future[Said]]] = []

    async def predict(self, rows: Array) -> Said:
        """Return what is said of rows, once those of others have gathered."""
        loop = asyncio.get_running_loop()
        said: asyncio.Future[Said] = loop.create_future()
        if not self._asked:
            loop.call_soon(self._predict)
        self._asked.append((rows, said))
        return await said

    def _predict(self) -> None:
        asked, self._asked = self._asked, []
        learned, start = self._latest(), 0
        try:
            predicted = learned.said_of(np.concatenate([rows for rows, _ in asked]))
        except Exception as error:
            for _, said in asked:
                if not said.done():
                    said.set_exception(error)
            return
        for rows, said in asked:
            stop = start + len(rows)
            if not said.done():  # or nobody waits for it any more
                said.set_result(Said(learned, predicted[start:stop]))
            start = stop
