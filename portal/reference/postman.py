"""A Postman collection (format v2.1) of the OpenAPI document, with a script that signs each request."""

from functools import lru_cache
from pathlib import Path
from typing import Any

import orjson

from portal import openapi
from portal.openapi import Node, Operation

SCHEMA = "https://schema.getpostman.com/json/collection/v2.1.0/collection.json"
SCRIPT = Path(__file__).with_name("postman_sign.js")


@lru_cache(maxsize=8)
def collection_bytes(base_url: str) -> bytes:
    """Return the collection as JSON. base_url: of the service, without a slash at the end."""
    return orjson.dumps(_collection(openapi.document(), base_url), option=orjson.OPT_INDENT_2)


def _collection(document: Node, base_url: str) -> Node:
    """Return the collection, with a folder for each tag. Its users type in their own key and secret."""
    operations = list(openapi.operations(document))
    variables = (
        ("baseUrl", base_url, "The service, without /v1."),
        ("apiKey", "", "The API key."),
        ("secret", "", "The key's secret. It stays in Postman: the script sends the signature only."),
    )
    info = document["info"]
    script = {"type": "text/javascript", "exec": SCRIPT.read_text().splitlines()}
    return {
        "info": {"name": info["title"], "description": info.get("description", ""), "schema": SCHEMA},
        "item": [
            {"name": tag, "item": [_item(document, one) for one in operations if one.spec["tags"] == [tag]]}
            for tag in dict.fromkeys(one.spec["tags"][0] for one in operations)
        ],
        "event": [{"listen": "prerequest", "script": script}],
        "variable": [
            {"key": key, "value": value, "type": "string", "description": text} for key, value, text in variables
        ],
    }


def _item(document: Node, operation: Operation) -> Node:
    # A variable of a path is :name in Postman.
    segments = operation.path.strip("/").replace("{", ":").replace("}", "").split("/")
    query = _values(document, operation, "query")
    sent = "&".join(f"{one['key']}={one['value']}" for one in query if not one["disabled"])
    request: dict[str, Any] = {
        "method": operation.method,
        "description": operation.spec.get("description", ""),
        "header": _values(document, operation, "header"),
        "url": {
            "raw": "{{baseUrl}}/" + "/".join(segments) + (f"?{sent}" if sent else ""),
            "host": ["{{baseUrl}}"],
            "path": segments,
            "query": query,
            "variable": _values(document, operation, "path"),
        },
    }
    for media_type, media in openapi.contents(document, operation.spec.get("requestBody", {})).items():
        _, example = openapi.examples(document, media)[0]
        text = orjson.dumps(example, option=orjson.OPT_INDENT_2).decode()
        request["header"].append({"key": "Content-Type", "value": media_type})
        request["body"] = {"mode": "raw", "raw": text, "options": {"raw": {"language": "json"}}}
    return {"name": operation.spec["summary"], "request": request}


def _values(document: Node, operation: Operation, place: str) -> list[Node]:
    """Return the parameters in one place with their examples; optional ones are disabled."""
    return [
        {
            "key": one["name"],
            "value": openapi.example(document, one),
            "description": one.get("description", ""),
            "disabled": not openapi.is_usual(one),
        }
        # Postman makes a new UUID for each request.
        | ({"value": "{{$guid}}", "disabled": False} if one["name"] == "Idempotency-Key" else {})
        for one in operation.parameters
        if one["in"] == place
    ]
