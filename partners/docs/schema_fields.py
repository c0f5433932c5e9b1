"""JSON Schemas of the OpenAPI document as rows: one for each field, nested fields included."""

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from partners.docs.openapi import Node, resolve

# The keywords of a schema in words.
_BOUNDS = {
    "minimum": "at least {}",
    "maximum": "at most {}",
    "minItems": "at least {} items",
    "maxItems": "at most {} items",
    "minProperties": "at least {} fields",
    "default": "default {}",
}


class Field(NamedTuple):
    """A row. name: with the names of outer fields and dots, and [] for the items of a list."""

    name: str
    type: str
    required: bool
    description: SafeString
    rules: list[str]
    values: list[str]
    pattern: str


def name_of(node: Node) -> str:
    """Return the component that a node refers to, or ""."""
    return str(node.get("$ref", "")).rpartition("/")[2]


def rows(document: Node, schema: Node, *, prefix: str = "", within: tuple[str, ...] = ()) -> Iterator[Field]:
    """Yield the fields of an object, or of the objects of a list, each followed by its nested fields.

    within: the outer components; a recursive one is not opened again.
    """
    if name_of(schema) in within:
        return
    within = (*within, name_of(schema)) if name_of(schema) else within
    whole = resolve(document, schema)
    if "items" in whole:
        yield from rows(document, whole["items"], prefix=f"{prefix}[]", within=within)
    for name, described in whole.get("properties", {}).items():
        path = f"{prefix}.{name}" if prefix else name
        yield field(document, path, described, required=name in whole.get("required", []))
        yield from rows(document, described, prefix=path, within=within)


def field(document: Node, name: str, schema: Node, *, required: bool, description: str = "") -> Field:
    """Return the row of one value. description: in place of the schema's own."""
    whole = resolve(document, schema)
    values = [whole["const"]] if "const" in whole else whole.get("enum", [])
    return Field(
        name=name,
        type=type_of(document, whole),
        required=required,
        description=prose(description or schema.get("description") or whole.get("description", "")),
        rules=[*_length(whole), *(words.format(_shown(whole[key])) for key, words in _BOUNDS.items() if key in whole)],
        values=[_shown(value) for value in values],
        pattern=whole.get("pattern", ""),
    )


def type_of(document: Node, schema: Node) -> str:
    """Return the type in words, such as `string (date) or null`."""
    whole = resolve(document, schema)
    options = whole.get("oneOf") or whole.get("anyOf")
    if options:
        return " or ".join(name_of(option) or type_of(document, option) for option in options)
    types = whole.get("type", "any")
    names = [types] if isinstance(types, str) else types
    form = f" ({whole['format']})" if "format" in whole else ""
    if "items" in whole:
        form = f" of {type_of(document, whole['items'])}"
    return " or ".join(name if name == "null" else name + form for name in names)


def prose(text: str) -> SafeString:
    """Return a description as HTML, text in backticks as code; it has no other Markdown."""
    # The odd pieces are between backticks.
    pieces = enumerate(text.split("`"))
    return format_html_join("", "{}", ((format_html("<code>{}</code>", one) if i % 2 else one,) for i, one in pieces))


def _length(whole: Node) -> Iterator[str]:
    lowest, highest = whole.get("minLength", 0), whole.get("maxLength")
    if highest is not None:
        yield f"{lowest} to {highest} characters" if lowest != highest else f"{lowest} characters"
    elif lowest:
        yield f"at least {lowest} characters"


def _shown(value: Any) -> str:
    """Return a value as JSON, a string without quotes."""
    return value if isinstance(value, str) else json.dumps(value)
