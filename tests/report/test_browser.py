"""What a reader sees: the page in a real browser, from a file, without a network."""

import json
import re

import numpy as np
import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.support.expected_conditions import alert_is_present
from sklearn.metrics import log_loss

from tests.test_site import load_script
from virtualvector.evaluation import calibration_error
from virtualvector.report import render

pytestmark = pytest.mark.processes

HEADINGS = [
    "Is it getting better?",
    "Where is it wrong?",
    "Can the probabilities be trusted?",
    "What did it find important?",
    "What does it keep in mind?",
    "What did it assume?",
    "What was learned, and how?",
]
AXES = {
    "error-title": ["rows seen", "wrong, % of rows", "so far", "in this part"],
    "reliability-title": ["rows", "predicted probability of class <script>alert(3)</s…"],
    "points-title": ["virtual point", "positive", "negative"],
    "trust-title": ["rows seen", "weight of experts", "linear, s² 1, 10 points", "others"],
}


@pytest.fixture(scope="module")
def browser():
    found = load_script().browser(browser="ALL", performance="ALL")
    if found is None:
        pytest.skip("needs Debian's packages chromium and chromium-driver, or the like")
    with found as running:
        yield running


@pytest.fixture(scope="module")
def address(report, tmp_path_factory):
    file = tmp_path_factory.mktemp("report") / "report.html"
    file.write_text(render(report), encoding="utf-8")
    return file.as_uri()


@pytest.fixture
def see(browser, address):
    """Open the page on a screen of some width, in some light."""

    def opened(width=1280, light="light"):
        screen = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": False}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
        wish = {"name": "prefers-color-scheme", "value": light}
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [wish]})
        browser.get(address)
        return browser

    return opened


def texts(page, selector):
    return [element.text for element in page.find_elements(By.CSS_SELECTOR, selector)]


def test_nothing_is_asked_for_and_nothing_is_complained_about(see, address):
    page = see()
    page.get_log("performance"), page.get_log("browser")  # of other tests
    see()
    events = [json.loads(entry["message"])["message"] for entry in page.get_log("performance")]
    asked = {
        event["params"]["request"]["url"]
        for event in events
        if event["method"] == "Network.requestWillBeSent"
    }
    assert address in asked
    assert asked <= {address, "data:,"}
    assert page.execute_script("return performance.getEntriesByType('resource').length") == 0
    assert page.get_log("browser") == []


def test_the_first_sentence_has_the_numbers_of_the_stream(see, stream):
    labels, predictions = stream
    page = see()
    sentence = page.find_element(By.ID, "summary").text
    n_rows, *numbers = re.findall(r"[\d,.]+\d", sentence)
    wrong = (predictions.argmax(axis=1) != (labels == "<script>alert(3)</script>")).mean()
    classes = ["<b>ham</b>", "<script>alert(3)</script>"]
    shares = [(labels == name).mean() for name in classes]
    expected = [
        log_loss(labels, predictions),
        log_loss(labels, np.tile(shares, (len(labels), 1))),
        calibration_error(labels, predictions, classes),
    ]
    assert n_rows == "4,601"
    assert [f"{float(number):.3f}" for number in numbers[2:]] == [f"{e:.3f}" for e in expected]
    percents = [100.0 * wrong, 100.0 * min(shares)]
    assert [float(number) for number in numbers[:2]] == pytest.approx(percents, abs=0.05)
    assert texts(page, ".tiles .value")[0] in sentence
    assert page.title == "<script>alert(1)</script> stream.csv"
    assert "fewer than before" in page.find_element(By.ID, "trend").text


def test_every_question_has_its_heading(see):
    page = see()
    headings = page.find_elements(By.TAG_NAME, "h2")
    assert [heading.text for heading in headings] == HEADINGS
    assert all(heading.is_displayed() for heading in headings)
    assert texts(page, "h1") == ["<script>alert(1)</script> stream.csv"]


@pytest.mark.parametrize(("width", "smallest_text"), [(1280, 10.0), (360, 7.0)])
def test_pictures_are_seen_and_their_words_can_be_read(see, width, smallest_text):
    pictures = see(width).execute_script("""
        return [...document.querySelectorAll("svg[role=img]")].map(svg => {
            const all = svg.getBoundingClientRect();
            const words = [...svg.querySelectorAll("text")].map(text => {
                const box = text.getBoundingClientRect();
                const inside = box.left >= all.left - 1 && box.right <= all.right + 1
                            && box.top >= all.top - 1 && box.bottom <= all.bottom + 1;
                return [text.textContent, Math.min(box.width, box.height), inside];
            });
            return [svg.getAttribute("aria-labelledby"), all.width, all.height, words];
        });
    """)
    assert [name for name, *_ in pictures] == list(AXES)
    for name, wide, high, words in pictures:
        assert wide > 0.8 * min(width - 32, 480)
        assert high > 100
        seen = [word for word, *_ in words]
        assert set(AXES[name]) <= set(seen)
        for word, size, inside in words:
            assert inside, f"{word} is cut off"
            assert size > smallest_text or len(word) == 1, f"{word} is {size} pixels high"


def test_a_title_tells_what_is_in_a_picture(see):
    titles = see().execute_script(
        "return [...document.querySelectorAll('svg[role=img] > title')].map(t => t.textContent)"
    )
    assert "of all 4,601" in titles[0]
    assert "<script>alert(3)</script>" in titles[1]


def test_weights_are_listed_by_how_certain_they_are(see, report):
    page = see()
    expected = sorted(report.weights, key=lambda w: abs(w.mean) / w.deviation, reverse=True)
    columns = texts(page, ".weights tbody th")
    assert len(columns) == 25
    plain = {f"column {k}" for k in range(50)}
    assert [c for c in columns if c in plain] == [
        w.column for w in expected[:25] if w.column in plain
    ]
    lines = [line.replace("−", "-").split() for line in texts(page, ".weights tbody tr")]
    for line, weight in zip(lines, expected, strict=False):
        mean, low, _, high, certainty = line[-5:]
        assert float(mean) == pytest.approx(weight.mean, abs=6e-3)
        assert float(low) == pytest.approx(weight.mean - 2.0 * weight.deviation, abs=6e-3)
        assert float(high) == pytest.approx(weight.mean + 2.0 * weight.deviation, abs=6e-3)
        assert float(certainty) == pytest.approx(abs(weight.mean) / weight.deviation, abs=0.06)
    assert "Weights left out, less certain: 33." in texts(page, ".note")


def test_intervals_are_drawn_where_their_numbers_are(see, report):
    drawn = see().execute_script("""
        return [...document.querySelectorAll(".interval")].map(svg =>
            [...svg.querySelectorAll("path")].map(path => {
                const box = path.getBoundingClientRect();
                return [box.left, box.right];
            }));
    """)
    for (zero, interval), weight in zip(drawn, report.weights, strict=False):
        low, high = (weight.mean + k * weight.deviation for k in (-2.0, 2.0))
        if low > 0.01:
            assert interval[0] > zero[0]
        if high < -0.01:
            assert interval[1] < zero[1]


def test_names_from_the_data_are_text(see, report):
    page = see()
    assert not alert_is_present()(page)
    made = page.find_elements(By.CSS_SELECTOR, "script, img, iframe, a, b, [onerror]")
    assert made == []
    shown = " ".join(texts(page, "bdi"))
    assert "<script>alert(1)</script>" in shown
    assert "\"'><img src=x onerror=alert(2)>" in shown
    listed = {weight.column for weight in report.weights[:25]}
    seen = set(texts(page, ".weights tbody th"))
    for name in listed & {
        "emoji 🦆 and שלום עולם",
        "{{ 7 * 7 }} $\\frac{1}{2}$ &amp; %s",
        "W" * 300,
    }:
        assert name in seen


def test_experts_and_buffers_are_in_tables(see, report):
    page = see()
    tables = {
        table.find_element(By.TAG_NAME, "caption").text: table.text
        for table in page.find_elements(By.TAG_NAME, "table")
        if table.is_displayed()
    }
    experts = tables["Experts, the most trusted first"]
    assert "linear, s² 1, 10 points 50.0 % yes" in experts
    assert "rbf ×2, s² 2 6.2 % asleep" in experts
    buffers = tables["What the buffers of all experts did"]
    for words in ("points evicted", "4,561", "pairs merged", "7", "divergence lost", "6.120"):
        assert words in buffers
    assert "budget as usual" in tables["Parameters"]
    assert "4,601" in tables["The stream"]


@pytest.mark.parametrize("width", [1280, 768, 360])
def test_nothing_hangs_out_at_the_side(see, width):
    page = see(width)
    page.execute_script("document.querySelectorAll('details').forEach(d => d.open = true)")
    wide, room = page.execute_script(
        "return [document.scrollingElement.scrollWidth, window.innerWidth]"
    )
    assert room == width
    assert wide <= room


def luminance(colour):
    """Relative luminance as in WCAG 2."""
    channels = [int(c) / 255.0 for c in re.findall(r"\d+", colour)[:3]]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("light", ["light", "dark"])
def test_all_text_stands_out(see, light):
    page = see(light=light)
    words = page.execute_script("""
        document.querySelectorAll("details").forEach(d => d.open = true);
        const found = [], walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
        while (walk.nextNode()) {
            const at = walk.currentNode.parentElement, text = walk.currentNode.data.trim();
            if (!text || !at.getClientRects().length) continue;
            let behind = at;
            const see_through = "rgba(0, 0, 0, 0)";
            while (getComputedStyle(behind).backgroundColor === see_through)
                behind = behind.parentElement;
            const style = getComputedStyle(at);
            found.push([text, at.closest("svg") ? style.fill : style.color,
                        getComputedStyle(behind).backgroundColor]);
        }
        return found;
    """)
    assert len(words) > 200
    behind_all = {luminance(behind) for _, _, behind in words}
    assert max(behind_all) < 0.1 if light == "dark" else min(behind_all) > 0.8
    for word, colour, behind in words:
        dark, bright = sorted([luminance(colour), luminance(behind)])
        assert (bright + 0.05) / (dark + 0.05) >= 4.5, f"{word}: {colour} on {behind}"
