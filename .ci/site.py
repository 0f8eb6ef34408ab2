"""Check the pages of a built site: links that lead nowhere, what is loaded from outside, widths.

    python .ci/site.py build/docs

A link may lead to another site. Nothing that a page needs may come from there: a browser without a
network shows the same. On a phone each page is as wide as the phone, so that nobody has to scroll
sideways; that is looked at in Chromium, where there is one.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

PHONE = 360  # pixels
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
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


def pages_of(site: Path) -> list[Path]:
    """Return the pages of a site, without what belongs to its theme."""
    return [path for path in sorted(site.rglob("*.html")) if path.parent.name != "_static"]


def problems(site: Path) -> Iterator[str]:
    """Yield a line for each link of the site that is wrong."""
    pages = {path: Page(path.read_text()) for path in pages_of(site)}
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


def browser(**logs: str) -> AbstractContextManager[Any] | None:
    """Return a browser to look at pages with, if there is one, that keeps some logs."""
    program, driver = next(filter(None, map(shutil.which, BROWSERS)), None), "chromedriver"
    if program is None or shutil.which(driver) is None:
        return None
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = program
    for argument in (
        "--headless=new",
        "--no-sandbox",  # which root cannot have
        "--disable-dev-shm-usage",
        "--disable-gpu",
        "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    ):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", logs)
    service = Service(shutil.which(driver), log_output=subprocess.DEVNULL)
    return webdriver.Chrome(options, service)  # type: ignore[no-any-return]


def too_wide(site: Path, pages: Sequence[Path], looking: Any, width: int = PHONE) -> Iterator[str]:
    """Yield a line for each page that is wider than a phone, with what hangs out furthest."""
    screen = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": False}
    looking.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    for path in pages:
        looking.get(path.as_uri())
        wide, room, what = looking.execute_script("""
            const room = window.innerWidth, root = document.documentElement;
            const scrolls = each => each !== null && each !== document.body
                && (getComputedStyle(each).overflowX !== "visible" || scrolls(each.parentElement));
            const right = each => {
                const box = each.getBoundingClientRect();
                return Math.max(box.right, box.left + each.scrollWidth);
            };
            const furthest = [...document.body.querySelectorAll("*")]
                .filter(each => !scrolls(each))
                .reduce((most, each) => right(each) >= right(most) ? each : most, document.body);
            const text = furthest.textContent.trim().replace(/\\s+/g, " ").slice(0, 60);
            return [root.scrollWidth, room, `${furthest.tagName.toLowerCase()} ${text}`];
        """)
        if wide > room:
            yield f"{path.relative_to(site)}: {wide} pixels wide on a screen of {room}: {what}"


def main(site: str) -> int:
    """Print what is wrong; return 1 if anything is."""
    root = Path(site).resolve()
    found = list(problems(root))
    looking = browser()
    if looking is None:
        print(f"No Chromium with its driver: whether pages fit {PHONE} pixels was not looked at.")
    else:
        with looking as running:
            found += too_wide(root, pages_of(root), running)
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
