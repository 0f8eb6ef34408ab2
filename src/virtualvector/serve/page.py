"""The live page: what is sent of it, made of the report's look and its own."""

from __future__ import annotations

from importlib.resources import files


def page_files() -> dict[str, tuple[str, str]]:
    """Return what is at which address of the page: its kind, and its contents.

    Examples
    --------
    >>> from virtualvector.serve.page import page_files
    >>> sorted(page_files())
    ['/', '/page.css', '/page.js']
    """
    own, report = files("virtualvector.serve"), files("virtualvector.report")
    style = report.joinpath("style.css").read_text() + own.joinpath("page.css").read_text()
    return {
        "/": ("text/html", own.joinpath("page.html").read_text()),
        "/page.js": ("text/javascript", own.joinpath("page.js").read_text()),
        "/page.css": ("text/css", style),
    }
