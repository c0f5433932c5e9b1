"""Writes the types of both clients from docs/openapi.json: `make openapi` runs it, and a test compares."""

import json
import keyword
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

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


def _alternatives(schema: Node) -> list[Node]:
    found: list[Node] = schema.get("anyOf") or schema.get("oneOf") or []
    return found


class Language(NamedTuple):
    """How types are written. known: of values. growing: of such a type to which values may be added."""

    names: dict[str, str]
    known: Callable[[list[Any]], str]
    growing: str
    array: str
    free: str

    def type_of(self, schema: Node) -> str:
        """The type of a field."""
        if "$ref" in schema:
            return str(schema["$ref"].rpartition("/")[2])
        if alternatives := _alternatives(schema) or schema.get("allOf"):
            return " | ".join(dict.fromkeys(map(self.type_of, alternatives)))
        kinds = schema.get("type", "object")
        if isinstance(kinds, list):
            present = [self.type_of({**schema, "type": kind}) for kind in kinds if kind != "null"]
            return " | ".join([*present, self.names["null"]])
        if kinds == "array":
            return self.array.format(self.type_of(schema["items"]))
        growing: list[Any] = schema.get("x-extensible-enum", [])
        values = [schema["const"]] if "const" in schema else schema.get("enum", growing)
        if 0 < len(values) <= _MAX_VALUES:
            return self.growing.format(self.known(values)) if growing else self.known(values)
        return self.free if kinds == "object" else self.names[kinds]


PYTHON_TYPES = Language(
    {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"},
    known=lambda values: f"Literal[{', '.join(map(json.dumps, values))}]",
    growing="{} | str",
    array="list[{}]",
    free="dict[str, Any]",
)
NODE_TYPES = Language(
    {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"},
    known=lambda values: " | ".join(map(json.dumps, values)),
    growing="{} | (string & {{}})",
    array="Array<{}>",
    free="Record<string, any>",
)


def python_text(types: Types) -> str:
    """The module of the types."""
    pieces = [_PYTHON_HEAD]
    unions = []
    for name, schema in types.schemas.items():
        if "properties" not in schema:
            unions.append(f"{name} = {PYTHON_TYPES.type_of(schema)}")
            continue
        required = schema.get("required", [])
        fields = {}
        for field, one in schema["properties"].items():
            kind = PYTHON_TYPES.type_of(one)
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
            pieces.append(f"{head}export type {name} = {NODE_TYPES.type_of(schema)};\n")
            continue
        required = schema.get("required", [])
        lines = [
            f"  {field}{'' if field in required else '?'}: {NODE_TYPES.type_of(one)};\n"
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
