"""What a reader sees of a running service, in a real browser."""

import json
import re
import threading
from contextlib import contextmanager

import pytest
import uvicorn
from selenium.webdriver.common.by import By

from tests.report.test_browser import browser, luminance, texts  # noqa: F401
from tests.serve.conftest import OFTEN, USUAL, learn_all, rows_of, until
from virtualvector.cli.serve import service_of
from virtualvector.serve.app import Door, application
from virtualvector.serve.client import Client
from virtualvector.serve.gate import tokens_in

pytestmark = pytest.mark.processes

ROWS, LABELS = rows_of(90, seed=5)
READ = "r" * 20


@contextmanager
def listening(service, tokens=None):
    """Serve on a port of this machine, within this process; yield the address."""
    app = application(service, Door(USUAL, tokens))
    options = {"log_config": None, "lifespan": "on", "timeout_graceful_shutdown": 1}
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, **options))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        until(lambda: server.started)
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        service.is_stopping = server.should_exit = True
        thread.join()


@pytest.fixture
def service(model):
    return service_of(model, None, OFTEN)


def opened(page, address, width=1280, light="light"):
    screen = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    page.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    wish = {"name": "prefers-color-scheme", "value": light}
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [wish]})
    page.get(address)
    return page


def learn_some(address, service, start, stop):
    client = Client(address)
    for k in range(start, stop):
        client.learn(ROWS[k], LABELS[k], f"{k}")
    until(lambda: service.snapshot.sequence == stop)


def summary(page):
    return page.find_element(By.ID, "summary").text


def last_tile(page):
    """Return its text at one moment: tiles are made anew every second."""
    return page.execute_script("return document.querySelector('.tiles').lastChild.textContent")


def test_figures_move_as_labels_come_and_a_row_can_be_tried(browser, service):  # noqa: F811
    with listening(service) as address:
        page = opened(browser, address)
        page.get_log("browser")
        until(lambda: "No labels have come yet" in summary(page))
        learn_some(address, service, 0, 50)
        until(lambda: summary(page).startswith("50 answers have their label"))
        learn_some(address, service, 50, 90)
        until(lambda: summary(page).startswith("90 answers have their label"))
        figures = Client(address).get("/figures")
        assert texts(page, ".tiles .value")[0] == f"{100 * figures['error']:.1f} %"
        assert len(page.find_elements(By.CSS_SELECTOR, "#reliability circle")) == len(
            figures["reliability"]
        )
        assert len(page.find_elements(By.CSS_SELECTOR, "#course path")) == 2
        assert last_tile(page) == "answers within—none so far"

        fields = page.find_elements(By.CSS_SELECTOR, "#columns input")
        assert texts(page, "#columns label") == list(ROWS[0])
        for field, value in zip(fields, ROWS[0].values(), strict=True):
            field.send_keys("" if value is None else str(value))
        page.find_element(By.CSS_SELECTOR, "#row button").click()
        until(lambda: texts(page, "#answer strong"))
        said = Client(address).predict(ROWS[0])
        assert texts(page, "#answer strong") == [said["label"]]
        within = r"answers within[\d.,]+\smshalf of them; 99 of 100 within ([\d.,]+\sms|—)"
        until(lambda: re.fullmatch(within, last_tile(page)))
        shares = [float(text.split()[0]) for text in texts(page, "#answer .n")]
        expected = sorted((100 * p for p in said["probabilities"].values()), reverse=True)
        assert shares == pytest.approx(expected, abs=0.051)

        fields[0].clear()
        fields[0].send_keys("many")
        page.find_element(By.CSS_SELECTOR, "#row button").click()
        until(lambda: texts(page, "#answer .wrong"))
        assert "column 'x0': found 'many'; expected a number" in texts(page, "#answer .wrong")[0]

        events = [json.loads(entry["message"])["message"] for entry in page.get_log("performance")]
        asked = {
            event["params"]["request"]["url"]
            for event in events
            if event["method"] == "Network.requestWillBeSent"
        }
        assert asked
        assert all(url.startswith((address, "data:")) for url in asked)
        said = [entry["message"] for entry in page.get_log("browser")]
        assert [each for each in said if "422" not in each] == []


def test_the_page_is_readable_in_light_dark_and_on_a_phone(browser, service, tmp_path):  # noqa: F811
    with listening(service) as address:
        learn_some(address, service, 0, 60)
        for width, light in ((1280, "light"), (1280, "dark"), (360, "light")):
            page = opened(browser, address, width, light)
            until(lambda page=page: summary(page).startswith("60 answers"))
            wide, room = page.execute_script(
                "return [document.scrollingElement.scrollWidth, window.innerWidth]"
            )
            assert wide <= room == width
            words = page.execute_script("""
                const found = [];
                const kinds = "p, dt, dd, th, td, h2, label, button";
                for (const at of document.querySelectorAll(kinds)) {
                    if (!at.textContent.trim() || !at.getClientRects().length) continue;
                    let behind = at;
                    while (getComputedStyle(behind).backgroundColor === "rgba(0, 0, 0, 0)")
                        behind = behind.parentElement;
                    found.push([at.textContent, getComputedStyle(at).color,
                                getComputedStyle(behind).backgroundColor]);
                }
                return found;
            """)
            assert len(words) > 40
            for word, colour, behind in words:
                dark, bright = sorted([luminance(colour), luminance(behind)])
                assert (bright + 0.05) / (dark + 0.05) >= 4.5, f"{word}: {colour} on {behind}"


def test_with_tokens_the_page_asks_for_one(browser, service):  # noqa: F811
    with listening(service, tokens_in(f"read {READ}", "tokens")) as address:
        page = opened(browser, address)
        until(lambda: page.find_element(By.ID, "token").is_displayed())
        assert not page.find_element(By.ID, "main").is_displayed()
        page.find_element(By.ID, "token").send_keys(READ)
        page.find_element(By.CSS_SELECTOR, "#login button").click()
        until(lambda: re.match("No labels have come yet", summary(page)))


def test_names_from_the_data_are_text(browser, service):  # noqa: F811
    nasty = "<img src=x onerror=alert(1)>"
    with listening(service) as address:
        client = Client(address)
        client.predict(ROWS[0] | {"colour": nasty}, nasty)
        client.label(nasty, "good")
        with pytest.raises(Exception, match="conflict"):
            client.label(nasty, "bad")
        until(lambda: service.learner.conflicts)
        learn_all(_Has(service), 1)
        page = opened(browser, address)
        until(lambda: nasty in texts(page, "#conflicts th bdi"))
        assert page.find_elements(By.CSS_SELECTOR, "img, [onerror]") == []


class _Has:
    def __init__(self, service):
        self.service = service
