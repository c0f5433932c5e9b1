"""The reference, made from the OpenAPI description: whatever it describes in this style, no operation by name."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from partners.docs import example_files, guide, openapi
from partners.docs.reference.examples import Call, Request, calls_of
from partners.docs.reference.schema_fields import Document, Field, field, name_of, prose, resolve, rows

JSON = "application/json"
METHODS = ("get", "post", "put", "patch", "delete")
_PLACES = {"path": "In the path", "query": "In the query", "header": "Headers"}


@dataclass(frozen=True, slots=True)
class Example:
    """A value as it is sent. name: what it is an example of."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Content:
    """A body. fields: empty where it is no JSON object. component: the schema's name, or ""."""

    media_type: str
    component: str
    fields: list[Field]
    examples: list[Example]

    @property
    def syntax(self) -> str:
        """The name of the examples' language for the highlighter."""
        return "json" if self.media_type == JSON else ""


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer by its status. codes: what `error` may be."""

    status: int
    phrase: str
    description: SafeString
    codes: list[str]
    headers: list[Field]
    contents: list[Content]

    @property
    def succeeds(self) -> bool:
        """Whether the request was granted."""
        return self.status < HTTPStatus.BAD_REQUEST


@dataclass(frozen=True, slots=True)
class Operation:
    """A method of a path."""

    id: str
    method: str
    path: str
    tag: str
    summary: str
    description: SafeString
    parameters: list[tuple[str, list[Field]]]
    bodies: list[Content]
    calls: list[Call]
    answers: list[Answer]

    @property
    def successes(self) -> list[Answer]:
        """The answers to a request that is granted."""
        return [answer for answer in self.answers if answer.succeeds]

    @property
    def refusals(self) -> list[Answer]:
        """All others."""
        return [answer for answer in self.answers if not answer.succeeds]


@dataclass(frozen=True, slots=True)
class Component:
    """A schema with a name."""

    name: str
    description: SafeString
    fields: list[Field]


@lru_cache(maxsize=1)
def page() -> str:
    """The page. It says what the code does, so it is the same as long as the process lives."""
    return render_to_string("docs/reference.html", context(openapi.document()))


def context(document: Document) -> dict[str, Any]:
    """What the page shows of a description (OpenAPI 3.1)."""
    described = [*operations(document)]
    tags = document.get("tags") or [{"name": name} for name in dict.fromkeys(one.tag for one in described)]
    groups = [
        {"tag": tag["name"], "description": prose(tag.get("description", "")), "operations": found}
        for tag in tags
        if (found := [one for one in described if one.tag == tag["name"]])
    ]
    schemas = document.get("components", {}).get("schemas", {})
    components = [
        Component(name, prose(schema.get("description", "")), [*rows(document, schema)])
        for name, schema in schemas.items()
    ]
    return {
        "here": "reference",
        "info": document["info"] | {"description": prose(document["info"].get("description", ""))},
        "groups": groups,
        "components": components,
        "clients": [one for one in example_files.clients() if one.language in guide.QUICK_LANGUAGES],
        "contents": [*(_links(group) for group in groups), _links_to_components(components)],
    }


def operations(document: Document) -> Iterator[Operation]:
    """Every operation, in the description's order."""
    for path, item in document["paths"].items():
        for method in METHODS:
            if method in item:
                yield _operation(document, path, method, item[method], item.get("parameters", []))


def _operation(document: Document, path: str, method: str, described: dict[str, Any], shared: list[Any]) -> Operation:
    parameters = [resolve(document, one) for one in [*shared, *described.get("parameters", [])]]
    parameters += _signing_headers(document, described)
    bodies = _contents(document, resolve(document, described.get("requestBody", {})))
    return Operation(
        id=described["operationId"],
        method=method.upper(),
        path=path,
        tag=next(iter(described.get("tags", [])), ""),
        summary=described.get("summary", described["operationId"]),
        description=prose(described.get("description", "")),
        parameters=[
            (title, found)
            for place, title in _PLACES.items()
            if (found := [_parameter(document, one) for one in parameters if one["in"] == place])
        ],
        bodies=bodies,
        calls=calls_of(_example_request(document, path, method, described, parameters)),
        answers=[_answer(document, int(status), answer) for status, answer in sorted(described["responses"].items())],
    )


def _signing_headers(document: Document, described: dict[str, Any]) -> list[dict[str, Any]]:
    """The headers that prove who asks, in the form of parameters."""
    schemes = document.get("components", {}).get("securitySchemes", {})
    needed = [schemes[name] for option in described.get("security", []) for name in option if name in schemes]
    return [{**one, "required": True, "schema": {"type": "string"}} for one in needed if one.get("in") == "header"]


def _parameter(document: Document, described: dict[str, Any]) -> Field:
    return field(
        document,
        described["name"],
        described["schema"],
        required=described.get("required", False),
        description=described.get("description", ""),
    )


def _answer(document: Document, status: int, node: dict[str, Any]) -> Answer:
    described = resolve(document, node)
    headers = {name: resolve(document, header) for name, header in described.get("headers", {}).items()}
    return Answer(
        status=status,
        phrase=HTTPStatus(status).phrase,
        description=prose(described.get("description", "")),
        codes=[*_codes(document, described)],
        headers=[_parameter(document, header | {"name": name}) for name, header in headers.items()],
        contents=_contents(document, described),
    )


def _codes(document: Document, described: dict[str, Any]) -> Iterator[str]:
    for content in described.get("content", {}).values():
        error = resolve(document, content.get("schema", {})).get("properties", {}).get("error", {})
        yield from resolve(document, error).get("enum", [])


def _contents(document: Document, described: dict[str, Any]) -> list[Content]:
    return [
        Content(
            media_type,
            name_of(content.get("schema", {})),
            [*rows(document, content.get("schema", {}))],
            [Example(name, _json(value)) for name, value in examples_of(document, content)],
        )
        for media_type, content in described.get("content", {}).items()
    ]


def examples_of(document: Document, described: dict[str, Any]) -> list[tuple[str, Any]]:
    """The values given as examples, each with what it shows."""
    if "example" in described:
        return [("Example", described["example"])]
    found = [(name, resolve(document, one)) for name, one in described.get("examples", {}).items()]
    return [(one.get("summary") or name, one["value"]) for name, one in found if "value" in one]


def _example_request(
    document: Document, path: str, method: str, described: dict[str, Any], parameters: list[dict[str, Any]]
) -> Request:
    """A request made of the description's examples, with … for what has none."""
    values = {one["name"]: next((value for _name, value in examples_of({}, one)), "…") for one in parameters}
    for one in parameters:
        if one["in"] == "path":
            path = path.replace("{" + one["name"] + "}", quote(str(values[one["name"]]), safe="…"))
    content = resolve(document, described.get("requestBody", {})).get("content", {})
    bodies = [value for media in content.values() for _name, value in examples_of(document, media)]
    successes = [resolve(document, answer) for status, answer in described["responses"].items() if status < "400"]
    return Request(
        name=_snake_case(described["operationId"]),
        method=method.upper(),
        path=path,
        query={one["name"]: str(values[one["name"]]) for one in parameters if one["in"] == "query"},
        # A first call starts at the beginning: only parameters with a default are sent.
        usual=[one["name"] for one in parameters if one.get("required") or "default" in one.get("schema", {})],
        headers={one["name"]: str(values[one["name"]]) for one in parameters if one["in"] == "header"},
        body=bodies[0] if bodies else None,
        answers_json=any(JSON in answer.get("content", {}) for answer in successes),
    )


def _snake_case(name: str) -> str:
    return re.sub("(?<=[a-z])(?=[A-Z])", "_", name).lower()


def _json(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)


def _links(group: dict[str, Any]) -> dict[str, Any]:
    found: list[Operation] = group["operations"]
    return {
        "title": group["tag"],
        "links": [{"id": one.id, "method": one.method, "title": one.summary} for one in found],
    }


def _links_to_components(components: list[Component]) -> dict[str, Any]:
    return {
        "title": "Schemas",
        "links": [{"id": f"schema-{one.name}", "title": one.name} for one in components],
    }
