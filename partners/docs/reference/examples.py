"""The example of an operation in several languages and as an HTTP message.

The clients of docs/examples sign and send, so each call is short and runs beside its client.
"""

import json
from collections.abc import Mapping
from shlex import quote as shell_quote
from typing import Any, NamedTuple


class Request(NamedTuple):
    """An example request. target: of a first call. whole_target: with every parameter. body: None if there is none."""

    name: str
    method: str
    target: str
    whole_target: str
    headers: Mapping[str, str]
    body: Any
    returns_json: bool


class Call(NamedTuple):
    """A request in one language. name: of its file. syntax: the language for the highlighter."""

    name: str
    language: str
    syntax: str
    text: str


def calls_of(request: Request) -> list[Call]:
    """Return the request in each language."""
    languages = (
        ("py", "Python", "python", _python),
        ("mjs", "Node.js", "javascript", _node),
        ("sh", "curl", "bash", _bash),
        ("http", "HTTP", "http", _http),
    )
    return [
        Call(f"{request.name}.{suffix}", language, syntax, "\n".join(write(request)))
        for suffix, language, syntax, write in languages
    ]


def _python(request: Request) -> list[str]:
    imports = [] if request.body is None else ["import json"]
    imports += [] if request.returns_json else ["from pathlib import Path"]
    lines = [*imports, ""] if imports else []
    lines += ["import psi  # psi.py in the same folder signs and sends", ""]
    lines += [] if request.body is None else [f"body = json.dumps({_python_literal(request.body)}).encode()"]
    lines.append(f"response = psi.send({_arguments(request)})")
    if request.returns_json:
        return [*lines, "print(response.status, response.json())"]
    return [
        *lines,
        "print(response.status)",
        "if response.status == 200:",
        '    Path("document").write_bytes(response.body)',
    ]


def _arguments(request: Request) -> str:
    return ", ".join(
        [json.dumps(request.method), json.dumps(request.target), *([] if request.body is None else ["body"])]
    )


def _python_literal(value: Any, indent: str = "") -> str:
    if isinstance(value, dict) and value:
        inner = indent + "    "
        items = [f"{inner}{json.dumps(name)}: {_python_literal(one, inner)},\n" for name, one in value.items()]
        return "{\n" + "".join(items) + indent + "}"
    # A JSON string is a Python string too.
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)


def _node(request: Request) -> list[str]:
    lines = [] if request.returns_json else ['import { writeFile } from "node:fs/promises";']
    lines += ['import { send } from "./psi.mjs"; // signs and sends', ""]
    lines += [] if request.body is None else [f"const body = JSON.stringify({json_text(request.body)});"]
    lines.append(f"const response = await send({_arguments(request)});")
    if request.returns_json:
        return [*lines, "console.log(response.status, await response.json());"]
    save = 'if (response.ok) await writeFile("document", Buffer.from(await response.arrayBuffer()));'
    return [*lines, "console.log(response.status);", save]


def _bash(request: Request) -> list[str]:
    words = ["bash", "psi.sh", request.method, shell_quote(request.target)]
    words += [] if request.body is None else [shell_quote(json_text(request.body))]
    words += [] if request.returns_json else ["> document"]
    return ["# psi.sh in the same folder signs, and sends with curl", " ".join(words)]


def _http(request: Request) -> list[str]:
    lines = [f"{request.method} {request.whole_target} HTTP/1.1"]
    lines += [f"{name}: {value}" for name, value in request.headers.items()]
    return lines if request.body is None else [*lines, "Content-Type: application/json", "", json_text(request.body)]


def json_text(value: Any) -> str:
    """Return a value as indented JSON."""
    return json.dumps(value, indent=2, ensure_ascii=False)
