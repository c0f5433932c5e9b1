"""How identities were verified, as a partner sends and reads it: contract, section 15."""

import re
import uuid
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from core.models import AuditEntry
from partners.models import Mode
from tests import factories
from tests.support.client import PartnerClient, Transport
from tests.support.responses import assert_error
from users.file import entries
from users.models import FileEntry, Status, User
from users.profile import field_rules

ADA = "/v1/users/ada"
PATH = f"{ADA}/verifications"
NUMBER = "P-4711-0815"
PASSPORT: dict[str, Any] = {
    "method": "photoDocument",
    "verifiedOn": "2026-01-15",
    "documentType": "passport",
    "documentNumber": NUMBER,
    "issuingCountry": "ca",
}
CREDIT_FILE = {"method": "creditFile", "verifiedOn": "2026-01-15", "source": "Maple Bureau", "reference": NUMBER}
RELIANCE = CREDIT_FILE | {"method": "reliance"}
SOURCES = [
    {"source": "Maple Bureau", "information": "nameAndAddress", "reference": NUMBER},
    {"source": "A Bank", "information": "nameAndAccount", "reference": NUMBER},
]
DUAL = {"method": "dualProcess", "verifiedOn": "2026-01-15", "sources": SOURCES}
METHODS = {one["method"]: one for one in (PASSPORT, CREDIT_FILE, RELIANCE, DUAL)}


@pytest.fixture(params=["live", "sandbox"])
def client(request: pytest.FixtureRequest, db: None, transport: Transport) -> PartnerClient:
    partner = factories.PartnerFactory.create(mode=Mode(request.param))
    client = factories.client_of(partner, transport)
    client.post("/v1/users", factories.user_body(externalId="ada", dateOfBirth="1990-12-10"))
    return client


def send(client: PartnerClient, body: Any = CREDIT_FILE, **changed: Any) -> dict[str, Any]:
    response = client.post(PATH, body | changed)
    assert response.status == 201, response.body
    record: dict[str, Any] = response.json()
    return record


def codes(client: PartnerClient, body: dict[str, Any], *without: str, **changed: Any) -> dict[str, str]:
    sent = {name: value for name, value in (body | changed).items() if name not in without}
    return {error["field"]: error["code"] for error in assert_error(client.post(PATH, sent), 400)["fieldErrors"]}


@pytest.mark.parametrize("method", METHODS)
def test_a_record_is_answered_listed_and_shown_with_the_user(client: PartnerClient, method: str) -> None:
    before = client.get(ADA).json()
    assert before["verification"] is None

    record = send(client, METHODS[method])

    assert list(record) == ["verificationId", "createdAt", "method", "verifiedOn", "expiresOn"]
    assert uuid.UUID(record["verificationId"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", record["createdAt"])
    assert (record["method"], record["verifiedOn"], record["expiresOn"]) == (method, "2026-01-15", None)
    assert client.get(PATH).json() == {"items": [record]}
    # updatedAt does not move: neither profile nor status has changed.
    assert client.get(ADA).json() == before | {"verification": record}
    assert client.patch(ADA, {}).json() == before | {"verification": record}
    assert client.patch(ADA, {"city": "Ottawa"}).json()["verification"] == record


def test_the_newest_counts_and_is_the_first(client: PartnerClient) -> None:
    records = [send(client), send(client, PASSPORT, expiresOn="2031-04-30"), send(client)]
    assert client.get(PATH).json()["items"] == records[::-1]
    assert client.get(ADA).json()["verification"] == records[-1]
    assert records[1]["expiresOn"] == "2031-04-30"


def test_the_simulated_status_shows_it(sandbox: PartnerClient) -> None:
    sandbox.post("/v1/users", factories.user_body(externalId="ada"))
    record = send(sandbox)
    moved = sandbox.post("/v1/sandbox/users/ada/status", {"status": "active"})
    assert moved.json()["verification"] == record


@pytest.mark.parametrize(
    ("body", "name", "code"),
    [(METHODS[method], name, "required") for method in METHODS for name in METHODS[method]]
    + [(CREDIT_FILE, name, "unknown") for name in PASSPORT if name not in CREDIT_FILE]
    + [(PASSPORT, name, "unknown") for name in ("source", "reference", "sources")],
)
def test_each_method_has_its_fields(client: PartnerClient, body: dict[str, Any], name: str, code: str) -> None:
    if code == "required":
        assert codes(client, body, name) == {name: code}
    else:
        assert codes(client, body, **{name: "x"}) == {name: code}


@pytest.mark.parametrize(
    ("body", "changed", "found"),
    [
        (CREDIT_FILE, {"method": "selfie"}, {"method": "notAllowed"}),
        (CREDIT_FILE, {"method": ["creditFile"]}, {"method": "type"}),
        (CREDIT_FILE, {"method": "", "shoeSize": 9}, {"method": "length", "shoeSize": "unknown"}),
        (CREDIT_FILE, {"verifiedOn": "1990-12-09"}, {"verifiedOn": "range"}),
        (CREDIT_FILE, {"verifiedOn": "15.01.2026"}, {"verifiedOn": "format"}),
        (CREDIT_FILE, {"verifiedOn": 20260115}, {"verifiedOn": "type"}),
        (CREDIT_FILE, {"source": "", "reference": "x" * 101}, {"source": "length", "reference": "length"}),
        (CREDIT_FILE, {"source": "x" * 101, "reference": ""}, {"source": "length", "reference": "length"}),
        (PASSPORT, {"documentType": "ticket"}, {"documentType": "notAllowed"}),
        (PASSPORT, {"documentNumber": "x" * 51}, {"documentNumber": "length"}),
        (PASSPORT, {"issuingCountry": "ZZ"}, {"issuingCountry": "notAllowed"}),
        (PASSPORT, {"issuingSubdivision": "Texas"}, {"issuingSubdivision": "notAllowed"}),
        (PASSPORT, {"expiresOn": "2026-01-14"}, {"expiresOn": "range"}),
        (PASSPORT, {"expiresOn": None}, {"expiresOn": "type"}),
        (DUAL, {"sources": SOURCES[:1]}, {"sources": "length"}),
        (DUAL, {"sources": {}}, {"sources": "type"}),
        (DUAL, {"sources": [*SOURCES, SOURCES[0]]}, {"sources": "length"}),
        (DUAL, {"sources": [SOURCES[0] | {"source": ""}, SOURCES[1]]}, {"sources[0].source": "length"}),
        (DUAL, {"sources": [SOURCES[0], {}]}, {f"sources[1].{name}": "required" for name in SOURCES[0]}),
        (DUAL, {"sources": [SOURCES[0], SOURCES[1] | {"shoe": 1}]}, {"sources[1].shoe": "unknown"}),
        (
            DUAL,
            {"sources": [SOURCES[0], SOURCES[1] | {"source": "MAPLE bureau"}]},
            {"sources[1].source": "inconsistent"},
        ),
        (
            DUAL,
            {"sources": [SOURCES[0], SOURCES[1] | {"information": "nameAndAddress"}]},
            {"sources[1].information": "inconsistent"},
        ),
    ],
)
def test_what_does_not_fit_is_named(
    client: PartnerClient, body: dict[str, Any], changed: dict[str, Any], found: dict[str, str]
) -> None:
    assert codes(client, body, **changed) == found
    assert client.get(PATH).json() == {"items": []}


@pytest.mark.usefixtures("within_one_day")
def test_it_was_verified_by_today_in_the_compliance_time_zone(client: PartnerClient) -> None:
    today = field_rules.today()
    send(client, verifiedOn=today.isoformat())
    send(client, verifiedOn="1990-12-10")
    assert codes(client, CREDIT_FILE, verifiedOn=(today + timedelta(days=1)).isoformat()) == {"verifiedOn": "range"}


def test_a_document_that_has_expired_since_is_a_record(client: PartnerClient) -> None:
    assert send(client, PASSPORT, expiresOn="2026-01-15")["expiresOn"] == "2026-01-15"


def test_country_and_subdivision_are_stored_as_of_a_user(client: PartnerClient) -> None:
    send(client, PASSPORT, issuingSubdivision="qc")
    fields = FileEntry.objects.get().fields
    assert (fields["issuingCountry"], fields["issuingSubdivision"]) == ("CA", "QC")


@pytest.mark.parametrize("status", ["rejected", "closed"])
def test_a_user_who_is_rejected_or_closed_is_a_conflict(api: PartnerClient, user: User, status: str) -> None:
    send(api)
    factories.decide(user, status)
    assert_error(api.post(PATH, CREDIT_FILE), 409)
    # The body is checked before.
    assert_error(api.post(PATH, {}), 400)
    assert len(api.get(PATH).json()["items"]) == 1


def test_the_twenty_first_record_is_a_conflict_for_the_partner_alone(api: PartnerClient, user: User) -> None:
    for _ in range(19):
        send(api)
    by_staff(user)
    assert_error(api.post(PATH, CREDIT_FILE), 409)
    # Compliance still can: otherwise nobody could once a document has expired.
    by_staff(user)
    assert len(api.get(PATH).json()["items"]) == 21


def by_staff(user: User) -> FileEntry:
    reviewer = factories.StaffFactory.create()
    born = user.date_of_birth
    return entries.record(user_id=user.pk, born=born, kind="identityVerification", data=PASSPORT, by=reviewer)


def test_a_record_of_staff_is_shown_without_whose_it_is(api: PartnerClient, user: User) -> None:
    entry = by_staff(user)
    shown = api.get(ADA).json()["verification"]
    assert shown["verificationId"] == str(entry.pk)
    assert api.get(PATH).json()["items"] == [shown]


def test_another_partners_user_is_not_found(api: PartnerClient, user: User, other_api: PartnerClient) -> None:
    assert_error(other_api.get(PATH), 404)
    assert_error(other_api.post(PATH, CREDIT_FILE), 404)
    assert_error(api.post("/v1/users/bob/verifications", {}), 404)
    assert {one["field"] for one in assert_error(api.get("/v1/users/%20/verifications"), 400)["fieldErrors"]} == {
        "externalId"
    }


def test_with_a_key_it_is_recorded_once_and_without_one_a_signature_is_accepted_once(client: PartnerClient) -> None:
    key = str(uuid.uuid4())
    first, again = (client.post(PATH, CREDIT_FILE, key=key) for _ in range(2))
    assert (first.status, again.status, again.body) == (201, 201, first.body)
    assert again.header("Idempotent-Replayed") == "true"
    assert_error(client.post(PATH, RELIANCE, key=key), 400)
    timestamp = first.json()["createdAt"]
    assert client.post(PATH, RELIANCE, timestamp=timestamp).status == 201
    assert_error(client.post(PATH, RELIANCE, timestamp=timestamp), 401)
    assert len(client.get(PATH).json()["items"]) == 2


@pytest.mark.parametrize("method", METHODS)
def test_numbers_and_references_are_stored_encrypted_and_given_back_nowhere(
    client: PartnerClient, method: str, caplog: pytest.LogCaptureFixture
) -> None:
    key = str(uuid.uuid4())
    client.post(PATH, METHODS[method], key=key)
    client.post(PATH, METHODS[method] | {"verifiedOn": "tomorrow"})
    seen = [client.get(path).body.decode() for path in (ADA, PATH, "/v1/users", "/v1/events")]
    seen.append(client.get(f"/v1/idempotency-keys/{key}").body.decode())
    assert NUMBER not in "".join(seen) + caplog.text
    with connection.cursor() as cursor:
        for table in ("users_fileentry", "core_auditentry", "partners_idempotencyrecord", "partners_sandboxrequest"):
            cursor.execute(f"SELECT string_agg(t::text, '') FROM {table} t")
            assert NUMBER not in (cursor.fetchone()[0] or ""), table
    entry = FileEntry.objects.get()
    names = {line.secret for line in entries.described(entry) if line.secret}
    assert names == {
        "photoDocument": {"documentNumber"},
        "dualProcess": {"sources[0].reference", "sources[1].reference"},
    }.get(method, {"reference"})
    reviewer = factories.StaffFactory.create()
    assert {entries.reveal(entry=entry, secret=name, by=reviewer) for name in names} == {NUMBER}


def test_it_leaves_a_line_in_the_audit_log_of_who(client: PartnerClient) -> None:
    record = send(client, PASSPORT)
    [line] = AuditEntry.objects.filter(action="fileEntry.recorded")
    user = User.objects.get()
    assert (line.actor, line.actor_kind, line.object) == (user.partner.slug, "partner", str(user.pk))
    assert (
        line.detail.items()
        >= {
            "entry": record["verificationId"],
            "kind": "identityVerification",
            "method": "photoDocument",
            "externalId": "ada",
        }.items()
    )
    assert "passport" not in str(line.detail)


def test_no_event_tells_of_it(client: PartnerClient) -> None:
    send(client)
    assert client.get("/v1/events").json()["items"] == []


def test_the_statuses_in_which_it_is_recorded(api: PartnerClient, user: User) -> None:
    factories.decide(user, Status.SUSPENDED)
    send(api)
