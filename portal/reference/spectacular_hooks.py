"""Postprocessing of the OpenAPI document (drf-spectacular's POSTPROCESSING_HOOKS)."""

from typing import Any

from drf_spectacular.generators import SchemaGenerator

from partners.webhooks.schema import HEADERS as WEBHOOK_HEADERS
from portal.reference.enumerations import name_enumerations
from portal.reference.openapi_examples import add_examples

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


def complete(result: dict[str, Any], generator: SchemaGenerator, **_: Any) -> dict[str, Any]:
    """Describe once what operations share, add links and examples, require bodies."""
    components = result["components"]
    # It has collected them before it made the webhooks.
    components["schemas"] = generator.registry.build({})["schemas"]
    components["headers"], components["parameters"] = {}, {}
    for operation in (operation for path in result["paths"].values() for operation in path.values()):
        _share(components, operation)
        # The same for all: said once, for the document.
        result["security"] = operation.pop("security")
        if "requestBody" in operation:
            # drf-spectacular makes the body of a PATCH optional.
            operation["requestBody"]["required"] = True
        for status, response in operation["responses"].items():
            for target, parameters in LINKS.get((operation["operationId"], status), {}).items():
                link = {"operationId": target, "parameters": parameters}
                response.setdefault("links", {})[target] = link
    for webhook in result["webhooks"].values():
        # drf-spectacular omits the parameters of webhooks.
        webhook["post"] |= {"parameters": WEBHOOK_HEADERS, "security": []}
        _share(components, webhook["post"])
    for schema in components["schemas"].values():
        schema["properties"] = {name: _plain(one) for name, one in schema.get("properties", {}).items()}
        if not schema["properties"]:
            del schema["properties"]
    name_enumerations(result)
    add_examples(result)
    return result


def _share(components: dict[str, Any], operation: dict[str, Any]) -> None:
    """Move the headers of a request and of its responses to the components."""
    operation["parameters"] = [
        _moved(components, "parameters", one["name"], one) if one["in"] == "header" else one
        for one in operation.get("parameters", [])
    ]
    if not operation["parameters"]:
        del operation["parameters"]
    for response in operation["responses"].values():
        for name, header in response.get("headers", {}).items():
            response["headers"][name] = _moved(components, "headers", name, header)


def _moved(components: dict[str, Any], kind: str, name: str, node: dict[str, Any]) -> dict[str, Any]:
    if components[kind].setdefault(name, node) != node:
        raise ValueError(f"Header {name} has two descriptions.")
    return {"$ref": f"#/components/{kind}/{name}"}


def _plain(described: dict[str, Any]) -> dict[str, Any]:
    """Return a property without drf-spectacular's mark of an enum, and with its reference beside its description.

    Code generators make an intersection of types of allOf, and a field required that has a default.
    """
    plain = {key: value for key, value in described.items() if key not in {"allOf", "default", "x-spec-enum-id"}}
    if "items" in plain:
        plain["items"] = {key: value for key, value in plain["items"].items() if key != "x-spec-enum-id"}
    for reference in described.get("allOf", []):
        plain |= reference
    return plain
