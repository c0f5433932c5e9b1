"""Writes the types of both clients from docs/openapi.json: `make openapi` runs it, and a test compares."""

import json
import keyword
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
DESCRIPTION = FOLDER.parent / "docs" / "openapi.json"
PYTHON, NODE = FOLDER / "python" / "src" / "psi" / "types.py", FOLDER / "node" / "types.d.mts"
Node = dict[str, Any]

_PYTHON_HEAD = '''"""What is sent and received, made by clients/generate_types.py from the description: do not edit.

Fields may be added to what is received, and values to its enumerations: `| str` is for those.
"""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict'''
_NODE_HEAD = """// What is sent and received, made by clients/generate_types.py from the description: do not edit.
// Fields may be added to what is received, and values to its enumerations: `(string & {})` is for those.
"""
# A longer enumeration is a text: a list of countries would be half of a file, and no program has it as literals.
_MAX_VALUES = 20
_PYTHON_NAMES = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
_NODE_NAMES = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}


def references(node: Any) -> Iterator[str]:
    """The names of the schemas that this part of the description refers to."""
    if isinstance(node, dict):
        if "$ref" in node:
            yield node["$ref"].rpartition("/")[2]
        for value in node.values():
            yield from references(value)
    elif isinstance(node, list):
        for value in node:
            yield from references(value)


class Types:
    """The schemas of a description, but those of error responses, whose form is the clients' ApiError.

    A union is of those that `type` tells apart: with the one of all other types in it, a type checker would not
    narrow it. Programs handle the types that they know, and ignore others.
    """

    def __init__(self, document: Node) -> None:
        everything = document["components"]["schemas"]
        operations = [one for path in document["paths"].values() for one in path.values() if isinstance(one, dict)]
        errors = {
            name
            for one in operations
            for status, response in one["responses"].items()
            if status >= "400"
            for name in references(response)
        }
        self.schemas: dict[str, Node] = {name: one for name, one in everything.items() if name not in errors}
        others = {name for name, one in everything.items() if "not" in one.get("properties", {}).get("type", {})}
        for name, one in self.schemas.items():
            if kept := [part for part in _alternatives(one) if not others & set(references(part))]:
                self.schemas[name] = {"description": one.get("description", name), "anyOf": kept}
        self.sent = self._reachable(references([one.get("requestBody") for one in operations]))
        self.alternatives = {name for one in everything.values() for name in references(_alternatives(one))}

    def _reachable(self, names: Iterator[str]) -> set[str]:
        found: set[str] = set()
        waiting = [*names]
        while waiting:
            if (name := waiting.pop()) not in found:
                found.add(name)
                waiting += references(self.schemas[name])
        return found

    def is_open(self, name: str) -> bool:
        """Whether values may be added to the enumerations of a schema. The types of events tell them apart."""
        return name not in self.sent and name not in self.alternatives


def _alternatives(schema: Node) -> list[Node]:
    found: list[Node] = schema.get("anyOf") or schema.get("oneOf") or []
    return found


def python_type(schema: Node, *, is_open: bool) -> str:
    """The type of a field in Python."""
    return _type(schema, _PYTHON_NAMES, _python_literal if not is_open else _python_open, "list[{}]", "dict[str, Any]")


def node_type(schema: Node, *, is_open: bool) -> str:
    """The type of a field in TypeScript."""
    return _type(schema, _NODE_NAMES, _node_literal if not is_open else _node_open, "Array<{}>", "Record<string, any>")


def _type(schema: Node, names: dict[str, str], literal: Callable[[list[Any]], str], array: str, free: str) -> str:
    def again(one: Node) -> str:
        return _type(one, names, literal, array, free)

    if "$ref" in schema:
        return str(schema["$ref"].rpartition("/")[2])
    if alternatives := _alternatives(schema) or schema.get("allOf"):
        return " | ".join(dict.fromkeys(again(one) for one in alternatives))
    kinds = schema.get("type", "object")
    if isinstance(kinds, list):
        present = [again({**schema, "type": kind, "enum": None}) for kind in kinds if kind != "null"]
        values = [value for value in schema.get("enum") or [] if value is not None]
        return " | ".join([literal(values)] if values else present) + f" | {names['null']}"
    if 0 < len(schema.get("enum") or []) <= _MAX_VALUES:
        return literal(schema["enum"])
    if kinds == "array":
        return array.format(again(schema["items"]))
    return free if kinds == "object" else names[kinds]


def _python_literal(values: list[Any]) -> str:
    return f"Literal[{', '.join(map(json.dumps, values))}]"


def _python_open(values: list[Any]) -> str:
    return f"{_python_literal(values)} | str"


def _node_literal(values: list[Any]) -> str:
    return " | ".join(map(json.dumps, values))


def _node_open(values: list[Any]) -> str:
    return f"{_node_literal(values)} | (string & {{}})"


def python_text(types: Types) -> str:
    """The module of the types."""
    pieces = [_PYTHON_HEAD]
    unions = []
    for name, schema in types.schemas.items():
        if "properties" not in schema:
            unions.append(f"{name} = {python_type(schema, is_open=False)}")
            continue
        required = schema.get("required", [])
        fields = {}
        for field, one in schema["properties"].items():
            kind = python_type(one, is_open=types.is_open(name))
            fields[field] = kind if field in required else f"NotRequired[{kind}]"
        pieces.append(_typed_dict(name, schema.get("description", name), fields))
    return "\n\n\n".join([*pieces, *unions]) + "\n"


def _typed_dict(name: str, description: str, fields: dict[str, str]) -> str:
    if not any(map(keyword.iskeyword, fields)):
        lines = [f"    {field}: {kind}" for field, kind in fields.items()]
        return "\n".join([f"class {name}(TypedDict):", f'    """{description}"""', "", *lines])
    # Such a name can only be a text, and its type is then evaluated at once if it is none.
    lines = [f"    {json.dumps(field)}: {kind!r}," for field, kind in fields.items()]
    return "\n".join([f"# {description}", f'{name} = TypedDict("{name}", {{', *lines, "})"])


def node_text(types: Types) -> str:
    """The declarations of the types."""
    pieces = [_NODE_HEAD]
    for name, schema in types.schemas.items():
        head = f"/** {schema['description']} */\n" if "description" in schema else ""
        if "properties" not in schema:
            pieces.append(f"{head}export type {name} = {node_type(schema, is_open=False)};\n")
            continue
        required = schema.get("required", [])
        lines = [
            f"  {field}{'' if field in required else '?'}: {node_type(one, is_open=types.is_open(name))};\n"
            for field, one in schema["properties"].items()
        ]
        pieces.append(f"{head}export interface {name} {{\n{''.join(lines)}}}\n")
    return "\n".join(pieces)


def texts() -> dict[Path, str]:
    """The text of each file."""
    types = Types(json.loads(DESCRIPTION.read_bytes()))
    return {PYTHON: python_text(types), NODE: node_text(types)}


if __name__ == "__main__":
    for path, text in texts().items():
        path.write_text(text)
