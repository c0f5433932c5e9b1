"""A JSON Schema of the description as rows of a table: one for each field, those of fields within included."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import cycle
from typing import Any

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

Schema = dict[str, Any]
Document = dict[str, Any]

# What a schema says of a value in addition to its type, and the words for it.
_BOUNDS = {
    "minimum": "at least {}",
    "maximum": "at most {}",
    "minItems": "{} items or more",
    "maxItems": "{} items at most",
    "minProperties": "{} fields or more",
    "default": "{} unless given",
}
FEW_VALUES = 12


@dataclass(frozen=True, slots=True)
class Field:
    """A row. name: dotted where it lies in another field, with [] for the items of a list."""

    name: str
    type: str
    required: bool
    description: SafeString
    rules: list[str]
    values: list[str]
    pattern: str

    @property
    def has_many_values(self) -> bool:
        """Whether the values would fill the page."""
        return len(self.values) > FEW_VALUES


def resolve(document: Document, node: Any) -> Any:
    """What a node stands for: itself, or what its `$ref` points to."""
    while isinstance(node, dict) and "$ref" in node:
        target: Any = document
        for part in node["$ref"].removeprefix("#/").split("/"):
            target = target[part.replace("~1", "/").replace("~0", "~")]
        node = target
    return node


def name_of(node: Schema) -> str:
    """The component that a node refers to, or ""."""
    return str(node.get("$ref", "")).rpartition("/")[2]


def rows(document: Document, schema: Schema, *, prefix: str = "", within: tuple[str, ...] = ()) -> Iterator[Field]:
    """The fields of an object, or of the objects of a list, each followed by those within it.

    within: components that the rows belong to; one that holds itself is not opened again.
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


def field(document: Document, name: str, schema: Schema, *, required: bool, description: str = "") -> Field:
    """The row of one value. description: in place of the schema's own."""
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


def type_of(document: Document, schema: Schema) -> str:
    """The type in words, such as `string (date) or null`."""
    whole = resolve(document, schema)
    options = whole.get("oneOf") or whole.get("anyOf")
    if options:
        return " or ".join(type_of(document, option) for option in options)
    types = whole.get("type", "any")
    names = [types] if isinstance(types, str) else types
    form = f" ({whole['format']})" if "format" in whole else ""
    if "items" in whole:
        form = f" of {type_of(document, whole['items'])}"
    return " or ".join(name if name == "null" else name + form for name in names)


def prose(text: str) -> SafeString:
    """A description with its `code` as such; nothing else of Markdown occurs in one."""
    parts = ((format_html("<code>{}</code>", part) if is_code else part) for is_code, part in _spans(text))
    return format_html_join("", "{}", ((part,) for part in parts))


def _spans(text: str) -> Iterator[tuple[bool, str]]:
    """The pieces between backticks, in turn plain and code."""
    return zip(cycle((False, True)), text.split("`"), strict=False)


def _length(whole: Schema) -> Iterator[str]:
    lowest, highest = whole.get("minLength", 0), whole.get("maxLength")
    if highest is not None:
        yield f"{lowest} to {highest} characters" if lowest != highest else f"{lowest} characters"
    elif lowest:
        yield f"{lowest} characters or more"


def _shown(value: Any) -> str:
    """A value as JSON writes it, but for the quotes of a text."""
    return value if isinstance(value, str) else json.dumps(value)
