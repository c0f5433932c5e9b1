"""The calls that the reference shows, run as they are shown, beside the client that each of them uses."""

import json
import re
import secrets
import sys
from typing import Any

import pytest
from django.utils import timezone

import psi
from partners.events.relay import Relay
from partners.models import Mode
from portal import openapi
from portal.reference.calls import Call
from portal.reference.operations import operations
from tests import factories
from tests.examples.calling import Access
from tests.examples.languages import BASH, NODE, PYTHON, Workshop
from tests.live.conftest import Server
from tests.support.client import PartnerClient
from tests.support.documents import add_document
from users.models import Status, User

PROGRAMS = {"Python": (PYTHON, sys.executable), "Node.js": (NODE, "node"), "curl": (BASH, "bash")}
CALLS: dict[str, dict[str, Call]] = {
    operation["id"]: {call.language: call for call in operation["calls"]}
    for operation in operations(openapi.document())
}
# What a call prints, by its operation.
EXPECTED = {
    "ping": "live",
    "getUser": "pendingCompliance",
    "updateUser": "pendingCompliance",
    "listUsers": "cust-1001",
    "listTransactions": "rate",
    "listDocuments": "sha256",
    "listEvents": "user.statusChanged",
}
PDF = b"%PDF-1.7\n\0\xff%%EOF\n\n"

pytestmark = pytest.mark.parametrize("language", PROGRAMS)


def run(place: Workshop, access: Access, language: str, operation: str, **replaced: str) -> tuple[str, str]:
    """What the call printed and complained of. replaced: other text in it, by its present text."""
    needed, program = PROGRAMS[language]
    call = CALLS[operation][language]
    text = call.text
    for old, new in replaced.items():
        assert old in text
        text = text.replace(old, new)
    # Not under the name of a snippet, which lies there too.
    name = f"reference_{call.name}"
    (place.built(needed).folder / name).write_text(text)
    done = place.run((program, name), access.environment())
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode(), done.stderr.decode()


def test_a_user_is_created(place: Workshop, access: Access, language: str, client: PartnerClient) -> None:
    printed, _complaint = run(place, access, language, "createUser")
    assert "pendingCompliance" in printed
    assert client.get("/v1/users/cust-1001").status == 200


@pytest.mark.parametrize("operation", EXPECTED)
def test_a_call_succeeds(place: Workshop, access: Access, language: str, operation: str, user: User) -> None:
    if operation == "listTransactions":
        factories.add_conversions(user, [timezone.now()])
    elif operation == "listDocuments":
        add_document(user, PDF)
    elif operation == "listEvents":
        factories.decide(user, Status.ACTIVE)
        Relay().assign_positions()
    printed, _complaint = run(place, access, language, operation)
    assert EXPECTED[operation] in printed


def test_a_call_that_refuses_a_key_succeeds(
    place: Workshop, server: Server, language: str, django_db_blocker: Any
) -> None:
    with django_db_blocker.unblock():
        partner = factories.PartnerFactory.create(slug=f"sandbox-{secrets.token_hex(4)}", mode=Mode.SANDBOX)
        client = factories.client_of(partner, server.transport)
    access = Access(f"http://127.0.0.1:{server.port}", client.api_key, client.secret)
    printed, _complaint = run(place, access, language, "rotateApiKey")
    assert "psi_test_secret_" in printed


def test_a_document_is_stored_as_it_is(place: Workshop, access: Access, language: str, user: User) -> None:
    document = add_document(user, PDF)
    shown = next(iter(openapi.document()["paths"]["/v1/users/{externalId}/documents/{documentId}"].values()))
    example = next(one for one in shown["parameters"] if one.get("name") == "documentId")["examples"]
    (place.folder / "document").unlink(missing_ok=True)
    run(place, access, language, "getDocument", **{next(iter(example.values()))["value"]: str(document.document_id)})
    assert (place.folder / "document").read_bytes() == PDF


def test_a_body_is_the_example_of_the_description(language: str) -> None:
    media = openapi.document()["paths"]["/v1/users"]["post"]["requestBody"]["content"]["application/json"]
    example = next(iter(media["examples"].values()))["value"]
    for name, value in example.items():
        assert json.dumps(name) in CALLS["createUser"][language].text
        assert str(value) in CALLS["createUser"][language].text or value is False


def test_each_operation_is_shown_by_a_method_that_the_packages_have(language: str) -> None:
    for calls in CALLS.values():
        if language == "curl":
            assert language in calls
            continue
        [used] = re.findall(r"client\.((?:sandbox\.)?\w+)\(", calls[language].text)
        name = re.sub("([A-Z])", r"_\1", used).lower()
        owner = psi.Sandbox if name.startswith("sandbox.") else psi.Client
        assert hasattr(owner, name.removeprefix("sandbox.")), name
