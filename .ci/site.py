"""Check the pages of a built site: links that lead nowhere, and what would be loaded from outside.

    python .ci/site.py build/docs

A link may lead to another site. Nothing that a page needs may come from there: a browser without a
network shows the same.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

LEADS_ON = {("a", "href"), ("form", "action"), ("blockquote", "cite")}
LOADED = {"src", "href", "srcset", "poster", "data", "action"}
LOADED_BY_STYLES = re.compile(r"""(?:url\(|@import)\s*["']?((?:https?:)?//[^"')\s]+)""")


class Link(NamedTuple):
    """Where an element of a page points to."""

    target: str
    is_loaded: bool


class Page(HTMLParser):
    """What a page can be pointed at, and what it points to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[Link] = []
        self.feed(text)
        self.links += [Link(address, True) for address in LOADED_BY_STYLES.findall(text)]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take note of anchors and links."""
        for name, value in attrs:
            if value is None:
                continue
            if name == "id" or (tag == "a" and name == "name"):
                self.anchors.add(value)
            elif (tag, name) in LEADS_ON:
                self.links.append(Link(value, False))
            elif name in LOADED:
                self.links.append(Link(value, True))


def problems(site: Path) -> Iterator[str]:
    """Yield a line for each link of the site that is wrong."""
    paths = (path for path in sorted(site.rglob("*.html")) if path.parent.name != "_static")
    pages = {path: Page(path.read_text()) for path in paths}
    if not pages:
        yield f"{site}: no pages"
    for path, page in pages.items():
        for link in page.links:
            wrong = _wrong(link, path, pages)
            if wrong:
                yield f"{path.relative_to(site)}: {link.target}: {wrong}"
    for path in sorted(site.rglob("*.css")):
        for address in LOADED_BY_STYLES.findall(path.read_text()):
            yield f"{path.relative_to(site)}: {address}: loaded from outside"


def _wrong(link: Link, path: Path, pages: dict[Path, Page]) -> str:
    """Return what is wrong with a link, or nothing."""
    parts = urlsplit(link.target)
    if parts.scheme in ("data", "mailto", "javascript"):
        return ""
    if parts.scheme or parts.netloc:
        return "loaded from outside" if link.is_loaded else ""
    target = path if not parts.path else path.parent / unquote(parts.path)
    target = target.resolve()
    if target.is_dir():
        target /= "index.html"
    if not target.exists():
        return "no such file"
    anchor = unquote(parts.fragment)
    if anchor and target in pages and anchor not in pages[target].anchors:
        return "no such place on that page"
    return ""


def main(site: str) -> int:
    """Print what is wrong; return 1 if anything is."""
    found = list(problems(Path(site).resolve()))
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
