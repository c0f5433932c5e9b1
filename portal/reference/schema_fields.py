"""JSON Schemas of the OpenAPI document as rows: one for each field, nested fields included."""

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from portal.openapi import Node, resolve

# The keywords of a schema in words.
_BOUNDS = {
    "minimum": "at least {}",
    "maximum": "at most {}",
    "minItems": "at least {} items",
    "maxItems": "at most {} items",
    "minProperties": "at least {} fields",
    "default": "default {}",
}
# Text in backticks is code, a path of the docs a link.
_MARKS = re.compile(r"`([^`]*)`|(/docs(?:/[a-z-]+)*)")
MAX_SHOWN_VALUES = 12
# A longer example is in that of the whole body alone.
_MAX_EXAMPLE_LENGTH = 100


class Field(NamedTuple):
    """A row. name: with the names of outer fields and dots, and [] for the items of a list.

    component: that the value is of, or its items, or "". example: "" where the allowed values are shown, or the whole
    body's has to do.
    """

    name: str
    type: str
    required: bool
    description: SafeString
    rules: list[str]
    values: list[str]
    component: str
    example: str

    @property
    def are_many(self) -> bool:
        """Whether the allowed values are too many to be shown at once."""
        return len(self.values) > MAX_SHOWN_VALUES


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


def direct_rows(document: Node, schema: Node) -> Iterator[Field]:
    """Yield the fields of an object alone."""
    whole = resolve(document, schema)
    for name, described in whole.get("properties", {}).items():
        yield field(document, name, described, required=name in whole.get("required", []))


def field(
    document: Node, name: str, schema: Node, *, required: bool, description: str = "", example: str = ""
) -> Field:
    """Return the row of one value. description, example: in place of the schema's own.

    Patterns are not shown: the description says in words what they mean.
    """
    whole = resolve(document, schema)
    values = [whole["const"]] if "const" in whole else whole.get("enum") or whole.get("x-extensible-enum", [])
    is_listed = 0 < len(values) <= MAX_SHOWN_VALUES
    return Field(
        name=name,
        type=type_of(document, whole),
        required=required,
        description=prose(description or schema.get("description") or whole.get("description", "")),
        rules=[*_length(whole), *(words.format(_shown(whole[key])) for key, words in _BOUNDS.items() if key in whole)],
        values=[_shown(value) for value in values],
        component=name_of(schema) or name_of(whole.get("items", {})),
        example="" if is_listed else example or _example(schema.get("examples") or whole.get("examples") or []),
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
    pieces, end = [], 0
    for mark in _MARKS.finditer(text):
        code, path = mark.groups()
        html = format_html('<a href="{0}">{0}</a>', path) if path else format_html("<code>{}</code>", code)
        pieces += [text[end : mark.start()], html]
        end = mark.end()
    return format_html_join("", "{}", ((one,) for one in (*pieces, text[end:])))


def _length(whole: Node) -> Iterator[str]:
    lowest, highest = whole.get("minLength", 0), whole.get("maxLength")
    if highest is not None:
        yield f"{lowest} to {highest} characters" if lowest != highest else f"{lowest} characters"
    elif lowest:
        yield f"at least {lowest} characters"


def _example(examples: list[Any]) -> str:
    text = next((_shown(one) for one in examples if not isinstance(one, dict)), "")
    return text if len(text) <= _MAX_EXAMPLE_LENGTH and "{" not in text else ""


def _shown(value: Any) -> str:
    """Return a value as JSON, a string without quotes."""
    return value if isinstance(value, str) else json.dumps(value)
