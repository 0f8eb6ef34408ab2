"""Files that say something wrong, with a checksum that is right."""

from __future__ import annotations

import hashlib
import json

from virtualvector.persistence.document import from_bytes, to_bytes

BLANK = b"0" * 64


def changed(contents, document=None, arrays=None):
    """A model file after functions have changed its document and its arrays."""
    words, numbers = from_bytes(contents)
    if document:
        document(words)
    if arrays:
        arrays(numbers)
    return to_bytes(words, numbers)


def sealed(header, data=b""):
    """Any bytes as a file's header and arrays; zeros for a checksum become the right one."""
    contents = len(header).to_bytes(8, "little") + header + data
    return contents.replace(BLANK, hashlib.sha256(contents).hexdigest().encode(), 1)


def header_and_data(contents):
    """The header of a model file, its checksum blank, as a dictionary; and the bytes behind it."""
    length = int.from_bytes(contents[:8], "little")
    header = json.loads(contents[8 : 8 + length])
    text = header["__metadata__"]["virtualvector"]
    checksum = json.loads(text)["checksum"]
    header["__metadata__"]["virtualvector"] = text.replace(checksum, BLANK.decode(), 1)
    return header, contents[8 + length :]


def with_header(contents, change):
    """A model file after a function has changed what safetensors says of its arrays."""
    header, data = header_and_data(contents)
    change(header)
    return sealed(compact(header), data)


def with_text(contents, old, new):
    """A model file after a replacement in the JSON document."""
    header, data = header_and_data(contents)
    text = header["__metadata__"]["virtualvector"]
    assert old in text
    header["__metadata__"]["virtualvector"] = text.replace(old, new, 1)
    return sealed(compact(header), data)


def compact(header):
    return json.dumps(header, separators=(",", ":")).encode()


def setting_of(*places, to):
    """A function that puts something at a place of a document."""

    def change(document):
        *way, last = places
        for place in way:
            document = document[place]
        assert last in document or isinstance(document, list)
        document[last] = to

    return change
