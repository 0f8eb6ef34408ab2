"""The report says what the summaries say, and needs nothing else to be read."""

import json
import re

import pytest

from virtualvector.paper.report import write_report

PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c49444154789c63f8ff"
    "ff3f0005fe02fe0def46b80000000049454e44ae426082"
)


def summary(name, **changes):
    return {
        "name": name,
        "title": f"The title of {name}",
        "caption": "What is seen.",
        "seed": 3,
        "quick": False,
        "versions": {"numpy": "9.9"},
        "statements": [
            {"paper": "A is 1 | 2.", "ours": "A is 1.", "holds": True},
            {"paper": "B is best.", "ours": "B is worst.", "holds": False},
            {"paper": "Nothing of C.", "ours": "C is 3.", "holds": None},
        ],
        "remarks": ["First remark.", "Second remark."],
    } | changes


@pytest.fixture
def report(tmp_path):
    def write(*summaries):
        for each in summaries:
            (tmp_path / f"{each['name']}.json").write_text(json.dumps(each))
            (tmp_path / f"{each['name']}.png").write_bytes(PIXEL)
        write_report(tmp_path, ["one", "two", "three"], "vvm reproduce all --seed 3")
        return (tmp_path / "report.md").read_text(), (tmp_path / "report.html").read_text()

    return write


def test_every_statement_has_its_verdict(report):
    text, _ = report(summary("one"))
    assert r"| A is 1 \| 2. | A is 1. | reproduced |" in text
    assert "| B is best. | B is worst. | **not reproduced** |" in text
    assert "| Nothing of C. | C is 3. | not stated |" in text
    assert "First remark." in text
    assert "    vvm reproduce all --seed 3" in text


def test_verdicts_are_counted(report):
    text, _ = report(summary("one"), summary("two", statements=[]))
    assert "| [The title of one](#experiment-one) | 1 | 1 | 1 |" in text
    assert "| [The title of two](#experiment-two) | 0 | 0 | 0 |" in text
    assert "three" not in text


def test_the_page_needs_no_other_file_and_no_network(report):
    _, page = report(summary("one"), summary("two"))
    sources = re.findall(r'src="([^"]{0,30})', page)
    assert len(sources) == 2
    assert all(source.startswith("data:image/png;base64,") for source in sources)
    assert "://" not in page
    assert page.count("<table>") == 3
    assert "<td>A is 1 | 2.</td>" in page


def test_quick_results_are_called_so(report):
    assert "too small to judge" not in report(summary("one"))[0]
    assert "too small to judge" in report(summary("one"), summary("two", quick=True))[0]
