"""Text from outside goes where it goes without doing anything there."""

import json
import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from virtualvector.escaping import as_json, cell, from_cell, printable, quoted

ANY = st.text(st.characters(exclude_categories=()), max_size=50)


@given(ANY)
def test_what_is_printed_has_nothing_that_a_terminal_obeys(text):
    shown = printable(text)
    assert not any(unicodedata.category(sign) in ("Cc", "Cf", "Cs", "Zl", "Zp") for sign in shown)
    shown.encode()  # no half characters
    assert printable(shown) == shown


@given(ANY)
def test_what_can_be_seen_is_printed_as_it_is(text):
    plain = "".join(sign for sign in text if sign.isprintable())
    assert printable(plain) == plain


@given(ANY, st.integers(5, 40))
def test_only_so_much_is_printed(text, most):
    assert len(printable("ä" * 100 + text, most)) == most
    assert len(quoted("ä" * 100 + text, most)) == most + 2


@given(ANY | st.text("=+-@'1e.\t\r", max_size=6))
def test_cells_are_no_formulas_and_can_be_read_back(text):
    written = cell(text)
    assert from_cell(written) == text
    if len(written) > 1 and written[0] in "=+-@\t\r":
        float(written)  # a number, which is none
    if text[:1] not in tuple("=+-@\t\r\n'＝＋－＠"):
        assert written == text


def test_numbers_and_signs_are_cells_as_they_are():
    for text in ("-1", "+1", "-1.5e-3", "-inf", "-", "+", "'", "", "no", "2"):
        assert cell(text) == text


@given(st.dictionaries(ANY, ANY, max_size=3))
def test_json_says_the_same_and_can_be_shown_and_written(value):
    text = as_json(value)
    assert json.loads(text) == value
    assert text.replace("\n", "").isprintable()
    text.encode()
