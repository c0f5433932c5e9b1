"""Operations and webhooks of the OpenAPI document as the templates show them."""

from functools import reduce
from http import HTTPStatus
from itertools import chain
from typing import Any

from portal import openapi
from portal.openapi import Node, resolve
from portal.reference.calls import calls, json_text
from portal.reference.schema_fields import Field, field, name_of, prose, rows

_JSON = "application/json"
_PLACES = {"path": "Path parameters", "query": "Query parameters", "header": "Headers"}


def operations(document: Node) -> list[dict[str, Any]]:
    """Return every operation, in the document's order."""
    shared = shared_headers(document)
    return [_operation(document, one, shared) for one in openapi.operations(document)]


def webhooks(document: Node) -> list[dict[str, Any]]:
    """Return every webhook, in the document's order."""
    return [
        {
            **_head(one),
            "bodies": _contents(document, one.spec.get("requestBody", {})),
            "answers": [(status, prose(node["description"])) for status, node in one.spec["responses"].items()],
        }
        for one in openapi.webhooks(document)
    ]


def webhook_headers(document: Node) -> list[Field]:
    """Return the headers of every webhook."""
    parameters = _of_all([one.parameters for one in openapi.webhooks(document)])
    return [_parameter(document, one) for one in parameters if one["in"] == "header"]


def signing_headers(document: Node) -> list[Node]:
    """Return the headers of a signature as parameters."""
    schemes = document.get("components", {}).get("securitySchemes", {})
    names = chain.from_iterable(document.get("security", []))
    return [{**schemes[name], "required": True, "schema": {"type": "string"}} for name in names]


def shared_headers(document: Node) -> dict[str, Node]:
    """Return the headers that every operation takes, by name."""
    parameters = _of_all([one.parameters for one in openapi.operations(document)])
    return {one["name"]: one for one in parameters if one["in"] == "header"}


def response_headers(document: Node) -> list[Field]:
    """Return the headers of every successful response."""
    return [_parameter(document, {**header, "name": name}) for name, header in _shared_response_headers(document)]


def request_headers(document: Node) -> list[Field]:
    """Return the headers of every request."""
    headers = [*signing_headers(document), *shared_headers(document).values()]
    return [_parameter(document, one) for one in headers]


def _of_all(lists: list[list[Any]]) -> list[Any]:
    """Return what is in each of the lists, unless there is but one."""
    return reduce(lambda kept, some: [one for one in kept if one in some], lists) if len(lists) > 1 else []


def _shared_response_headers(document: Node) -> list[tuple[str, Node]]:
    successes = [
        [(name, resolve(document, header)) for name, header in resolve(document, node).get("headers", {}).items()]
        for one in openapi.operations(document)
        for status, node in one.spec["responses"].items()
        if status < "400"
    ]
    return _of_all(successes)


def _head(operation: openapi.Operation) -> dict[str, Any]:
    spec = operation.spec
    return {
        "id": spec["operationId"],
        "method": operation.method,
        "path": operation.path,
        "tag": next(iter(spec.get("tags", [])), ""),
        "title": spec.get("summary", spec["operationId"]),
        "description": prose(spec.get("description", "")),
    }


def _operation(document: Node, operation: openapi.Operation, shared: dict[str, Node]) -> dict[str, Any]:
    own = [one for one in operation.parameters if one["name"] not in shared]
    by_place = {
        title: [_parameter(document, one) for one in own if one["in"] == place] for place, title in _PLACES.items()
    }
    spec, common = operation.spec, {name for name, _ in _shared_response_headers(document)}
    responses = [_response(document, int(status), node, common) for status, node in sorted(spec["responses"].items())]
    return {
        **_head(operation),
        "parameters": [(title, fields) for title, fields in by_place.items() if fields],
        "bodies": _contents(document, spec.get("requestBody", {})),
        "calls": calls(document, operation, [*signing_headers(document), *own]),
        "successes": [one for one in responses if one["status"] < HTTPStatus.BAD_REQUEST],
        "errors": [one for one in responses if one["status"] >= HTTPStatus.BAD_REQUEST],
    }


def _parameter(document: Node, node: Node) -> Field:
    required, description = node.get("required", False), node.get("description", "")
    example = openapi.example(document, node)
    return field(document, node["name"], node["schema"], required=required, description=description, example=example)


def _response(document: Node, status: int, node: Node, common: set[str]) -> dict[str, Any]:
    """Return a response. common: the names of headers that are described elsewhere."""
    response = resolve(document, node)
    headers = {name: resolve(document, header) for name, header in response.get("headers", {}).items()}
    contents = _contents(document, response)
    errors = [one for content in contents for one in content["fields"] if one.name == "error"]
    return {
        "status": status,
        "phrase": HTTPStatus(status).phrase,
        "description": prose(response.get("description", "")),
        "codes": [code for error in errors for code in error.values],
        "headers": [
            _parameter(document, header | {"name": name}) for name, header in headers.items() if name not in common
        ],
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
