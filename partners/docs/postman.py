"""A Postman collection (format v2.1) made from the OpenAPI description; its pre-request script signs each request."""

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import orjson

from partners.docs import openapi
from partners.docs.reference.operations import METHODS, examples_of
from partners.docs.reference.schema_fields import Document, resolve

SCHEMA = "https://schema.getpostman.com/json/collection/v2.1.0/collection.json"
SCRIPT = Path(__file__).with_name("postman_sign.js")
# Nothing of value is in the file: its reader types in what they were given.
_VARIABLES = {
    "baseUrl": "The service, without /v1.",
    "apiKey": "The API key.",
    "secret": "The key's secret. It stays in Postman: the script sends the signature alone.",
}


@lru_cache(maxsize=8)
def collection_bytes(base_url: str) -> bytes:
    """The collection as JSON. base_url: the service's, without a slash at the end."""
    return orjson.dumps(collection(openapi.document(), base_url), option=orjson.OPT_INDENT_2)


def collection(document: Document, base_url: str) -> dict[str, Any]:
    """The collection of a description: a folder for each tag."""
    items = [*_items(document)]
    return {
        "info": {
            "name": document["info"]["title"],
            "description": document["info"].get("description", ""),
            "schema": SCHEMA,
        },
        "item": [
            {"name": tag, "item": [item for one, item in items if one == tag]}
            for tag in dict.fromkeys(tag for tag, _item in items)
        ],
        "event": [
            {"listen": "prerequest", "script": {"type": "text/javascript", "exec": SCRIPT.read_text().splitlines()}}
        ],
        "variable": [
            {"key": key, "value": base_url if key == "baseUrl" else "", "type": "string", "description": text}
            for key, text in _VARIABLES.items()
        ],
    }


def _items(document: Document) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each operation with its tag."""
    for path, item in document["paths"].items():
        for method in METHODS:
            if method in item:
                described = item[method]
                yield (
                    described["tags"][0],
                    {
                        "name": described["summary"],
                        "request": _request(document, path, method, described),
                    },
                )


def _request(document: Document, path: str, method: str, described: dict[str, Any]) -> dict[str, Any]:
    parameters = [resolve(document, one) for one in described.get("parameters", [])]
    content = resolve(document, described.get("requestBody", {})).get("content", {})
    # A variable of a path is :name in Postman.
    segments = [part.replace("{", ":").replace("}", "") for part in path.strip("/").split("/")]
    query = _values(document, parameters, "query")
    shown = "&".join(f"{one['key']}={one['value']}" for one in query if not one["disabled"])
    request = {
        "method": method.upper(),
        "description": described.get("description", ""),
        "header": [*_headers(document, parameters)],
        "url": {
            "raw": "{{baseUrl}}/" + "/".join(segments) + (f"?{shown}" if shown else ""),
            "host": ["{{baseUrl}}"],
            "path": segments,
            "query": query,
            "variable": _values(document, parameters, "path"),
        },
    }
    for media_type, media in content.items():
        _name, example = examples_of(document, media)[0]
        request["header"].append({"key": "Content-Type", "value": media_type})
        request["body"] = {
            "mode": "raw",
            "raw": orjson.dumps(example, option=orjson.OPT_INDENT_2).decode(),
            "options": {"raw": {"language": "json"}},
        }
    return request


def _headers(document: Document, parameters: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The headers of a request, without those that sign it. Postman makes a new UUID for each request."""
    uuids = {one["name"] for one in parameters if one["schema"].get("format") == "uuid"}
    for header in _values(document, parameters, "header"):
        yield header | ({"value": "{{$guid}}", "disabled": False} if header["key"] in uuids else {})


def _values(document: Document, parameters: list[dict[str, Any]], place: str) -> list[dict[str, Any]]:
    """The parameters in one place, with their examples; those that a first call does not need are switched off."""
    return [
        {
            "key": one["name"],
            "value": str(next((value for _name, value in examples_of(document, one)), "")),
            "description": one.get("description", ""),
            "disabled": not (one.get("required") or "default" in one["schema"]),
        }
        for one in parameters
        if one["in"] == place
    ]
