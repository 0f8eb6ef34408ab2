"""One HTML page about a stream that was learned: how well, what was found, what was assumed."""

from virtualvector.report.contents import Points, Report, Weight
from virtualvector.report.from_model import of_model
from virtualvector.report.page import render

__all__ = ["Points", "Report", "Weight", "of_model", "render"]
