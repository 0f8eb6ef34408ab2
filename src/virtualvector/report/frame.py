"""What all pages have in common: how they look, and that they need nothing from elsewhere."""

from __future__ import annotations

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup


def templates() -> Environment:
    """Return the templates of pages, which escape what they are given."""
    return Environment(
        loader=PackageLoader("virtualvector.report", "."),
        autoescape=True,  # names come from the data
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def framed(title: str, body: Markup) -> str:
    """Return a page.

    Examples
    --------
    >>> from markupsafe import Markup
    >>> from virtualvector.report.frame import framed
    >>> page = framed("A & B", Markup("<h1>Both</h1>"))
    >>> "<title>A &amp; B</title>" in page, "<h1>Both</h1>" in page
    (True, True)
    """
    return templates().get_template("frame.html").render(title=title, body=body)
