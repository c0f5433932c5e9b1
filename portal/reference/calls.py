"""The request of an operation in several languages, made of the document's examples."""

import json
import re
from collections.abc import Mapping
from shlex import quote as shell_quote
from typing import Any, Literal, NamedTuple
from urllib.parse import quote

from django.template.loader import render_to_string

from portal import openapi
from portal.openapi import Node
from users.models.columns import camel_case

_JSON = "application/json"
# The keys are names of templates; the values the language, the name in Pygments, and the suffix of a file.
_LANGUAGES = {
    "python": ("Python", "python", "py"),
    "node": ("Node.js", "javascript", "mjs"),
    "curl": ("curl", "bash", "sh"),
    "http": ("HTTP", "http", "http"),
}


class _Method(NamedTuple):
    """The method of the client packages for an operation.

    name: as in Python. returns: a value, the items of a list, or a file. body: the name of the value of the body that
    it takes, or "*" for the whole body. keyword: that of a value which it takes by name, in Python's spelling.
    """

    name: str
    returns: Literal["value", "items", "file"] = "value"
    body: str = ""
    keyword: str = ""


_METHODS: Mapping[str, _Method] = {
    "ping": _Method("ping"),
    "createUser": _Method("create_user", body="*"),
    "updateUser": _Method("update_user", body="*"),
    "getUser": _Method("get_user"),
    "listUsers": _Method("users", "items"),
    "listTransactions": _Method("transactions", "items"),
    "listDocuments": _Method("documents", "items"),
    "getDocument": _Method("get_document", "file"),
    "respondToRequirement": _Method("respond_to_requirement", body="note"),
    "getIdempotencyKey": _Method("get_idempotency_key"),
    "listEvents": _Method("events", "items"),
    "simulateDecision": _Method("sandbox.simulate_decision", body="*"),
    "simulateTransactions": _Method("sandbox.simulate_transactions", body="items"),
    "simulateDocument": _Method("sandbox.simulate_document", body="*"),
    "simulateRequirement": _Method("sandbox.simulate_requirement", body="*"),
    "simulateClosing": _Method("sandbox.simulate_closing"),
    "listWebhooks": _Method("sandbox.webhooks"),
    "addWebhook": _Method("sandbox.add_webhook", body="*"),
    "removeWebhook": _Method("sandbox.remove_webhook"),
    "testWebhook": _Method("sandbox.test_webhook"),
    "rotateWebhookSecret": _Method("sandbox.rotate_webhook_secret", keyword="overlap_hours"),
    "listApiKeys": _Method("sandbox.api_keys"),
    "rotateApiKey": _Method("sandbox.rotate_api_key", keyword="overlap_hours"),
    "revokeApiKey": _Method("sandbox.revoke_api_key"),
    "listSandboxRequests": _Method("sandbox.requests"),
    "getSandboxRequest": _Method("sandbox.get_request"),
}

# The languages that have a client package.
_PACKAGES = {"python", "node"}


class Call(NamedTuple):
    """A request in one language. name: of its file. syntax: the language for the highlighter."""

    name: str
    language: str
    syntax: str
    text: str


def calls(document: Node, operation: openapi.Operation, parameters: list[Node]) -> list[Call]:
    """Return a request in several languages and as an HTTP message. parameters: with those of the signature.

    Those in Python and Node.js use the client packages' methods, that with curl the script of docs/examples: each call
    is short and runs beside its client.
    """
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
        if operation.spec["operationId"] in _METHODS or template not in _PACKAGES
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
    method = _METHODS.get(spec["operationId"])
    paths = [json.dumps(values[one["name"]], ensure_ascii=False) for one in parameters if one["in"] == "path"]
    has_key = "Idempotency-Key" in headers
    return {
        "method": operation.method,
        "target": target,
        "shell_target": shell_quote(target),
        "whole_target": "?".join(filter(None, (path, "&".join(pair for pair, _ in pairs)))),
        "headers": headers,
        "has_key": has_key,
        "body": body,
        "shell_body": shell_quote(body),
        "returns_json": any(_JSON in contents for contents in successes),
        **(_in_packages(method, paths, example, has_key=has_key) if method else {}),
    }


def _in_packages(method: _Method, paths: list[str], body: Any, *, has_key: bool) -> dict[str, str]:
    """What the templates of Python and Node.js need beside: the method, its arguments, and a body that is long."""
    python_body, python_argument = _body_argument(method, body, "python")
    node_body, node_argument = _body_argument(method, body, "node")
    python_key, node_key = (["idempotency_key=key"], ["{ idempotencyKey: key }"]) if has_key else ([], [])
    return {
        "returns": method.returns,
        "python_method": method.name,
        "node_method": camel_case(method.name),
        "python_body": python_body,
        "node_body": node_body,
        "python_arguments": ", ".join([*paths, *python_argument, *python_key]),
        "node_arguments": ", ".join([*paths, *node_argument, *node_key]),
    }


def _body_argument(method: _Method, body: Any, language: str) -> tuple[str, list[str]]:
    """What a method gets of the body: the value of the variable `body`, or "", and at most one argument."""
    name = camel_case(method.keyword) or method.body
    if not name:
        return "", []
    value = body if name == "*" else body[name]
    text = _python_literal(value) if language == "python" else json_text(value)
    if method.keyword:
        return "", [f"{method.keyword}={text}" if language == "python" else f"{{ {name}: {text} }}"]
    return (text, ["body"]) if "\n" in text else ("", [text])


def _python_literal(value: Any, indent: str = "") -> str:
    inner = indent + "    "
    if isinstance(value, dict) and value:
        items = [f"{inner}{json.dumps(name)}: {_python_literal(one, inner)},\n" for name, one in value.items()]
        return "{\n" + "".join(items) + indent + "}"
    if isinstance(value, list) and value:
        return "[" + ", ".join(_python_literal(one, indent) for one in value) + "]"
    # A JSON string is a Python string too.
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)


def json_text(value: Any) -> str:
    """Return a value as indented JSON."""
    return json.dumps(value, indent=2, ensure_ascii=False)
