"""What a file says of its model before the model is made; cheap to read."""

from __future__ import annotations

from typing import Any, NamedTuple, get_type_hints

from virtualvector.persistence.errors import Misfit, shortly
from virtualvector.persistence.tree import unpack
from virtualvector.persistence.upgrade import with_header

FORMAT = 11


class Header(NamedTuple):
    """The part of a file's document that is for people, and for all learners alike."""

    format: int
    program: str
    learner: str
    parameters: dict[str, Any]
    n_columns: int
    columns: list[str] | None  # names
    classes: list[Any]
    counters: dict[str, Any]
    about: dict[str, Any] | None  # notes of whoever saved it
    processor: str  # the kind that it was learned on


def split(document: dict[str, Any]) -> tuple[Header, Any]:
    """Return the header of a document, and the rest, which is what was learned."""
    found = document.get("format")
    if type(found) is not int or not 1 <= found <= FORMAT:
        raise Misfit(
            f"found format {shortly(found)}; expected 1 to {FORMAT}: a later version may have "
            "written it"
        )
    rest = with_header(found, document)
    state = rest.pop("state", None)
    return Header(**unpack(rest, {}, get_type_hints(Header))), state
