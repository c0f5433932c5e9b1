"""The OpenAPI document, as the docs serve and read it."""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import yaml
from django.conf import settings

Node = dict[str, Any]
_METHODS = ("get", "post", "put", "patch", "delete")


class Operation(NamedTuple):
    """An operation. spec: its object in the document. parameters: with the path's, resolved."""

    path: str
    method: str
    spec: Node
    parameters: list[Node]


@lru_cache(maxsize=1)
def document() -> Node:
    """Return the whole document, docs/openapi.yaml."""
    text = (settings.BASE_DIR / "docs" / "openapi.yaml").read_text(encoding="utf-8")
    document: Node = yaml.load(text, yaml.CSafeLoader)
    return document


def operations(whole: Node) -> Iterator[Operation]:
    """Yield every operation in the document's order."""
    for path, item in whole["paths"].items():
        for method in (method for method in _METHODS if method in item):
            parameters = [*item.get("parameters", []), *item[method].get("parameters", [])]
            yield Operation(path, method.upper(), item[method], [resolve(whole, one) for one in parameters])


def webhooks(whole: Node) -> Iterator[Operation]:
    """Yield every webhook. path: its name."""
    for name, item in whole.get("webhooks", {}).items():
        for method in (method for method in _METHODS if method in item):
            parameters = [resolve(whole, one) for one in item[method].get("parameters", [])]
            yield Operation(name, method.upper(), item[method], parameters)


def resolve(whole: Node, node: Any) -> Any:
    """Return a node, or the target of its `$ref`."""
    while isinstance(node, dict) and "$ref" in node:
        target: Any = whole
        for part in node["$ref"].removeprefix("#/").split("/"):
            target = target[part.replace("~1", "/").replace("~0", "~")]
        node = target
    return node


def contents(whole: Node, node: Node) -> dict[str, Node]:
    """Return the media types of a request body or response, which may be a reference."""
    by_type: dict[str, Node] = resolve(whole, node).get("content", {})
    return by_type


def examples(whole: Node, node: Node) -> list[tuple[str, Any]]:
    """Return the examples of a parameter, header or media type, each with its title."""
    named = [(name, resolve(whole, one)) for name, one in node.get("examples", {}).items()]
    return [(one.get("summary") or name, one["value"]) for name, one in named]


def example(whole: Node, node: Node) -> str:
    """Return the first example as text, "" if there is none."""
    return next((str(value) for _, value in examples(whole, node)), "")


def is_usual(parameter: Node) -> bool:
    """Return whether a first call sends a parameter: it is required, or has a default."""
    return parameter.get("required", False) or "default" in parameter["schema"]
