"""One spelling for each value, whatever file, library or type it comes through.

A value is missing, a number, a time, or a category. Whoever reads a table asks here what a cell is.
"""

from __future__ import annotations

import datetime as dt
import re
from collections import Counter
from collections.abc import Iterable
from decimal import Decimal
from functools import cached_property, lru_cache
from math import isfinite
from numbers import Real
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Kind = Literal["number", "category", "time", "text", "sparse"]
Times = NDArray[np.datetime64]  # in microseconds, UTC

BLANKS = " \t"  # which do not count around a text
PEEK = 100  # values that decide what a column holds

# What stands for a missing value, in any case; in columns of numbers and times these, too.
MISSING = ("", "NA", "N/A", "#N/A", "#NA", "<NA>", "NULL", "NaN", "NaT", "None", "?")
MISSING_NUMBERS = ("-", "--", ".")
_CLASSES = ("None",)  # which a label may well be

_CODE = re.compile(r"\s*[+-]?0\d", re.ASCII)
_SHORT = 1000  # characters of a number
_LONG = 64  # characters of a text that is not looked at more closely
_NUMBER = re.compile(
    r"[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|[+-]?(?:nan|inf|infinity)", re.IGNORECASE | re.ASCII
)
# Zeros that a number would not have make a code of it, or a version: 007, 1.10.
_PLAIN_NUMBER = re.compile(
    r"[+-]?(?:0|[1-9]\d*)(?:\.0*|\.\d*[1-9])?(?:e[+-]?\d+)?", re.IGNORECASE | re.ASCII
)
_TIME = re.compile(
    r"(?P<date>\d{4}[-/]\d\d[-/]\d\d)(?:[T ](?P<clock>\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?)"
    r"(?P<zone>Z| ?UTC|[+-]\d\d(?::?\d\d)?)?)?"
    r"|(?P<alone>\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?)",
    re.IGNORECASE | re.ASCII,
)
_EPOCH = dt.datetime(1970, 1, 1)
_FIRST_DAY = _EPOCH.toordinal()
_MICROSECOND = dt.timedelta(microseconds=1)
_FIRST, _LAST = ((each - _EPOCH) // _MICROSECOND for each in (dt.datetime.min, dt.datetime.max))
_PER_MICROSECOND = {"W": 604_800_000_000, "D": 86_400_000_000, "h": 3_600_000_000, "m": 60_000_000,
                    "s": 1_000_000, "ms": 1_000, "us": 1}  # fmt: skip
_FINER = {"ns": 1_000, "ps": 1_000_000, "fs": 1_000_000_000, "as": 1_000_000_000_000}


class Marks:
    """The texts that stand for a missing value: the usual ones, and some more.

    Examples
    --------
    >>> from virtualvector.values import Marks
    >>> marks = Marks(["unknown", "-999"])
    >>> "null" in marks, "Unknown" in marks, "-" in marks, "-" in marks.of_numbers
    (True, True, False, True)
    >>> "none" in marks, "none" in marks.of_labels, marks.numbers
    (True, False, [-999.0])
    """

    def __init__(self, more: Iterable[Any] = ()) -> None:
        self.more = tuple(str(text).strip(BLANKS) for text in more)
        self._known = {text.casefold() for text in (*MISSING, *self.more)}

    @property
    def texts(self) -> tuple[str, ...]:
        """All of them, as they are usually written."""
        return (*MISSING, *self.more)

    def __contains__(self, text: str) -> bool:
        return text.casefold() in self._known

    @cached_property
    def of_numbers(self) -> Marks:
        """Those of a column of numbers or times."""
        return Marks((*self.more, *MISSING_NUMBERS))

    @cached_property
    def of_labels(self) -> Marks:
        """Those of labels."""
        fewer = Marks(self.more)
        chosen = {text.casefold() for text in self.more}
        fewer._known -= {text.casefold() for text in _CLASSES} - chosen
        return fewer

    @cached_property
    def numbers(self) -> list[float]:
        """Those that are numbers."""
        found = map(number_in, self.more)
        return [number for number in found if number is not None]


USUAL = Marks()


def is_missing(value: Any) -> bool:
    """Whether a value stands for none: None, pandas' NA, or nan.

    Examples
    --------
    >>> from virtualvector.values import is_missing
    >>> is_missing(None), is_missing(float("nan")), is_missing("nan"), is_missing(0)
    (True, True, False, False)
    """
    if value is None or type(value).__name__ == "NAType":
        return True
    other = value != value
    return other is not False and bool(np.any(other))


def number_in(text: str) -> float | None:
    """Return the number that a text is, which need not be finite, or None.

    Just what Arrow takes for one; Python takes more, such as 1_000.

    Examples
    --------
    >>> from virtualvector.values import number_in
    >>> number_in(" 1e3"), number_in("-inf"), number_in("1_000")
    (1000.0, -inf, None)
    """
    text = text.strip(BLANKS)
    if len(text) > _SHORT:  # of long ones, Python's ways take the square of their length
        return _long_number(text)
    return float(text) if _NUMBER.fullmatch(text) else None


def _long_number(text: str) -> float | None:
    import pyarrow as pa

    try:
        number: float = pa.scalar(text).cast(pa.float64()).as_py()
    except pa.ArrowInvalid:
        return None
    return number


def time_in(text: str) -> int | None:
    """Return the time that a text is, in microseconds since 1970 in UTC, or None.

    Dates come as year, month and day. A time without a zone is taken as it is, and one without a
    date is of the first day.

    Examples
    --------
    >>> from virtualvector.values import time_in
    >>> time_in("1970-01-02"), time_in("1970-01-01 00:00:01.5Z"), time_in("1970-01-01T01:00+01:00")
    (86400000000, 1500000, 0)
    >>> time_in("00:01"), time_in("03/04/2021"), time_in("2021-02-30")
    (60000000, None, None)
    """
    match = _TIME.fullmatch(text.strip(BLANKS))
    if match is None:
        return None
    date, clock, zone, alone = match["date"], match["clock"], match["zone"], match["alone"]
    iso = "1970-01-01" if alone else date.replace("/", "-")
    if clock or alone:
        iso += "T" + (clock or alone).replace(",", ".")
    if zone:
        iso += zone if zone[0] in "+-" else "+00:00"
    try:
        moment = dt.datetime.fromisoformat(iso)
        return _microseconds(moment)
    except (ValueError, OverflowError):
        return None


def _microseconds(moment: dt.datetime) -> int:
    if moment.tzinfo is not None:
        moment = moment.astimezone(dt.UTC).replace(tzinfo=None)
    # By its parts: a difference of pandas' times takes forty times as long.
    minutes = (moment.toordinal() - _FIRST_DAY) * 1440 + moment.hour * 60 + moment.minute
    return (minutes * 60 + moment.second) * 1_000_000 + moment.microsecond


def time_of(value: Any) -> int | None:
    """Return the time that a value is, as `time_in`, or None if it is none.

    Examples
    --------
    >>> import datetime
    >>> from virtualvector.values import time_of
    >>> time_of(datetime.date(1970, 1, 2)), time_of(5)
    (86400000000, None)
    """
    if isinstance(value, str):
        return time_in(value)
    if isinstance(value, dt.datetime):
        return _microseconds(value)
    if isinstance(value, dt.date):
        return _microseconds(dt.datetime(value.year, value.month, value.day))
    if isinstance(value, dt.time):
        return _microseconds(dt.datetime.combine(_EPOCH, value))
    if isinstance(value, np.datetime64):
        return int(in_microseconds(np.array([value])).astype(np.int64)[0])
    return None


def in_microseconds(times: Times) -> Times:
    """Return times of any unit in microseconds; raise OverflowError beyond the years 1 to 9999.

    Examples
    --------
    >>> import numpy as np
    >>> from virtualvector.values import in_microseconds
    >>> in_microseconds(np.array(["2021-05-06", "NaT"], "M8[D]")).astype(str).tolist()
    ['2021-05-06T00:00:00.000000', 'NaT']
    """
    unit, step = np.datetime_data(times.dtype)
    if unit == "generic" or unit in ("Y", "M") or step != 1:
        unit, times = "s", times.astype("M8[s]")
    whole, there = times.astype(np.int64), ~np.isnat(times)
    if unit in _FINER:
        whole = np.where(there, whole // _FINER[unit], whole)
        per = 1
    else:
        per = _PER_MICROSECOND[unit]
    if np.any(there & ((whole < _FIRST // per) | (whole > _LAST // per))):
        raise OverflowError("found a time beyond the years 1 to 9999")
    result = np.full(len(times), "NaT", "M8[us]")
    result[there] = (whole[there] * per).view("M8[us]")
    return result


def category(value: Any, marks: Marks = USUAL) -> str:
    """Return a value as a category, "" if it is missing.

    Truth values are in small letters, numbers as short as can be, times as in ISO 8601; blanks
    around a text do not count.

    Examples
    --------
    >>> from virtualvector.values import category
    >>> category(True), category("TRUE"), category(3.0), category("3.0"), category(" Ulm")
    ('true', 'true', '3', '3', 'Ulm')
    >>> category("007"), category("1.10"), category("n/a"), category(None)
    ('007', '1.10', '', '')
    """
    if not isinstance(value, str) and is_missing(value):
        return ""
    text = spelled(value)
    return "" if text in marks else text


def is_quoted_number(text: str) -> bool:
    """Whether a text is a number to people, and not a code with zeros in front.

    Examples
    --------
    >>> from virtualvector.values import is_quoted_number
    >>> [is_quoted_number(text) for text in ("12.50", "3", "007", "A7")]
    [True, True, False, False]
    """
    return not _CODE.match(text) and number_in(text) is not None


def is_one_value(value: Any) -> bool:
    """Whether a value can be a category: neither a collection nor known by its address alone.

    Examples
    --------
    >>> from uuid import UUID
    >>> from virtualvector.values import is_one_value
    >>> is_one_value("red"), is_one_value(3), is_one_value(UUID(int=1))
    (True, True, True)
    >>> is_one_value([1, 2]), is_one_value({"red": 1}), is_one_value(object()), is_one_value(2j)
    (False, False, False, False)
    """
    if isinstance(value, str | bytes | Real | Decimal):
        return True
    kind: Any = type(value)
    has_text = kind.__str__ is not object.__str__ or kind.__repr__ is not object.__repr__
    return has_text and not isinstance(value, Iterable | complex)


def spelled(value: Any) -> str:
    """Return a value that is not missing as text, the same for all that mean the same.

    Examples
    --------
    >>> import datetime
    >>> from virtualvector.values import spelled
    >>> spelled("none"), spelled(2.50), spelled(datetime.date(2021, 5, 6))
    ('none', '2.5', '2021-05-06')
    """
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    time = None if isinstance(value, str) else time_of(value)
    text = (str(value) if time is None else iso(time)).strip(BLANKS)
    return text if len(text) > _LONG else _spelled(text)


@lru_cache(2**14)
def _spelled(text: str) -> str:
    if text.casefold() in ("true", "false"):
        return text.casefold()
    if not text[:1].isdigit() and text[:1] not in "+-":
        return text
    if _PLAIN_NUMBER.fullmatch(text):
        return _short_number(text)
    time = time_in(text)
    return text if time is None else iso(time)


def _short_number(text: str) -> str:
    digits = text.removeprefix("+")
    if digits.removeprefix("-").isdigit():
        return "0" if digits == "-0" else digits  # however many there are
    number = float(text)
    if not isfinite(number):
        return text
    return str(int(number)) if number.is_integer() and abs(number) < 2**53 else repr(number)


def iso(microseconds: int) -> str:
    """Return a time as text, a day by its date alone.

    Examples
    --------
    >>> from virtualvector.values import iso
    >>> iso(0), iso(1_500_000)
    ('1970-01-01', '1970-01-01T00:00:01.500000')
    """
    moment = _EPOCH + microseconds * _MICROSECOND
    is_midnight = moment.time() == dt.time()
    return moment.date().isoformat() if is_midnight else moment.isoformat()


def kind_of(values: Iterable[Any]) -> Kind:
    """Return what most of some values are, none of which is missing; numbers if there are none.

    Texts and truth values are categories, unless a text is a time. A number in quotes is a text.

    Examples
    --------
    >>> from virtualvector.values import kind_of
    >>> kind_of([1, 2.5, "oops"]), kind_of(["1", "2"]), kind_of(["2021-05-06"])
    ('number', 'category', 'time')
    """
    return most_of(map(_kind, values))


def most_of(kinds: Iterable[Kind]) -> Kind:
    """Return what there is most of: more than half of all, or else categories."""
    counts = Counter(kinds)
    for kind in ("number", "time"):
        if 2 * counts[kind] > counts.total():
            return kind
    return "category" if counts else "number"


def _kind(value: Any) -> Kind:
    if isinstance(value, bool | np.bool_):
        return "category"
    if isinstance(value, Real | Decimal):
        return "number"
    return "category" if time_of(value) is None else "time"
