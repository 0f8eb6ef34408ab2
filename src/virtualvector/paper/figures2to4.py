"""Figures 2, 3 and 4: the error along Spambase, Thyroid and Ionosphere."""

from __future__ import annotations

from typing import ClassVar

from virtualvector.paper.stream_figure import Stream, StreamFigure

_CAPTION = (
    "Share of rows predicted wrongly so far, each predicted before it was learned; mean over "
    "random orders of the rows, with a band of two standard errors. Left: the learners that the "
    "paper names in its figure, and window-EP. Right: all learners."
)


class Figure2(StreamFigure):
    """Spambase. The paper does not say whether and how the columns were expanded."""

    name: ClassVar[str] = "fig2"
    title: ClassVar[str] = "Figure 2: error along Spambase"
    caption: ClassVar[str] = _CAPTION
    stream = Stream("spambase", buffer_size=30, basis_points=143, dimensions=(0, 100, 500))


class Figure3(StreamFigure):
    """Thyroid, normal against the rest."""

    name: ClassVar[str] = "fig3"
    title: ClassVar[str] = "Figure 3: error along Thyroid"
    caption: ClassVar[str] = _CAPTION
    stream = Stream("thyroid", buffer_size=10, basis_points=12, dimensions=(100,))


class Figure4(StreamFigure):
    """Ionosphere."""

    name: ClassVar[str] = "fig4"
    title: ClassVar[str] = "Figure 4: error along Ionosphere"
    caption: ClassVar[str] = _CAPTION
    stream = Stream("ionosphere", buffer_size=30, basis_points=279, dimensions=(100,))
