"""The request of an operation in several languages, made of the document's examples."""

import json
import re
from shlex import quote as shell_quote
from typing import Any, NamedTuple
from urllib.parse import quote

from django.template.loader import render_to_string

from portal import openapi
from portal.openapi import Node

_JSON = "application/json"
# The keys are names of templates; the values the language, the name in Pygments, and the suffix of a file.
_LANGUAGES = {
    "curl": ("curl", "bash", "sh"),
    "http": ("HTTP", "http", "http"),
}


class Call(NamedTuple):
    """A request in one language. name: of its file. syntax: the language for the highlighter."""

    name: str
    language: str
    syntax: str
    text: str


def calls(document: Node, operation: openapi.Operation, parameters: list[Node]) -> list[Call]:
    """Return a request for the script of docs/examples, and as an HTTP message. parameters: with the signature's."""
    request = _example_request(document, operation, parameters)
    name = re.sub("(?<=[a-z])(?=[A-Z])", "_", operation.spec["operationId"]).lower()
    return [
        Call(
            f"{name}.{suffix}",
            language,
            syntax,
            render_to_string(f"docs/reference/calls/{template}.txt", request).rstrip(),
        )
        for template, (language, syntax, suffix) in _LANGUAGES.items()
    ]


def _example_request(document: Node, operation: openapi.Operation, parameters: list[Node]) -> dict[str, Any]:
    """Return the context of the calls' templates: a request made of the document's examples, … for missing ones.

    target: of a first call. whole_target: with every parameter. body: JSON, "" if there is none.
    """
    spec, path = operation.spec, operation.path
    values = {one["name"]: openapi.example(document, one) or "…" for one in parameters}
    for one in parameters:
        path = path.replace(f"{{{one['name']}}}", quote(values[one["name"]], safe="…"))
    query = [one for one in parameters if one["in"] == "query"]
    pairs = [(f"{one['name']}={quote(values[one['name']])}", openapi.is_usual(one)) for one in query]
    target = "?".join(filter(None, (path, "&".join(pair for pair, is_usual in pairs if is_usual))))
    bodies = openapi.contents(document, spec.get("requestBody", {})).values()
    example = next((value for media in bodies for _, value in openapi.examples(document, media)), None)
    body = "" if example is None else json_text(example)
    successes = [openapi.contents(document, node) for status, node in spec["responses"].items() if status < "400"]
    headers = {one["name"]: values[one["name"]] for one in parameters if one["in"] == "header"}
    return {
        "method": operation.method,
        "target": target,
        "shell_target": shell_quote(target),
        "whole_target": "?".join(filter(None, (path, "&".join(pair for pair, _ in pairs)))),
        "headers": headers,
        "has_key": "Idempotency-Key" in headers,
        "body": body,
        "shell_body": shell_quote(body),
        "returns_json": any(_JSON in contents for contents in successes),
    }


def json_text(value: Any) -> str:
    """Return a value as indented JSON."""
    return json.dumps(value, indent=2, ensure_ascii=False)
