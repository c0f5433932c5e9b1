"""The reference page: everything that the OpenAPI document describes, without naming any operation."""

import json
import re
from functools import lru_cache
from http import HTTPStatus
from itertools import chain
from shlex import quote as shell_quote
from typing import Any, NamedTuple
from urllib.parse import quote

from django.template.loader import render_to_string

from partners.docs import example_files, guide, openapi
from partners.docs.openapi import Node, resolve
from partners.docs.schema_fields import Field, field, name_of, prose, rows

_JSON = "application/json"
_PLACES = {"path": "Path parameters", "query": "Query parameters", "header": "Headers"}
# The keys are names of templates; the values the language, the name in Pygments, and the suffix of a file.
_LANGUAGES = {
    "python": ("Python", "python", "py"),
    "node": ("Node.js", "javascript", "mjs"),
    "curl": ("curl", "bash", "sh"),
    "http": ("HTTP", "http", "http"),
}


class Call(NamedTuple):
    """A request in one language. name: of its file. syntax: the language for the highlighter."""

    name: str
    language: str
    syntax: str
    text: str


@lru_cache(maxsize=1)
def page() -> str:
    """Render the page, once in each process."""
    return render_to_string("docs/reference.html", context(openapi.document()))


def context(document: Node) -> dict[str, Any]:
    """Return the context of the page for a document (OpenAPI 3.1)."""
    described = operations(document)
    tags = document.get("tags") or [{"name": name} for name in dict.fromkeys(one["tag"] for one in described)]
    groups = [
        {
            "title": tag["name"],
            "description": prose(tag.get("description", "")),
            "operations": [one for one in described if one["tag"] == tag["name"]],
        }
        for tag in tags
    ]
    components = [
        {"name": name, "description": prose(schema.get("description", "")), "fields": [*rows(document, schema)]}
        for name, schema in document.get("components", {}).get("schemas", {}).items()
    ]
    schema_links = [{"id": f"schema-{one['name']}", "title": one["name"]} for one in components]
    return {
        "here": "reference",
        "info": document["info"] | {"description": prose(document["info"].get("description", ""))},
        "groups": groups,
        "components": components,
        "clients": [one for one in example_files.clients() if one.language in guide.QUICK_LANGUAGES],
        "contents": [
            *({"title": group["title"], "links": group["operations"]} for group in groups),
            {"title": "Schemas", "links": schema_links},
        ],
    }


def operations(document: Node) -> list[dict[str, Any]]:
    """Return every operation for the template, in the document's order."""
    return [_operation(document, one) for one in openapi.operations(document)]


def _operation(document: Node, operation: openapi.Operation) -> dict[str, Any]:
    spec = operation.spec
    parameters = [*operation.parameters, *_signing_headers(document, spec)]
    by_place = {
        title: [_parameter(document, one) for one in parameters if one["in"] == place]
        for place, title in _PLACES.items()
    }
    responses = [_response(document, int(status), node) for status, node in sorted(spec["responses"].items())]
    return {
        "id": spec["operationId"],
        "method": operation.method,
        "path": operation.path,
        "tag": next(iter(spec.get("tags", [])), ""),
        "title": spec.get("summary", spec["operationId"]),
        "description": prose(spec.get("description", "")),
        "parameters": [(title, fields) for title, fields in by_place.items() if fields],
        "bodies": _contents(document, spec.get("requestBody", {})),
        "calls": _calls(operation, _example_request(document, operation, parameters)),
        "successes": [one for one in responses if one["status"] < HTTPStatus.BAD_REQUEST],
        "errors": [one for one in responses if one["status"] >= HTTPStatus.BAD_REQUEST],
    }


def _signing_headers(document: Node, spec: Node) -> list[Node]:
    """Return the headers of a signature as parameters."""
    schemes = document.get("components", {}).get("securitySchemes", {})
    names = chain.from_iterable(spec.get("security", []))
    return [{**schemes[name], "required": True, "schema": {"type": "string"}} for name in names]


def _parameter(document: Node, node: Node) -> Field:
    required, description = node.get("required", False), node.get("description", "")
    return field(document, node["name"], node["schema"], required=required, description=description)


def _response(document: Node, status: int, node: Node) -> dict[str, Any]:
    response = resolve(document, node)
    headers = {name: resolve(document, header) for name, header in response.get("headers", {}).items()}
    contents = _contents(document, response)
    errors = [one for content in contents for one in content["fields"] if one.name == "error"]
    return {
        "status": status,
        "phrase": HTTPStatus(status).phrase,
        "description": prose(response.get("description", "")),
        "codes": [code for error in errors for code in error.values],
        "headers": [_parameter(document, header | {"name": name}) for name, header in headers.items()],
        "contents": contents,
    }


def _contents(document: Node, node: Node) -> list[dict[str, Any]]:
    """Return the bodies of a request or response. fields: empty if it is not a JSON object."""
    return [
        {
            "media_type": media_type,
            "syntax": "json" if media_type == _JSON else "",
            "component": name_of(media.get("schema", {})),
            "fields": [*rows(document, media.get("schema", {}))],
            "examples": [
                (title, value if isinstance(value, str) else json_text(value))
                for title, value in openapi.examples(document, media)
            ],
        }
        for media_type, media in openapi.contents(document, node).items()
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
    return {
        "method": operation.method,
        "target": target,
        "shell_target": shell_quote(target),
        "whole_target": "?".join(filter(None, (path, "&".join(pair for pair, _ in pairs)))),
        "headers": {one["name"]: values[one["name"]] for one in parameters if one["in"] == "header"},
        "body": body,
        "shell_body": shell_quote(body),
        "python_body": _python_literal(example),
        "returns_json": any(_JSON in contents for contents in successes),
    }


def _calls(operation: openapi.Operation, request: dict[str, Any]) -> list[Call]:
    """Return a request in several languages and as an HTTP message.

    The clients of docs/examples sign and send, so each call is short and runs beside its client.
    """
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


def _python_literal(value: Any, indent: str = "") -> str:
    if isinstance(value, dict) and value:
        inner = indent + "    "
        items = [f"{inner}{json.dumps(name)}: {_python_literal(one, inner)},\n" for name, one in value.items()]
        return "{\n" + "".join(items) + indent + "}"
    # A JSON string is a Python string too.
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)


def json_text(value: Any) -> str:
    """Return a value as indented JSON."""
    return json.dumps(value, indent=2, ensure_ascii=False)
