"""Postprocessing of the OpenAPI document (drf-spectacular's POSTPROCESSING_HOOKS): links, shared headers."""

from typing import Any

_USER = {"externalId": "$response.body#/externalId"}
_WEBHOOK = {"webhookId": "$response.body#/webhookId"}
_NEXT_PAGE = _USER | {"cursor": "$response.body#/nextCursor"}
# The keys are operation and status; the values the next operations, and where their parameters are in the response.
LINKS = {
    ("createUser", "201"): dict.fromkeys(("getUser", "updateUser", "listTransactions", "listDocuments"), _USER),
    ("listTransactions", "200"): {"listTransactions": _NEXT_PAGE},
    ("listDocuments", "200"): {
        "listDocuments": _NEXT_PAGE,
        "getDocument": _USER | {"documentId": "$response.body#/items/0/documentId"},
    },
    ("addWebhook", "201"): dict.fromkeys(("testWebhook", "rotateWebhookSecret", "removeWebhook"), _WEBHOOK),
    ("listEvents", "200"): {"listEvents": {"cursor": "$response.body#/nextCursor"}},
}


def complete(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """Add links, require bodies, move headers to the components, and remove drf-spectacular's marks of enums."""
    headers: dict[str, Any] = {}
    for operation in (operation for path in result["paths"].values() for operation in path.values()):
        if "requestBody" in operation:
            # drf-spectacular makes the body of a PATCH optional.
            operation["requestBody"]["required"] = True
        for status, response in operation["responses"].items():
            for name, header in response["headers"].items():
                if headers.setdefault(name, header) != header:
                    raise ValueError(f"Header {name} has two descriptions.")
                response["headers"][name] = {"$ref": f"#/components/headers/{name}"}
            for target, parameters in LINKS.get((operation["operationId"], status), {}).items():
                link = {"operationId": target, "parameters": parameters}
                response.setdefault("links", {})[target] = link
    result["components"]["headers"] = headers
    for schema in result["components"]["schemas"].values():
        for field in schema.get("properties", {}).values():
            field.pop("x-spec-enum-id", None)
            field.get("items", {}).pop("x-spec-enum-id", None)
    return result
