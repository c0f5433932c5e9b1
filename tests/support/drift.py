"""Validates every response of a test against the OpenAPI document."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any
from urllib.parse import unquote_to_bytes

import jsonschema_rs

from docs_site.reference import description

Json = dict[str, Any]
# Headers of HTTP itself, and of responses that are described by status only.
TRANSPORT_HEADERS = {"content-type", "content-length", "connection", "date", "server", "transfer-encoding"}
OF_METHOD_NOT_ALLOWED = {"allow"}
OF_SANDBOX = {401: "Unauthorized", 404: "NotFound", 405: "BadRequest"}
RATE_LIMIT = frozenset({"ratelimit", "ratelimit-policy"})


# What responses have been checked: operationId and status.
SEEN: set[tuple[str, int]] = set()


class DriftError(AssertionError):
    """A response that the OpenAPI document does not allow."""


@dataclass(frozen=True)
class Described:
    """The OpenAPI document, with validators."""

    document: Json
    _validators: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def components(self) -> Json:
        """The components, whose objects allow no other properties."""
        return {**self.document["components"], "schemas": _closed(self.document["components"]["schemas"])}

    @cached_property
    def paths(self) -> list[tuple[re.Pattern[bytes], Json]]:
        # A path without a parameter goes before one that has one in its place.
        paths = sorted(self.document["paths"].items(), key=lambda item: "{" in item[0])
        return [(_pattern(path), operations) for path, operations in paths]

    def operations_at(self, path: bytes) -> Json | None:
        """Return the operations of a percent-decoded path, or None."""
        return next((operations for pattern, operations in self.paths if pattern.fullmatch(path)), None)

    def validator(self, schema: Json) -> Any:
        """Return a validator of a schema, formats included."""
        text = json.dumps(schema)
        if text not in self._validators:
            whole = {**schema, "components": self.components}
            self._validators[text] = jsonschema_rs.Draft202012Validator(whole, validate_formats=True)
        return self._validators[text]

    def resolve(self, node: Json) -> Json:
        """Resolve a reference; return anything else unchanged."""
        while "$ref" in node:
            target: Any = self.document
            for step in node["$ref"].removeprefix("#/").split("/"):
                target = target[step]
            node = target
        return node


@cache
def described() -> Described:
    """Return the service's own document."""
    return Described(description())


def check(method: str, target: str, status: int, headers: Mapping[str, str], body: bytes) -> None:
    """Raise DriftError for a response that the document does not allow."""
    path = unquote_to_bytes(target.partition("?")[0])
    if not (path.startswith(b"/v1/") or path == b"/v1"):
        return
    known = described()
    operations = known.operations_at(path)
    if operations is None:
        _require(status == 404, method, status, "the path is not described")
        _check_error(known, "NotFound", headers, body)
    elif method.lower() not in operations and path.startswith(b"/v1/sandbox/"):
        # Refused after the rate limit: for live partners the path does not exist, whatever the method.
        _require(status in OF_SANDBOX, method, status, "the method is not described")
        _check_error(known, OF_SANDBOX[status], headers, body, RATE_LIMIT)
    elif method.lower() not in operations:
        _require(status == 405, method, status, "the method is not described")
        _check_error(known, "BadRequest", headers, body)
    else:
        operation = operations[method.lower()]
        _require(str(status) in operation["responses"], operation["operationId"], status, "the status is not described")
        _check_answer(known, operation, status, headers, body)
        SEEN.add((operation["operationId"], status))


def check_event(body: bytes) -> None:
    """Raise DriftError for the body of a webhook that the document does not allow."""
    event, webhooks = json.loads(body), described().document["webhooks"]
    _require(event["type"] in webhooks, event["type"], "the webhook is not described")
    content = webhooks[event["type"]]["post"]["requestBody"]["content"]
    _validate(described(), content["application/json"]["schema"], event, "webhook")


def _check_answer(known: Described, operation: Json, status: int, headers: Mapping[str, str], body: bytes) -> None:
    response = known.resolve(operation["responses"][str(status)])
    where = f"{operation['operationId']} {status}"
    present = {name.lower(): value for name, value in headers.items()}
    for name, node in response["headers"].items():
        header = known.resolve(node)
        value = present.pop(name.lower(), None)
        _require(value is not None or not header.get("required"), where, name, "the header is missing")
        if value is not None:
            _validate(known, header["schema"], value, f"{where} {name}")
    unknown = present.keys() - TRANSPORT_HEADERS
    _require(not unknown, where, sorted(unknown), "headers that are not described")
    media_type = present["content-type"].partition(";")[0]
    _require(media_type in response["content"], where, media_type, "the media type is not described")
    if media_type == "application/json":
        _validate(known, response["content"][media_type]["schema"], json.loads(body), where)


def _check_error(
    known: Described, shape: str, headers: Mapping[str, str], body: bytes, further: frozenset[str] = frozenset()
) -> None:
    _validate(known, {"$ref": f"#/components/schemas/{shape}"}, json.loads(body), shape)
    present = {name.lower() for name in headers} - TRANSPORT_HEADERS - OF_METHOD_NOT_ALLOWED - further
    present -= {"www-authenticate"} if shape == "Unauthorized" else set()
    _require(present == {"x-request-id", "cache-control"}, shape, sorted(present), "headers that are not described")


def _validate(known: Described, schema: Json, value: Any, where: str) -> None:
    problem = next(known.validator(schema).iter_errors(value), None)
    if problem is not None:
        raise DriftError(f"{where}: {problem.message} at {problem.instance_path}")


def _require(holds: object, *facts: object) -> None:
    if not holds:
        raise DriftError(": ".join(str(fact) for fact in facts))


def _pattern(template: str) -> re.Pattern[bytes]:
    parts = re.split(r"(\{\w+\})", template)
    return re.compile(b"".join(b"[^/]+" if part.startswith("{") else re.escape(part.encode()) for part in parts))


def _closed(schema: Any) -> Any:
    """Return a schema whose objects allow no other properties, unless they say so, and whose texts no added values."""
    if isinstance(schema, dict):
        if "x-extensible-enum" in schema:
            return schema | {"enum": [*schema["x-extensible-enum"], *([None] if "null" in schema["type"] else [])]}
        closed = {name: _closed(value) for name, value in schema.items()}
        return {"additionalProperties": False} | closed if schema.get("type") == "object" else closed
    return [_closed(one) for one in schema] if isinstance(schema, list) else schema


def examples_of(document: Json) -> Iterator[tuple[str, Json, Any]]:
    """Yield every example: its location, schema and value."""
    for kind in ("paths", "webhooks", "components"):
        yield from _examples_in(document[kind], kind)


def _examples_in(node: Any, where: str) -> Iterator[tuple[str, Json, Any]]:
    if isinstance(node, dict):
        if "examples" in node and "schema" in node:
            for name, example in node["examples"].items():
                yield f"{where}: {name}", node["schema"], described().resolve(example)["value"]
        for name, value in node.items():
            if name != "examples":
                yield from _examples_in(value, f"{where} {name}")
    elif isinstance(node, list):
        for number, value in enumerate(node):
            yield from _examples_in(value, f"{where} {number}")
