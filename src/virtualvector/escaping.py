"""Text from outside, made fit for where it goes: a screen, a spreadsheet, JSON, a picture.

Names of columns, classes and files are anybody's. What is learned and saved are the names as they
are; only what is shown or written for other programs goes through here.
"""

from __future__ import annotations

import json
import re
import shlex
from typing import Any

LONGEST_MESSAGE = 2000  # characters

# Text of matplotlib that is drawn as it is, though it may look like a formula.
AS_IT_IS: dict[str, Any] = {"parse_math": False, "usetex": False}

# A cell that begins so, and goes on, is a formula to a spreadsheet, whether in quotes or not.
_FORMULA = re.compile(r"'*[=+\-@\t\r\n＝＋－＠].", re.DOTALL)


def printable(text: str, most: int = LONGEST_MESSAGE) -> str:
    r"""Return a text that a screen shows and does nothing else with, and only so much of it.

    What cannot be seen, such as the beginning of an escape sequence, a mark that turns the
    direction of writing or half a character, is written as Python would. The rest stays as it is.

    Examples
    --------
    >>> from virtualvector.escaping import printable
    >>> print(printable("\x1b[31mred\x1b[0m, [red] and größer"))
    \x1b[31mred\x1b[0m, [red] and größer
    >>> printable("abc" * 100, 10)
    'abcabcabc…'
    """
    if len(text) > most:
        text = text[: most - 1] + "…"
    if text.isprintable():
        return text
    return "".join(sign if sign.isprintable() else _visible(sign) for sign in text)


def quoted(text: str, most: int = 100) -> str:
    """Return a text in quotes, and only its beginning if it is long.

    Examples
    --------
    >>> from virtualvector.escaping import quoted
    >>> print(quoted("it's"), quoted("abc" * 100, 10))
    "it's" 'abcabca...'
    """
    return repr(text if len(text) <= most else text[: most - 3] + "...")


def argument(text: str, most: int = 100) -> str:
    r"""Return a text as it is given to an option on the command line, among others or alone.

    Examples
    --------
    >>> from virtualvector.escaping import argument
    >>> print(argument("age"), argument("is on"), argument("Ort, Kreis"))
    age 'is on' '"Ort, Kreis"'
    """
    if "," in text or text[:1] == '"' or text.strip() != text:
        text = '"' + text.replace('"', '""') + '"'
    return printable(shlex.quote(text), most)


def in_a_list(text: str, most: int = LONGEST_MESSAGE) -> str:
    """Return a text to be listed between commas: in quotes if it would look like two, or like none.

    Examples
    --------
    >>> from virtualvector.escaping import in_a_list
    >>> print(", ".join(in_a_list(name) for name in ("a", "b, c", " d", "it's")))
    a, 'b, c', ' d', it's
    """
    as_it_is = text == text.strip() != "" and "," not in text and text[0] not in "'\""
    return printable(text, most) if as_it_is else quoted(text, most)


def counted(number: int, noun: str) -> str:
    """Return how many there are of something, one or several.

    Examples
    --------
    >>> from virtualvector.escaping import counted
    >>> counted(1, "row"), counted(4601, "row"), counted(2, "class")
    ('1 row', '4,601 rows', '2 classes')
    """
    plural = noun + ("es" if noun.endswith("s") else "s")
    return f"{number:,} {noun if number == 1 else plural}"


def cell(text: str) -> str:
    """Return a text as a cell of CSV that no spreadsheet takes for a formula.

    One that begins with ``=``, ``+``, ``-``, ``@``, a tab or a line end and goes on, and is no
    number, gets an apostrophe in front; so does one that already has apostrophes there, so that
    `from_cell` finds the text again. All others stay as they are.

    Examples
    --------
    >>> from virtualvector.escaping import cell
    >>> cell("=1+1"), cell("-1"), cell("-"), cell("'tis"), cell("'=1+1")
    ("'=1+1", '-1', '-', "'tis", "''=1+1")
    """
    return "'" + text if _is_formula(text) else text


def from_cell(text: str) -> str:
    """Return the text that `cell` was given.

    Examples
    --------
    >>> from virtualvector.escaping import cell, from_cell
    >>> [from_cell(cell(text)) for text in ("=1+1", "-1", "'tis", "'=1+1")]
    ['=1+1', '-1', "'tis", "'=1+1"]
    """
    return text[1:] if text.startswith("'") and _is_formula(text) else text


def as_json(value: Any) -> str:
    r"""Return JSON for people and machines: letters as they are, what cannot be seen by its number.

    Examples
    --------
    >>> from virtualvector.escaping import as_json
    >>> print(as_json({"größer": "\x9b31m"}))
    {
      "größer": "\u009b31m"
    }
    """
    text = json.dumps(value, indent=2, ensure_ascii=False)
    if text.replace("\n", "").isprintable():
        return text
    return "".join(
        sign if sign == "\n" or sign.isprintable() else json.dumps(sign)[1:-1] for sign in text
    )


def _is_formula(text: str) -> bool:
    if not _FORMULA.match(text):
        return False
    try:
        float(text)
    except ValueError:
        return True
    return False


def _visible(sign: str) -> str:
    return repr(sign)[1:-1]
