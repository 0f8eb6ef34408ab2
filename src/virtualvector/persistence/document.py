r"""The bytes of a model file: a JSON document and arrays, as safetensors, with a checksum.

The document is the one entry of the file's metadata. It begins with the checksum: the SHA-256 of
the whole file with zeros in place of the checksum itself. So every byte counts, padding included,
and a file is known to be whole before anything in it is parsed.

    <length>{"__metadata__":{"virtualvector":"{\"checksum\":\"…\",…}"},"<name>":{…},…}<arrays>

The same document and arrays always give the same bytes.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load

from virtualvector.persistence.errors import Misfit, shortly

KEY = "virtualvector"
DTYPES = ("BOOL", "F64", "I64")  # as safetensors has them, from the last to the first
_KINDS = {"b": "BOOL", "f": "F64", "i": "I64"}
LONGEST_HEADER = 16 * 2**20  # bytes
DEEPEST = 40  # JSON within JSON
MOST_MARKS = 2**21  # of JSON's punctuation: each may cost up to fifty bytes of memory

_BLANK = b"0" * 64
_CHECKSUM = re.compile(
    rb'\{"__metadata__":\{"virtualvector":"\{\\"checksum\\":\\"([0-9a-f]{64})\\"'
)
_WRITERS = "as vvm learn and `save` write it"
_DELIMITERS = (b",", b";", b"\t", b"|")
_OTHERS = {
    b"PAR1": "a Parquet file",
    b"ARROW1": "an Arrow file",
    b"\x1f\x8b": "a compressed file",
    b"\x28\xb5\x2f\xfd": "a compressed file",
    b"PK\x03\x04": "a zip file",
    b"\x80": "a pickle",
}
_TEXT = bytes({*range(0x20, 0x100), *b"\t\r\n"} - {0x7F})
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_TEXTS = re.compile(rb'"(?:[^"\\]|\\.)*+"?', re.DOTALL)

Arrays = dict[str, NDArray[Any]]


def to_bytes(document: dict[str, Any], arrays: Arrays) -> bytes:
    """Return the file that holds a document and arrays.

    Examples
    --------
    >>> import numpy as np
    >>> from virtualvector.persistence.document import from_bytes, to_bytes
    >>> contents = to_bytes({"colour": "red"}, {"weights": np.arange(3.0)})
    >>> from_bytes(contents)
    ({'colour': 'red'}, {'weights': array([0., 1., 2.])})
    """
    return b"".join(parts_of(document, arrays))


def parts_of(document: dict[str, Any], arrays: Arrays) -> list[Any]:
    """Return the same in parts, of which those that are arrays are not copied."""
    inner = json.dumps(document, sort_keys=True, allow_nan=False, separators=(",", ":"))
    text = f'{{"checksum":"{_BLANK.decode()}",{inner[1:]}'
    header, *parts = _laid_out({KEY: text}, arrays)
    blank = hashlib.sha256(header)
    for part in parts:
        blank.update(part)
    place = _place_of_checksum(header)
    header = header[: place.start] + blank.hexdigest().encode() + header[place.stop :]
    _parsed(header)  # what cannot be read is not written
    return [header, *parts]


def _laid_out(metadata: dict[str, str], arrays: Arrays) -> Iterator[Any]:
    """Yield what `safetensors.numpy.save` would join: the header, then the bytes of each array.

    It would copy all arrays twice, and a model may take most of the memory that there is.
    """
    arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    kinds = {name: _KINDS[array.dtype.kind] for name, array in arrays.items()}
    order = sorted(arrays, key=lambda name: (-DTYPES.index(kinds[name]), name))
    entries, start = {}, 0
    for name in order:
        stop = start + arrays[name].nbytes
        shape = list(arrays[name].shape)
        entries[name] = {"dtype": kinds[name], "shape": shape, "data_offsets": [start, stop]}
        start = stop
    header = json.dumps(
        {"__metadata__": metadata} | entries, ensure_ascii=False, separators=(",", ":")
    ).encode()
    header += b" " * (-len(header) % 8)
    yield len(header).to_bytes(8, "little") + header
    for name in order:
        little = arrays[name].dtype.newbyteorder("<")
        yield arrays[name].astype(little, copy=False).reshape(-1).view(np.uint8)


def from_bytes(contents: bytes) -> tuple[dict[str, Any], Arrays]:
    """Return the document and the arrays of a file; raise `Misfit` unless it is whole and ours."""
    document, names = _checked_header(contents)
    try:
        arrays = load(contents)
    except SafetensorError as error:
        raise Misfit(f"found arrays that are not laid out as they should be ({error})") from None
    if arrays.keys() != names:
        raise Misfit("found arrays other than those named")
    return document, {
        name: np.require(array, requirements=["C", "A", "W"]) for name, array in arrays.items()
    }


def read_document(contents: bytes) -> dict[str, Any]:
    """Return the document of a file without its arrays, checked as well."""
    return _checked_header(contents)[0]


def _checked_header(contents: bytes) -> tuple[dict[str, Any], set[str]]:
    place = _place_of_checksum(contents)
    blanked = hashlib.sha256(memoryview(contents)[: place.start])
    blanked.update(_BLANK)
    blanked.update(memoryview(contents)[place.stop :])
    if blanked.hexdigest().encode() != contents[place]:
        raise Misfit(
            "found contents that do not match their checksum; expected a whole file: it was cut "
            "off, changed or damaged"
        )
    return _parsed(contents)


def _parsed(contents: bytes) -> tuple[dict[str, Any], set[str]]:
    """Return the document and the names of the arrays that a file begins with."""
    header = parse(_header(contents))
    metadata = header.pop("__metadata__")
    if metadata.keys() != {KEY}:
        raise Misfit(f"found metadata beside {KEY!r}; expected none")
    for name, entry in header.items():
        _check_entry(name, entry)
    document = parse(metadata[KEY].encode(errors="surrogatepass"))
    del document["checksum"]
    return document, set(header)


def _header(contents: bytes) -> bytes:
    if contents[8:9] != b"{":
        raise Misfit(f"found {_kind_of(contents)}; expected a model file, {_WRITERS}")
    length = int.from_bytes(contents[:8], "little")
    if not 0 < length <= min(len(contents) - 8, LONGEST_HEADER):
        raise Misfit(
            f"found {len(contents):,} bytes with a header of {length:,}; expected a whole model "
            f"file with a header of at most {LONGEST_HEADER:,}"
        )
    return contents[8 : 8 + length]


def _kind_of(contents: bytes) -> str:
    """Return what a file is that is no model, as far as its beginning tells."""
    if not contents:
        return "an empty file"
    for magic, kind in _OTHERS.items():
        if contents.startswith(magic):
            return kind
    beginning = contents[:10_000]
    if beginning.translate(None, delete=_TEXT):
        return "something else"
    first, *others = [line for line in beginning.splitlines() if line.strip()] or [b""]
    second = others[0] if others else first
    is_table = any(first.count(sign) == second.count(sign) > 0 for sign in _DELIMITERS)
    return "text that looks like CSV" if is_table else "text"


def _place_of_checksum(contents: bytes) -> slice:
    found = _CHECKSUM.match(_header(contents))
    if not found:
        raise Misfit(f"found something else; expected a model file, {_WRITERS}")
    return slice(8 + found.start(1), 8 + found.end(1))


def _check_entry(name: str, entry: Any) -> None:
    whole = isinstance(entry, dict) and entry.keys() == {"dtype", "shape", "data_offsets"}
    if not whole or entry["dtype"] not in DTYPES or not isinstance(entry["shape"], list):
        raise Misfit(f"array {shortly(name)}: found {shortly(entry)}; expected one of {DTYPES}")


def parse(text: bytes) -> dict[str, Any]:
    """Return a JSON object that is neither too deep nor too large, names nothing twice, no nan."""
    marks = sum(text.count(mark) for mark in (b"[", b"]", b"{", b"}", b",", b'"'))
    if marks > MOST_MARKS:
        raise Misfit(f"found JSON with {marks:,} marks; expected at most {MOST_MARKS:,}")
    brackets = _TEXTS.sub(b"", text).translate(None, delete=_NO_BRACKETS)
    steps = np.isin(np.frombuffer(brackets, np.uint8), list(b"[{")) * 2 - 1
    deepest = int(np.max(np.cumsum(steps), initial=0))
    if deepest > DEEPEST:
        raise Misfit(f"found JSON that is nested {deepest:,} deep; expected at most {DEEPEST}")
    try:
        document = json.loads(text, object_pairs_hook=_object, parse_constant=_no_constant)
    except Misfit:
        raise
    except ValueError as error:
        raise Misfit(f"found JSON that cannot be read ({error})") from None
    if not isinstance(document, dict):
        raise Misfit("found JSON without names; expected an object")
    return document


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    named = dict(pairs)
    if len(named) < len(pairs):
        raise Misfit("found JSON that names something twice")
    return named


def _no_constant(name: str) -> None:
    raise Misfit(f"found {name}; expected a finite number")
