"""Prints the schemas of docs/openapi.yaml as generators of types take them: `make client-types` runs it.

Left out are those of error responses, which the clients raise as ApiError, and paths, whose requests are methods.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

DESCRIPTION = Path(__file__).parents[1] / "docs" / "openapi.yaml"
# A longer enumeration is a text: a list of countries would be half of a file, and no program has it as literals.
_MAX_VALUES = 20


def schemas(document: dict[str, Any]) -> dict[str, Any]:
    """A description without paths, whose `x-extensible-enum` is a union with other values: generators ignore that word.

    A union of events has those that `type` tells apart. With the event of all other types in it, a type checker would
    not narrow it: programs handle the types that they know, and ignore others.
    """
    everything = document["components"]["schemas"]
    operations = [one for path in document["paths"].values() for one in path.values() if isinstance(one, dict)]
    responses = [response for one in operations for response in one["responses"].items()]
    errors = {name for status, response in responses if status >= "400" for name in _references(response)}
    others = {name for name, one in everything.items() if "not" in one.get("properties", {}).get("type", {})}
    kept = {name: _readable(one, others) for name, one in everything.items() if name not in errors}
    return {"openapi": document["openapi"], "info": document["info"], "paths": {}, "components": {"schemas": kept}}


def _references(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        if "$ref" in node:
            yield node["$ref"].rpartition("/")[2]
        node = list(node.values())
    if isinstance(node, list):
        for value in node:
            yield from _references(value)


def _readable(node: Any, others: set[str]) -> Any:
    if isinstance(node, list):
        return [_readable(one, others) for one in node]
    if not isinstance(node, dict):
        return node
    node = {key: _readable(value, others) for key, value in node.items()}
    for union in {"anyOf", "oneOf"} & node.keys():
        node[union] = [one for one in node[union] if not others & set(_references(one))]
    if len(node.get("enum", [])) > _MAX_VALUES:
        del node["enum"]
    if 0 < len(values := node.pop("x-extensible-enum", [])) <= _MAX_VALUES:
        kinds = node.pop("type")
        others_too = [{"type": kind} for kind in (kinds if isinstance(kinds, list) else [kinds])]
        node["anyOf"] = [{"type": "string", "enum": values}, *others_too]
    return node


if __name__ == "__main__":
    json.dump(schemas(yaml.load(DESCRIPTION.read_bytes(), yaml.CSafeLoader)), sys.stdout)
