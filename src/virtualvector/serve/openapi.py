"""What can be asked of a service, as OpenAPI describes it, with examples that work."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from virtualvector.serve.bodies import LONGEST_ID, Limits
from virtualvector.streams import Column

_VALUES = {"number": 0.5, "category": "a", "time": "2021-05-06 07:08:09", "text": "a few words"}
_WORDS = {
    "number": "A finite number, or null where it is missing.",
    "category": "A text, a whole number or a truth value, or null where it is missing.",
    "time": "A date or a time, such as 2021-05-06 07:08:09, or null where it is missing.",
    "text": "A text, of which words count, or null where it is missing.",
}
_TYPES = {
    "number": ["number", "null"],
    "category": ["string", "integer", "boolean", "null"],
    "time": ["string", "null"],
    "text": ["string", "null"],
}


def described(columns: Sequence[Column], classes: Sequence[str], limits: Limits) -> dict[str, Any]:
    """Return the description of a service for rows of these columns and classes.

    Examples
    --------
    >>> from virtualvector.serve.bodies import Limits
    >>> from virtualvector.serve.openapi import described
    >>> from virtualvector.streams import Column
    >>> found = described([Column("age", False)], ["no", "yes"], Limits())
    >>> sorted(found["paths"])[:3], found["components"]["schemas"]["Row"]["required"]
    (['/figures', '/health', '/labels'], ['age'])
    """
    row = {column.name: _VALUES[column.kind] for column in columns}
    label = classes[-1] if classes else "yes"
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "vvm serve",
            "version": version("virtualvector"),
            "description": "Answers now, labels later: a model that goes on learning.",
        },
        "components": {
            "schemas": _schemas(columns, classes, limits),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"token": []}],
        "paths": {
            "/predict": _post(
                "How probable each class is",
                "Predict",
                {"one": {"row": row, "id": "order-17"}, "several": {"rows": [row, row]}},
                _one_or_many("Answer", "answers"),
                (409, 503),
            ),
            "/labels": _post(
                "The label of a row that was asked about; acknowledged once it is durable",
                "Labels",
                {"one": {"id": "order-17", "label": label}},
                _one_or_many("LabelOutcome", "outcomes"),
                (404, 409, 503),
            ),
            "/learn": _post(
                "A row and its label together",
                "Learn",
                {"one": {"row": row, "label": label}},
                _one_or_many("LabelOutcome", "outcomes"),
                (409, 503),
            ),
            "/model": _get("What the model is"),
            "/figures": _get("How good the answers were, by the labels that came later"),
            "/health": _get("Whether the process is there"),
            "/ready": _get("Whether labels can be taken and saved", 503),
            "/metrics": _get("Figures for Prometheus", kind="text/plain"),
            "/openapi.json": _get("This description"),
        },
    }


def _schemas(columns: Sequence[Column], classes: Sequence[str], limits: Limits) -> dict[str, Any]:
    own = {"type": ["string", "null"], "minLength": 1, "maxLength": LONGEST_ID}
    label = {"type": "string", "examples": list(classes[:3])}
    rows = {"type": "array", "items": _ref("Row"), "minItems": 1, "maxItems": limits.rows}
    one_label = _object({"id": own | {"type": "string"}, "label": label}, ["id", "label"])
    beside = {"type": "array", "minItems": 1, "maxItems": limits.rows}
    return {
        "Row": {
            "type": "object",
            "properties": {
                column.name: {"type": _TYPES[column.kind], "description": _WORDS[column.kind]}
                for column in columns
            },
            "required": [column.name for column in columns],
        },
        "Predict": {
            "oneOf": [
                _object({"row": _ref("Row"), "id": own}, ["row"]),
                _object({"rows": rows, "ids": beside | {"items": own}}, ["rows"]),
            ]
        },
        "Learn": {
            "oneOf": [
                _object({"row": _ref("Row"), "id": own, "label": label}, ["row", "label"]),
                _object(
                    {
                        "rows": rows,
                        "ids": beside | {"items": own},
                        "labels": beside | {"items": label},
                    },
                    ["rows", "labels"],
                ),
            ]
        },
        "Labels": {"oneOf": [one_label, beside | {"items": one_label}]},
        "Answer": {
            "type": "object",
            "properties": {
                "id": {"type": "string"},
                "label": {"type": "string", "description": "The most probable class."},
                "probabilities": {
                    "type": "object",
                    "additionalProperties": {"type": "number", "minimum": 0, "maximum": 1},
                },
                "learned": {"type": "integer", "description": "Labels learned by then."},
                "kept": {
                    "type": "boolean",
                    "description": "Whether its label can come later: the row is durable, or, "
                    "under an id that was made, will be in a moment.",
                },
                "left_out": {"type": "array", "items": {"type": "string"}},
            },
            "required": ["id", "label", "probabilities", "learned", "kept"],
        },
        "LabelOutcome": {
            "type": "object",
            "properties": {
                "id": {"type": "string"},
                "outcome": {
                    "enum": ["accepted", "repeated", "conflict", "taken", "unknown"],
                },
            },
            "required": ["id", "outcome"],
        },
        "Error": {
            "type": "object",
            "properties": {"error": {"type": "string"}},
            "required": ["error"],
        },
    }


def _object(properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def _ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


def _one_or_many(name: str, many: str) -> dict[str, Any]:
    several = {"type": "array", "items": _ref(name)}
    return {
        "anyOf": [
            _ref(name),
            {"type": "object", "properties": {many: several}, "required": [many]},
        ]
    }


def _post(
    words: str, body: str, examples: dict[str, Any], answer: dict[str, Any], more: tuple[int, ...]
) -> dict[str, Any]:
    failures = (400, 401, 403, 408, 413, 415, 422, 429)
    return {
        "post": {
            "summary": words,
            "requestBody": {
                "required": True,
                "content": {
                    "application/json": {
                        "schema": _ref(body),
                        "examples": {name: {"value": each} for name, each in examples.items()},
                    }
                },
            },
            "responses": {"200": _response("Done", answer)}
            | {
                str(status): _response(
                    "Some of it",
                    {"anyOf": [_ref("Error"), answer]},
                )
                for status in more
            }
            | {str(status): _response("Refused", _ref("Error")) for status in failures},
        }
    }


def _get(words: str, *more: int, kind: str = "application/json") -> dict[str, Any]:
    content = {kind: {"schema": {} if kind == "application/json" else {"type": "string"}}}
    failures = (401, 403, 429)
    return {
        "get": {
            "summary": words,
            "responses": {"200": {"description": "Done", "content": content}}
            | {str(s): {"description": "Not now", "content": content} for s in more}
            | {str(s): _response("Refused", _ref("Error")) for s in failures},
        }
    }


def _response(words: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": words, "content": {"application/json": {"schema": schema}}}
