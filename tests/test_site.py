"""What `.ci/site.py` finds in the pages of a site."""

import importlib.util
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / ".ci" / "site.py"


def load_script():
    spec = importlib.util.spec_from_file_location("site_check", SCRIPT)
    script = importlib.util.module_from_spec(spec)
    sys.modules["site_check"] = script
    spec.loader.exec_module(script)
    return script


@pytest.fixture
def found(tmp_path):
    """Return what is wrong with a page that has a neighbour, a picture and a style."""
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "other.html").write_text("<h1 id='here'>x</h1>")
    (tmp_path / "a b.png").touch()

    def check(page, style=""):
        (tmp_path / "page.html").write_text(page)
        (tmp_path / "style.css").write_text(style)
        return [line.partition(": ")[2] for line in load_script().problems(tmp_path.resolve())]

    return check


@pytest.mark.parametrize(
    "page",
    [
        "<a href='sub/other.html#here'>x</a><a href='#top' id='top'>x</a>",
        "<a href='https://example.org/'>x</a><a href='mailto:a@b'>x</a>",
        "<img src='a%20b.png'><link href='style.css?v=1'><img src='data:image/png;base64,x'>",
    ],
)
def test_what_leads_somewhere_is_right(found, page):
    assert found(page) == []


@pytest.mark.parametrize(
    ("page", "wrong"),
    [
        ("<a href='gone.html'>x</a>", "gone.html: no such file"),
        ("<a href='#gone'>x</a>", "#gone: no such place on that page"),
        ("<a href='sub/other.html#gone'>x</a>", "sub/other.html#gone: no such place on that page"),
        (
            "<script src='https://cdn.org/x.js'></script>",
            "https://cdn.org/x.js: loaded from outside",
        ),
        ("<link href='//fonts.org/x.css'>", "//fonts.org/x.css: loaded from outside"),
        ("<p style='background: url(//x.org/y)'>", "//x.org/y: loaded from outside"),
    ],
)
def test_what_leads_nowhere_or_comes_from_outside_is_named(found, page, wrong):
    assert found(page) == [wrong]


def test_a_style_that_comes_from_outside_is_named(found):
    assert found("<p>", "@import 'https://x.org/y.css';") == [
        "https://x.org/y.css: loaded from outside"
    ]
    assert found("<p>", "/* https://x.org */ p { background: url(y.png) }") == []


@pytest.mark.processes
def test_a_page_that_is_wider_than_a_phone_is_named(tmp_path):
    script = load_script()
    looking = script.browser()
    if looking is None:
        pytest.skip("needs Debian's packages chromium and chromium-driver, or the like")
    pages = {
        "fits": "<p>words that can be broken into lines " * 20,
        "scrolls": f"<div style='overflow-x: auto'>{'x' * 500}</div>",
        "hangs": f"<p>short<pre>{'y' * 500}</pre>",
    }
    for name, body in pages.items():
        text = f"<!doctype html><meta name=viewport content='width=device-width'>{body}"
        (tmp_path / f"{name}.html").write_text(text)
    with looking as running:
        found = list(script.too_wide(tmp_path, script.pages_of(tmp_path), running))
    assert [line.partition(":")[0] for line in found] == ["hangs.html"]
    assert found[0].endswith(f"on a screen of 360: pre {'y' * 60}")
