"""The page without a browser: its bytes, its size, its text."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest
from sklearn.metrics import confusion_matrix

from tests.report.conftest import CLASSES
from virtualvector.evaluation import Tally
from virtualvector.report import Points, Report, Weight, render

EMPTY = Report("nothing", {}, Tally(), [], None, {}, [], [], {})


class Reader(HTMLParser):
    """Collects what a browser would see, and checks that what is opened is closed."""

    VOID = ("meta", "link", "br")

    def __init__(self, page):
        super().__init__()
        self.open, self.tags, self.attributes, self.words = [], [], [], []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.handle_startendtag(tag, attrs)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if not {"style", "svg"} & set(self.open):
            self.words.append(data)

    @property
    def text(self):
        return " ".join("".join(self.words).split())


@pytest.fixture(scope="module")
def page(report):
    return render(report)


def test_the_same_report_is_the_same_page(report, page):
    assert render(report) == page


def test_nothing_is_fetched_and_nothing_is_run(page):
    reader = Reader(page)
    assert not {"script", "img", "iframe", "object", "embed", "a", "b"} & set(reader.tags)
    assert not [name for name, _ in reader.attributes if name.startswith("on")]
    fetched = [value for name, value in reader.attributes if name in ("src", "href", "action")]
    assert all(value.startswith(("#", "data:,")) for value in fetched)
    assert "@import" not in page
    assert set(re.findall(r"url\((.)", page)) == {"#"}


def test_no_two_elements_share_a_name_and_every_name_that_is_used_is_there(page):
    attributes = Reader(page).attributes
    names = [value for name, value in attributes if name == "id"]
    assert len(names) == len(set(names))
    used = re.findall(r'url\(#([^)]*)\)|href="#([^"]*)"|aria-labelledby="([^"]*)"', page)
    assert {name for found in used for name in found if name} <= set(names)


def test_a_page_can_be_written_whatever_names_hold(page):
    assert page.encode("utf-8").decode("utf-8") == page


def test_a_stream_without_rows_has_a_page():
    reader = Reader(render(EMPTY))
    assert "No rows were learned" in reader.text
    assert "svg" not in reader.tags


@pytest.mark.parametrize("n_rows", [1, 15, 16, 17, 130])
def test_short_streams_have_a_page(n_rows):
    predictions = np.tile([0.25, 0.75], (n_rows, 1))
    tally = Tally(("a", "b")).with_rows(np.array(["b"] * n_rows), predictions)
    rows = "1 row" if n_rows == 1 else f"{n_rows} rows, each"
    text = Reader(render(EMPTY._replace(tally=tally))).text
    assert f"{rows} predicted before it was learned: 0 % wrong, where" in text
    assert "log-loss 0.288" in text
    assert "nan" not in text


def test_many_classes_have_a_page():
    rng = np.random.default_rng(0)
    classes = [f"class {k:02}" for k in range(26)]
    labels = rng.choice(classes, 2000)
    predictions = rng.dirichlet(np.ones(26), 2000)
    tally = Tally(tuple(classes)).with_rows(labels, predictions)
    weights = [Weight(f"x{k}", name, 1.0, 0.5) for name in classes for k in range(16)]
    points = Points(
        [f"x{k}" for k in range(16)], rng.normal(size=(260, 16)), list(np.repeat(classes, 10))
    )
    page = render(EMPTY._replace(tally=tally, weights=weights, points=points))
    text = Reader(page).text
    assert "predicted probability of the most probable class" in page
    assert "class 00" in text
    assert "Points left out: 230." in text
    assert "Weights left out, less certain: 391." in text
    shares = np.unique(labels, return_counts=True)[1] / 2000
    assert f"{-(shares * np.log(shares)).sum():.3f} the shares of the classes" in text
    assert text.count("class 07") >= 2  # in the table of classes, and in the matrix
    assert '<abbr title="class 07">8</abbr>' in page  # as 26 names across are too wide
    matrix = confusion_matrix(labels, np.array(classes)[predictions.argmax(axis=1)])
    cells = [f">{n if n else '·'}</td>" for n in matrix[7].tolist()]
    assert re.search(
        ">8 <bdi>class 07</bdi></span></th>" + "<td[^>]*".join(["<td[^>]*" + cells[0], *cells[1:]]),
        page,
    )


@pytest.mark.parametrize(
    ("points", "words"),
    [
        (None, "keeps no virtual points"),
        (Points(["x"], np.zeros((0, 1)), []), "keeps none yet"),
        (Points(["x"], np.ones((1, 1)), [""]), "keeps 1 virtual point: rows"),
    ],
)
def test_points_that_there_are_not_are_not_drawn(points, words):
    assert words in Reader(render(EMPTY._replace(points=points))).text


def test_the_page_of_a_large_model_is_small():
    rng = np.random.default_rng(0)
    n_columns, n_experts, n_moments = 1000, 300, 256
    n_rows = 16 * 256 * 64
    predictions = rng.dirichlet([0.5, 0.5], n_rows)
    tally = Tally(("a", "b")).with_rows(rng.choice(["a", "b"], n_rows), predictions)
    columns = [f"{'a long name of a column ' * 12}{k}" for k in range(n_columns)]
    experts = [f"rbf ×{k}, s² 0.1, ε 0.02, half-life 20000" for k in range(n_experts)]
    page = render(
        Report(
            "large",
            {},
            tally,
            [Weight(name, "", 1.0, 0.1) for name in columns],
            Points(columns, rng.normal(size=(200, n_columns)), [""] * 200),
            {"evicted": 1.0},
            [{"expert": name, "weight": 0.1, "awake": True} for name in experts],
            [(128 * (k + 1), dict.fromkeys(experts, 1.0 / n_experts)) for k in range(n_moments)],
            {},
        )
    )
    assert len(page.encode()) < 1_000_000
    text = Reader(page).text
    assert "Weights left out, less certain: 975." in text
    assert "Points left out: 170." in text
    assert "Columns left out, with smaller entries: 988." in text
    assert "Experts left out, of less weight: 288." in text


def test_blocks_of_labels_are_told_and_their_absence_is_not():
    predictions = np.full((200, 2), 0.5)
    for labels, told in ((np.repeat(["a", "b"], 100), True), (np.tile(["a", "b"], 100), False)):
        tally = Tally(("a", "b")).with_rows(labels, predictions)
        page = Reader(render(EMPTY._replace(tally=tally)))
        assert ("Labels came in blocks" in page.text) == told


def test_the_costs_of_errors_are_on_the_page(stream, page):
    labels, predictions = stream
    is_rare = labels == CLASSES[1]
    flagged = predictions[:, 1] > 1 / 11  # where a miss costs ten false alarms
    cost = (flagged & ~is_rare).mean() + 10 * (~flagged & is_rare).mean()
    assert f">{1000 * cost:,.1f}<" in page


def test_more_classes_than_a_matrix_has_room_for_have_their_errors_listed():
    rng = np.random.default_rng(0)
    classes = [f"class {k:02}" for k in range(40)]
    predictions = rng.dirichlet(np.ones(40), 500)
    tally = Tally(tuple(classes)).with_rows(rng.choice(classes, 500), predictions)
    text = Reader(render(EMPTY._replace(tally=tally))).text
    assert "The most frequent errors" in text
    assert "Classes left out: 10." in text
