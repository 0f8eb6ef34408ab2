"""A figure of matplotlib as a part of a page."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from markupsafe import Markup

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Text stays text, and takes the fonts and colours of the page around it.
_STYLE: Any = {
    "axes.facecolor": "none",
    "axes.spines.right": False,
    "axes.spines.top": False,
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 11.0,
    "legend.fontsize": 10.0,
    "svg.fonttype": "none",
    "svg.hashsalt": "virtualvector",  # the same picture has the same bytes
    "text.parse_math": False,  # a class may be called $x$
}
_COLOURS = {"#000000": "currentColor", "#ffffff": "var(--paper)"}  # they differ in the dark


def inline_svg(
    name: str, title: str, size: tuple[float, float], draw: Callable[[Figure], None]
) -> Markup:
    """Draw a figure and return it as an element that can stand in a page with others.

    Parameters
    ----------
    name : str
        What the names of its parts begin with, so that no two pictures share one.
    title : str
        What is seen, for those who cannot see it.
    size : tuple of float
        Width and height at which text has its natural size, in inches.
    draw : function
        Draws on the figure that it is given.

    Returns
    -------
    Markup
        The element.

    Examples
    --------
    >>> from virtualvector.report.svg import inline_svg
    >>> print(inline_svg("empty", "Nothing", (1.0, 2.0), lambda figure: None)[:82])
    <svg class="picture" viewBox="0 0 72 144" role="img" aria-labelledby="empty-title"
    """
    import matplotlib
    from matplotlib.figure import Figure

    written = io.StringIO()
    with matplotlib.rc_context(_STYLE), warnings.catch_warnings():
        # The browser has the letters that matplotlib's font lacks.
        warnings.filterwarnings("ignore", message=r"Glyph \d+")
        figure = Figure(figsize=size, layout="constrained")
        draw(figure)
        figure.savefig(written, format="svg", transparent=True, metadata={"Date": None})
    drawn = ElementTree.fromstring(written.getvalue())
    picture = ElementTree.Element(
        "svg",
        {
            "class": "picture",
            "viewBox": drawn.attrib["viewBox"],
            "role": "img",
            "aria-labelledby": f"{name}-title",
        },
    )
    ElementTree.SubElement(picture, "title", {"id": f"{name}-title"}).text = title
    picture.extend(part for part in drawn if _plain(part.tag) != "metadata")
    for element in picture.iter():
        if element not in (picture, picture[0]):
            _adapt(element, name)
    return Markup(ElementTree.tostring(picture, encoding="unicode"))


def short(text: str, most: int = 26) -> str:
    r"""Return as much of a name as has its place in a picture.

    Examples
    --------
    >>> from virtualvector.report.svg import short
    >>> short("abc" * 100), short("a\x00b")
    ('abcabcabcabcabcabcabcabca…', 'a�b')
    """
    shown = "".join(letter if letter.isprintable() else "\ufffd" for letter in text)
    return shown if len(shown) <= most else shown[: most - 1] + "…"


def _plain(name: str) -> str:
    """Return a name without its namespace, which goes without saying inside a page."""
    return name.rpartition("}")[2]


def _adapt(element: ElementTree.Element, name: str) -> None:
    """Give an element names of its own and the colours of the page, and no rules for all of it."""
    element.tag = _plain(element.tag)
    element.tail = None
    for child in [child for child in element if _plain(child.tag) == "style"]:
        element.remove(child)
    attributes = {_plain(key): value for key, value in element.attrib.items()}
    for key, value in attributes.items():
        value = value.replace("url(#", f"url(#{name}-")
        if key == "id":
            value = f"{name}-{value}"
        if key == "href":
            value = f"#{name}-{value.removeprefix('#')}"
        if key == "style":
            for colour, instead in _COLOURS.items():
                value = value.replace(colour, instead)
        attributes[key] = value
    element.attrib.clear()
    element.attrib.update(attributes)
