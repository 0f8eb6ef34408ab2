"""How text is written: in which encoding, with which delimiter, decimal point and quotes."""

from __future__ import annotations

import codecs
import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from virtualvector.escaping import printable
from virtualvector.streams.bad_input import BadInput
from virtualvector.streams.byte_source import begun

DELIMITERS = (",", ";", "\t", "|")  # that are looked for
DECLARED = re.compile(rb"[\r\n]*sep=([,;\t|])(?:\r\n?|\n)", re.IGNORECASE)  # by spreadsheets
_COMPARED = 100  # lines
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_UTF_32 = (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)  # of which one begins as UTF-16 does
_DECIMAL_COMMA = re.compile(r"[+-]?\d+,(\d+)(?:e[+-]?\d+)?", re.IGNORECASE | re.ASCII)
_DECIMAL_POINT = re.compile(r"[+-]?\d*\.\d+(?:e[+-]?\d+)?", re.IGNORECASE | re.ASCII)


class Dialect(NamedTuple):
    """What was said of how text is written; None where nothing was."""

    delimiter: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    header: bool = True  # the first line names the columns
    quote: str | None = None  # "" if there are none

    def check(self) -> None:
        """Raise if nothing can be written so."""
        for option, text in {"--delimiter": self.delimiter, "--decimal": self.decimal}.items():
            if text is not None and (len(text) != 1 or not text.isascii() or text in '\r\n"'):
                raise BadInput(
                    f"{option}: found {text!r}; expected one ASCII character, such as ;."
                )
        if self.quote is not None and (len(self.quote) > 1 or not self.quote.isascii()):
            raise BadInput(f"--quote: found {self.quote!r}; expected one ASCII character, or none.")
        if self.decimal not in (None, ".", ","):
            raise BadInput(f"--decimal: found {self.decimal!r}; expected . or ,.")
        if self.decimal is not None and self.decimal == self.delimiter:
            raise BadInput(
                f"--decimal: found {self.decimal!r}, which is the delimiter, too; expected another."
            )
        try:
            codecs.lookup(self.encoding or "utf-8")
        except (LookupError, ValueError) as error:
            raise BadInput(
                f"--encoding: found {self.encoding!r}; expected one that Python knows, such as "
                "latin-1 or cp1252."
            ) from error


def decoded(
    name: str, blocks: Iterator[bytes], encoding: str | None
) -> tuple[Iterator[bytes], list[str]]:
    """Return text in UTF-8, and what was found out about it."""
    notes: list[str] = []
    if encoding is None:
        begin, blocks = begun(blocks, lambda begin: len(begin) >= len(_UTF_32[0]))
        if begin.startswith((*_UTF_16, *_UTF_32)):
            encoding = "utf-32" if begin.startswith(_UTF_32) else "utf-16"
            notes.append(f"{name}: text is in {encoding.upper()} (--encoding)")
    if encoding is None or codecs.lookup(encoding).name == "utf-8":
        return blocks, notes
    return _recoded(name, blocks, encoding), notes


def _recoded(name: str, blocks: Iterable[bytes], encoding: str) -> Iterator[bytes]:
    decoder = codecs.getincrementaldecoder(encoding)()
    try:
        for block in blocks:
            yield decoder.decode(block).encode()
        yield decoder.decode(b"", final=True).encode()
    except UnicodeError as error:
        raise BadInput(
            f"{name}: found bytes that are no {printable(encoding, 40)}; expected text in it "
            "(--encoding)."
        ) from error


def delimiters_in(header: bytes) -> list[str]:
    r"""Return the delimiters that a header may have: those outside quotes.

    Examples
    --------
    >>> from virtualvector.streams.dialect import delimiters_in
    >>> delimiters_in(b"a;b"), delimiters_in(b"a;b,c"), delimiters_in(b'"a;b"')
    ([';'], [',', ';'], [])
    """
    bare = re.sub(rb'"[^"]*"', b"", header)
    return [sign for sign in DELIMITERS if sign.encode() in bare]


def fitting(delimiters: Sequence[str], lines: Sequence[bytes], quote: str | None) -> list[str]:
    """Return the delimiters by which most lines have as many fields as the first one.

    If all lines have so many by one of them alone, it is that one.

    Examples
    --------
    >>> from virtualvector.streams.dialect import fitting
    >>> fitting([",", ";"], [b"a;b, in cm", b"1;2", b"2;3"], None)
    [';']
    >>> fitting([",", ";"], [b"a;b,c", b"1;2,3", b"2;3,4", b"5,6"], None)
    [',']
    """
    texts = [line.decode("utf-8", "replace") for line in lines[:_COMPARED]]

    def share(delimiter: str) -> float:
        sign = '"' if quote is None else quote
        fields = csv.reader(
            texts,
            delimiter=delimiter,
            quotechar=sign or None,
            quoting=csv.QUOTE_MINIMAL if sign else csv.QUOTE_NONE,
        )
        try:
            first, *others = map(len, fields)
        except csv.Error:  # a line end in what would be no quotes
            return 0.0
        return others.count(first) / len(others) if others else 1.0

    shares = {delimiter: share(delimiter) for delimiter in delimiters}
    whole = [delimiter for delimiter in delimiters if shares[delimiter] == 1.0]
    most = [delimiter for delimiter in delimiters if shares[delimiter] > 0.5]
    return whole if len(whole) == 1 else most


def has_decimal_comma(columns: Iterable[list[str]]) -> bool:
    """Whether numbers are written as 1,5, without a doubt: 1,234 alone might be a thousand.

    Examples
    --------
    >>> from virtualvector.streams.dialect import has_decimal_comma
    >>> has_decimal_comma([["1,5", "2"]]), has_decimal_comma([["1,234"]])
    (True, False)
    """
    sure = False
    for cells in columns:
        n_points = sum(_DECIMAL_POINT.fullmatch(cell) is not None for cell in cells)
        matches = list(filter(None, map(_DECIMAL_COMMA.fullmatch, cells)))
        whole = sum(cell.lstrip("+-").isdigit() for cell in cells)
        if 2 * (n_points + len(matches) + whole) > len(cells):  # a column of numbers
            if n_points:
                return False
            sure = sure or any(len(match[1]) != 3 for match in matches)
    return sure
