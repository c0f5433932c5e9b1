"""Examples of single fields in the OpenAPI document, taken from those of whole bodies, which tests validate."""

import json
from collections.abc import Iterator
from typing import Any

from portal.openapi import Node, resolve

_EMPTY: tuple[Any, ...] = (None, "", [], {})


def add_examples(document: Node) -> None:
    """Give each property of a component the first example that a body of the document has of it.

    An empty value is no example. A property that no body shows gets that of an equal property, as those of an update
    are equal to those of a create. One that declares its own examples keeps them.
    """
    for schema, value in _bodies(document):
        _take(document, schema, value)
    properties = [one for schema in document["components"]["schemas"].values() for one in _properties(schema)]
    known = {_without_examples(one): one["examples"] for one in reversed(properties) if "examples" in one}
    for one in properties:
        if "examples" not in one and (examples := known.get(_without_examples(one))):
            one["examples"] = examples


def _bodies(node: Any) -> Iterator[tuple[Node, Any]]:
    """Yield the examples of all bodies, each with its schema."""
    if isinstance(node, dict):
        if "schema" in node and "in" not in node:
            yield from ((node["schema"], one["value"]) for one in node.get("examples", {}).values())
        for one in node.values():
            yield from _bodies(one)
    elif isinstance(node, list):
        for one in node:
            yield from _bodies(one)


def _take(document: Node, schema: Node, value: Any) -> None:
    whole = resolve(document, schema)
    if isinstance(value, list) and "items" in whole:
        for item in value:
            _take(document, whole["items"], item)
    elif isinstance(value, dict):
        for name, described in whole.get("properties", {}).items():
            if value.get(name) not in _EMPTY:
                described.setdefault("examples", [value[name]])
                _take(document, described, value[name])


def _properties(schema: Any) -> Iterator[Node]:
    """Yield the properties of a component, and those of the objects in it."""
    for one in schema.get("properties", {}).values():
        yield one
        yield from _properties(one)
        yield from _properties(one.get("items", {}))


def _without_examples(described: Node) -> str:
    return json.dumps({key: value for key, value in described.items() if key != "examples"}, sort_keys=True)
