"""The example of an operation in several languages, by the clients in docs/examples, and as an HTTP message.

The clients sign and send, so that each call is short and runs when it is saved in the same folder as its client.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from shlex import quote as shell_quote
from typing import Any
from urllib.parse import quote


@dataclass(frozen=True, slots=True)
class Request:
    """An example of a request. usual: the parameters that a first call sends. body: None where there is none."""

    name: str
    method: str
    path: str
    query: Mapping[str, str]
    usual: Sequence[str]
    headers: Mapping[str, str]
    body: Any
    answers_json: bool

    @property
    def target(self) -> str:
        """The path with the query of a first call."""
        return _with_query(self.path, {name: value for name, value in self.query.items() if name in self.usual})


@dataclass(frozen=True, slots=True)
class Call:
    """A request in one language. name: of the file that it might be. syntax: the language for the highlighter."""

    name: str
    language: str
    syntax: str
    text: str


def calls_of(request: Request) -> list[Call]:
    """Return the request in each language."""
    return [
        Call(f"{request.name}.py", "Python", "python", _python(request)),
        Call(f"{request.name}.mjs", "Node.js", "javascript", _node(request)),
        Call(f"{request.name}.sh", "curl", "bash", _bash(request)),
        Call(f"{request.name}.http", "HTTP", "http", _http(request)),
    ]


def _python(request: Request) -> str:
    imports = [] if request.body is None else ["import json"]
    imports += [] if request.answers_json else ["from pathlib import Path"]
    arguments = [json.dumps(request.method), json.dumps(request.target)]
    lines = [*imports, ""] if imports else []
    lines += ["import psi  # psi.py in the same folder signs and sends", ""]
    if request.body is not None:
        lines.append(f"body = json.dumps({_python_literal(request.body)}).encode()")
        arguments.append("body")
    lines.append(f"answer = psi.send({', '.join(arguments)})")
    if request.answers_json:
        lines.append("print(answer.status, answer.json())")
    else:
        lines += ["print(answer.status)", "if answer.status == 200:", '    Path("document").write_bytes(answer.body)']
    return "\n".join(lines)


def _python_literal(value: Any, indent: str = "") -> str:
    if isinstance(value, dict) and value:
        inner = indent + "    "
        items = [f"{inner}{json.dumps(name)}: {_python_literal(one, inner)},\n" for name, one in value.items()]
        return "{\n" + "".join(items) + indent + "}"
    # True, False, None and numbers are written as Python has them; a JSON string is one of Python too.
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)


def _node(request: Request) -> str:
    lines = [] if request.answers_json else ['import { writeFile } from "node:fs/promises";']
    lines += ['import { send } from "./psi.mjs"; // signs and sends', ""]
    arguments = [json.dumps(request.method), json.dumps(request.target)]
    if request.body is not None:
        lines.append(f"const body = JSON.stringify({_json(request.body)});")
        arguments.append("body")
    lines.append(f"const answer = await send({', '.join(arguments)});")
    if request.answers_json:
        lines.append("console.log(answer.status, await answer.json());")
    else:
        lines += [
            "console.log(answer.status);",
            'if (answer.ok) await writeFile("document", Buffer.from(await answer.arrayBuffer()));',
        ]
    return "\n".join(lines)


def _bash(request: Request) -> str:
    words = ["bash", "psi.sh", request.method, shell_quote(request.target)]
    words += [] if request.body is None else [shell_quote(_json(request.body))]
    words += [] if request.answers_json else ["> document"]
    return f"# psi.sh in the same folder signs, and sends with curl\n{' '.join(words)}"


def _http(request: Request) -> str:
    lines = [f"{request.method} {_with_query(request.path, request.query)} HTTP/1.1"]
    lines += [f"{name}: {value}" for name, value in request.headers.items()]
    if request.body is not None:
        lines += ["Content-Type: application/json", "", _json(request.body)]
    return "\n".join(lines)


def _with_query(path: str, query: Mapping[str, str]) -> str:
    pairs = "&".join(f"{name}={quote(value)}" for name, value in query.items())
    return f"{path}?{pairs}" if pairs else path


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)
