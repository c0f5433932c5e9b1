"""The description of the API, docs/openapi.yaml: valid, complete and served."""

import re
from collections.abc import Iterator
from typing import Any, cast
from uuid import uuid4

import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from config.urls import api_urlpatterns
from core import formats as forms
from events.models import MAX_URL_LENGTH, EventType
from events.webhooks.deliveries import TEST_TYPE
from partners.api.lists import DEFAULT_LIMIT, MAX_LIMIT
from partners.api.serializers import TextField
from sandbox.self_service import MAX_HOURS
from sandbox.simulated import MAX_ITEMS
from sandbox.views import Fault
from tests.support import drift
from tests.support.client import in_process
from transactions import imports
from transactions.api import CURSOR
from transactions.documents import file_types
from transactions.models import CONVERSION_ID_PATTERN, CURRENCY_PATTERN, DocumentType
from users.api.serializers import CREATE
from users.models import RequirementCode, RequirementState, Status, User
from users.models.statuses import StatusReason
from users.profile.addresses import rules_for
from users.profile.field_rules import COUNTRY_CODES

DOCUMENT = drift.described().document
resolve = drift.described().resolve
EVENT: dict[str, Any] = {"$ref": "#/components/schemas/Event"}
NEW_USER: dict[str, Any] = {"$ref": "#/components/schemas/NewUser"}


def operations() -> list[tuple[str, str, Any]]:
    return [(path, method, one) for path, methods in DOCUMENT["paths"].items() for method, one in methods.items()]


def test_the_document_is_valid_openapi_3_1() -> None:
    assert DOCUMENT["openapi"].startswith("3.1")
    OpenAPIV31SpecValidator(DOCUMENT).validate()


def patterns(node: Any) -> Iterator[str]:
    """Every `pattern` of the document."""
    if isinstance(node, dict):
        if isinstance(node.get("pattern"), str):
            yield node["pattern"]
        for one in node.values():
            yield from patterns(one)
    elif isinstance(node, list):
        for one in node:
            yield from patterns(one)


def test_patterns_are_whole_and_of_every_dialect() -> None:
    """tests/generated compiles them. Some validators match whole values, others search."""
    found = set(patterns(DOCUMENT))
    assert len(found) > 10
    for pattern in found:
        assert (pattern[0], pattern[-1]) == ("^", "$"), pattern
        assert not re.search(r"\\[uUpPkAzZ1-9]|\(\?(?!:)", pattern), pattern


def test_values_may_be_added_to_responses_but_for_error_and_status() -> None:
    components = DOCUMENT["components"]["schemas"]
    growing = {"Requirement.code", "StatusChanged.statusReason", "UserSummary.statusReason"}
    assert growing <= {where for where, one in fields() if "x-extensible-enum" in one}
    assert "x-extensible-enum" in components["Webhook"]["properties"]["types"]["items"]
    assert components["UserSummary"]["properties"]["status"]["$ref"].endswith("/UserStatus")


def test_it_is_served_to_everybody() -> None:
    response = in_process("GET", "/openapi.json", {}, b"")
    assert (response.status, response.header("Content-Type")) == (200, "application/json")
    assert response.json() == DOCUMENT


@pytest.mark.parametrize(
    ("schema", "value"), [pytest.param(*rest, id=where) for where, *rest in drift.examples_of(DOCUMENT)]
)
def test_each_example_is_valid(schema: Any, value: Any) -> None:
    assert [error.message for error in drift.described().validator(schema).iter_errors(value)] == []


def test_every_type_of_event_is_described() -> None:
    schemas = DOCUMENT["components"]["schemas"]
    options = [schemas[option["$ref"].rpartition("/")[2]] for option in schemas["Event"]["anyOf"]]
    assert [option["properties"]["type"].get("const", "") for option in options] == [*EventType.values, ""]


def test_a_type_of_event_that_is_not_described_yet_is_valid() -> None:
    event = {"eventId": str(uuid4()), "type": "user.renamed", "createdAt": "2026-01-15T10:30:00.123456Z", "data": {}}
    assert drift.described().validator(EVENT).is_valid(event)
    assert not drift.described().validator(EVENT).is_valid(event | {"type": EventType.STATUS_CHANGED.value})


@pytest.mark.parametrize("kind", [*EventType.values, TEST_TYPE])
def test_a_webhook_is_described_by_its_headers_and_its_event(kind: str) -> None:
    webhook = DOCUMENT["webhooks"][kind]["post"]
    headers = [resolve(one) for one in webhook["parameters"]]
    assert [one["name"] for one in headers] == ["webhook-id", "webhook-timestamp", "webhook-signature"]
    (content,) = webhook["requestBody"]["content"].values()
    (example,) = content["examples"].values()
    assert example["value"]["type"] == kind
    assert drift.described().validator(content["schema"]).is_valid(example["value"])
    # The signature is in the headers, and needs no key of the API.
    assert webhook["security"] == []


def test_there_are_examples_of_every_body_and_answer() -> None:
    for path, method, operation in operations():
        where = f"{method} {path}"
        assert all(content["examples"] for content in operation.get("requestBody", {}).get("content", {}).values())
        for status, response in operation["responses"].items():
            for media_type, content in resolve(response)["content"].items():
                assert content.get("examples") or media_type != "application/json", f"{where} {status}"


def fields() -> Iterator[tuple[str, Any]]:
    """Every property of a component, parameter and header, and where it is."""
    for name, schema in DOCUMENT["components"]["schemas"].items():
        yield from properties(name, schema)
    for kind in ("parameters", "headers"):
        yield from ((f"{kind} {name}", one) for name, one in DOCUMENT["components"][kind].items())
    for path, method, operation in operations():
        for one in operation.get("parameters", []):
            whole = resolve(one)
            yield f"{method} {path} {whole['name']}", whole


def properties(where: str, schema: Any) -> Iterator[tuple[str, Any]]:
    for name, one in schema.get("properties", {}).items():
        yield f"{where}.{name}", one
        yield from properties(f"{where}.{name}", one)
        yield from properties(f"{where}.{name}[]", one.get("items", {}))


def test_the_example_of_a_field_is_valid() -> None:
    for where, one in fields():
        # Those of parameters and headers: test_each_example_is_valid.
        values = one["examples"] if isinstance(one["examples"], list) else []
        problems = [error.message for value in values for error in drift.described().validator(one).iter_errors(value)]
        assert problems == [], where


def test_the_three_headers_of_a_signature_are_described_once_and_needed_together() -> None:
    schemes = DOCUMENT["components"]["securitySchemes"]
    signing = {"X-Api-Key", "X-Request-Timestamp", "X-Request-Signature"}
    assert {scheme["name"] for scheme in schemes.values()} == signing
    assert {(scheme["type"], scheme["in"]) for scheme in schemes.values()} == {("apiKey", "header")}
    assert DOCUMENT["security"] == [{name: [] for name in schemes}]
    for path, method, operation in operations():
        assert "security" not in operation, f"{method} {path}"
        names = {resolve(one)["name"] for one in operation["parameters"]}
        assert not names & signing


def test_every_operation_takes_the_header_that_simulates_a_failure() -> None:
    reference = {"$ref": "#/components/parameters/X-Sandbox-Fault"}
    assert all(reference in operation["parameters"] for _, _, operation in operations())
    described = DOCUMENT["components"]["parameters"]["X-Sandbox-Fault"]
    assert all(f"`{fault}`" in described["description"] for fault in Fault)


def test_every_method_of_every_route_is_described_and_the_reverse() -> None:
    routed = set()
    # All but what leads nowhere.
    for pattern in api_urlpatterns[:-1]:
        path = re.sub(r"<str:(\w+)>", lambda name: f"{{{_camel_case(name[1])}}}", f"/{pattern.pattern}")
        view = cast("Any", pattern.callback).view_class
        methods = set(view.http_method_names) - {"options", "head"}
        routed |= {(path, method) for method in methods if hasattr(view, method)}
    assert {(path, method) for path, method, _ in operations()} == routed


def _camel_case(name: str) -> str:
    return re.sub("_([a-z])", lambda letter: letter[1].upper(), name)


SCHEMAS = DOCUMENT["components"]["schemas"]
PARAMETERS = DOCUMENT["components"]["parameters"]
NEW = SCHEMAS["NewUser"]
AS_IN_CODE = {
    "countries": (SCHEMAS["Country"]["enum"], sorted(COUNTRY_CODES)),
    "document types": (SCHEMAS["DocumentKind"]["enum"], DocumentType.values),
    "event types": (SCHEMAS["EventType"]["enum"], EventType.values),
    "requirement codes": (SCHEMAS["RequirementCode"]["enum"], RequirementCode.values),
    "faults": (SCHEMAS["SandboxFault"]["enum"], [*Fault]),
    "statuses": (SCHEMAS["UserStatus"]["enum"], Status.values),
    "reasons": (SCHEMAS["UserSummary"]["properties"]["statusReason"]["x-extensible-enum"], StatusReason.values),
    "document types, received": (SCHEMAS["Document"]["properties"]["type"]["x-extensible-enum"], DocumentType.values),
    "requirement codes, received": (
        SCHEMAS["Requirement"]["properties"]["code"]["x-extensible-enum"],
        RequirementCode.values,
    ),
    "states of requirements": (
        SCHEMAS["Requirement"]["properties"]["state"]["x-extensible-enum"],
        RequirementState.values,
    ),
    "content types": (
        SCHEMAS["Document"]["properties"]["contentType"]["x-extensible-enum"],
        list(file_types.EXTENSIONS),
    ),
    "limit": (PARAMETERS["limit"]["schema"]["maximum"], MAX_LIMIT),
    "default limit": (PARAMETERS["limit"]["schema"]["default"], DEFAULT_LIMIT),
    "cursor": (PARAMETERS["cursor"]["schema"]["pattern"], CURSOR.pattern),
    "amount": (SCHEMAS["Money"]["properties"]["amount"]["pattern"], f"^{imports.DECIMAL_PATTERN}$"),
    "currency": (SCHEMAS["Money"]["properties"]["currency"]["pattern"], f"^{CURRENCY_PATTERN}$"),
    "conversionId": (
        SCHEMAS["Conversion"]["properties"]["conversionId"]["pattern"],
        f"^{CONVERSION_ID_PATTERN}$",
    ),
    "idempotency key": (PARAMETERS["Idempotency-Key"]["schema"]["pattern"], f"^{forms.UUID_PATTERN}$"),
    "fields": (list(NEW["properties"]), list(CREATE.fields)),
    "required": (NEW["required"], [name for name, one in CREATE.fields.items() if one.required]),
    "changes": (list(SCHEMAS["UserChanges"]["properties"]), list(NEW["properties"])[1:]),
    "overlap": (SCHEMAS["Overlap"]["properties"]["overlapHours"]["maximum"], MAX_HOURS),
    "simulated at once": (SCHEMAS["SimulatedConversions"]["properties"]["items"]["maxItems"], MAX_ITEMS),
    "webhook URL": (SCHEMAS["WebhookSettings"]["properties"]["url"]["maxLength"], MAX_URL_LENGTH),
}


@pytest.mark.parametrize(("described", "used"), AS_IN_CODE.values(), ids=AS_IN_CODE)
def test_a_value_is_described_as_the_code_has_it(described: object, used: object) -> None:
    assert described == used


@pytest.mark.parametrize("schema", [NEW, SCHEMAS["UserChanges"]])
def test_a_text_is_as_long_as_its_column(schema: Any) -> None:
    texts = {name: one for name, one in CREATE.fields.items() if isinstance(one, TextField)}
    assert len(texts) >= 7
    columns: dict[str, Any] = {name: User._meta.get_field(str(one.source)) for name, one in texts.items()}
    lengths = {name: column.max_length for name, column in columns.items()}
    assert {name: schema["properties"][name]["maxLength"] for name in texts} == lengths


@pytest.mark.parametrize(("country", "schema"), [("CA", NEW), ("US", NEW["else"])])
def test_addresses_of_two_countries_are_described_as_their_rules(country: str, schema: Any) -> None:
    rules = rules_for(country)
    assert schema["if"]["properties"]["country"] == {"const": country}
    assert rules.postal_code_form
    form = rules.postal_code_form.pattern.removeprefix("^").removesuffix("$")
    properties = schema["then"]["properties"]
    assert properties["postalCode"]["pattern"] == f"^{form}$"
    assert properties["province"]["enum"] == sorted({province.code for province in rules.provinces.values()})


def test_every_error_of_the_contract_is_described_somewhere() -> None:
    statuses = {status for _, _, operation in operations() for status in operation["responses"]}
    assert statuses >= {"200", "201", "400", "401", "404", "409", "413", "415", "422", "429", "500", "503"}
