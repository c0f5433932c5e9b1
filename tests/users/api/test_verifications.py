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
from tests.support.responses import assert_error, codes
from users.file import entries
from users.file.kinds import IDENTITY_VERIFICATION
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


@pytest.fixture(params=Mode)
def client(request: pytest.FixtureRequest, db: None, transport: Transport) -> PartnerClient:
    """A client of a partner of each mode, with a user `ada`."""
    client = factories.client_of(factories.PartnerFactory.create(mode=request.param), transport)
    client.post("/v1/users", factories.user_body(externalId="ada"))
    return client


def send(client: PartnerClient, body: Any = CREDIT_FILE, **changed: Any) -> dict[str, Any]:
    response = client.post(PATH, body | changed)
    assert response.status == 201, response.body
    record: dict[str, Any] = response.json()
    return record


def refused(client: PartnerClient, body: dict[str, Any], *without: str, **changed: Any) -> dict[str, str]:
    sent = {name: value for name, value in (body | changed).items() if name not in without}
    return codes(client.post(PATH, sent))


def by_staff(user: User) -> FileEntry:
    reviewer = factories.StaffFactory.create()
    born = user.date_of_birth
    return entries.record(user_id=user.pk, born=born, kind="identityVerification", data=PASSPORT, by=reviewer)


def test_a_record_is_answered_listed_and_shown_with_the_user_and_the_newest_counts(client: PartnerClient) -> None:
    records: list[dict[str, Any]] = []
    for method, body in METHODS.items():
        before = client.get(ADA).json()
        assert before["verification"] == (records[0] if records else None)

        record = send(client, body)

        assert list(record) == ["verificationId", "createdAt", "method", "verifiedOn", "expiresOn"]
        assert uuid.UUID(record["verificationId"])
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", record["createdAt"])
        assert (record["method"], record["verifiedOn"], record["expiresOn"]) == (method, "2026-01-15", None)
        records.insert(0, record)
        assert client.get(PATH).json() == {"items": records}
        # updatedAt does not move: neither profile nor status has changed.
        assert client.get(ADA).json() == client.patch(ADA, {}).json() == before | {"verification": record}
    assert client.patch(ADA, {"city": "Ottawa"}).json()["verification"] == records[0]
    # No event tells of it.
    assert client.get("/v1/events").json()["items"] == []


def test_the_simulated_status_shows_it(sandbox: PartnerClient) -> None:
    sandbox.post("/v1/users", factories.user_body(externalId="ada"))
    record = send(sandbox)
    moved = sandbox.post("/v1/sandbox/users/ada/status", {"status": "active"})
    assert moved.json()["verification"] == record


def test_each_method_has_its_fields(api: PartnerClient, user: User) -> None:
    for method, body in METHODS.items():
        assert {name: refused(api, body, name) for name in body} == {name: {name: "required"} for name in body}, method
    for body, others in (
        (CREDIT_FILE, [name for name in PASSPORT if name not in CREDIT_FILE]),
        (PASSPORT, ["source", "reference", "sources"]),
    ):
        unknown = {name: refused(api, body, **{name: "x"}) for name in others}
        assert unknown == {name: {name: "unknown"} for name in others}


WRONG: list[tuple[dict[str, Any], dict[str, Any], dict[str, str]]] = [
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
]


@pytest.mark.usefixtures("within_one_day")
def test_what_does_not_fit_is_named(api: PartnerClient, user: User) -> None:
    assert [(body, changed, refused(api, body, **changed)) for body, changed, _found in WRONG] == WRONG
    # It was verified by today in the compliance time zone, and not before the birth.
    tomorrow = field_rules.today() + timedelta(days=1)
    assert refused(api, CREDIT_FILE, verifiedOn=tomorrow.isoformat()) == {"verifiedOn": "range"}
    assert api.get(PATH).json() == {"items": []}
    send(api, verifiedOn=field_rules.today().isoformat())
    send(api, verifiedOn="1990-12-10")


def test_country_and_subdivision_are_stored_as_of_a_user_and_a_document_may_have_expired_since(
    api: PartnerClient, user: User
) -> None:
    record = send(api, PASSPORT, issuingSubdivision="qc", expiresOn="2026-01-15")
    assert record["expiresOn"] == "2026-01-15"
    fields = FileEntry.objects.get().fields
    assert (fields["issuingCountry"], fields["issuingSubdivision"]) == ("CA", "QC")


@pytest.mark.parametrize("status", [Status.SUSPENDED, Status.REJECTED, Status.CLOSED])
def test_a_user_who_is_rejected_or_closed_is_a_conflict_and_one_who_is_suspended_is_none(
    api: PartnerClient, user: User, status: Status
) -> None:
    factories.decide(user, status)
    if status != Status.SUSPENDED:
        by_staff(user)
        assert_error(api.post(PATH, CREDIT_FILE), 409)
        # The body is checked before.
        assert_error(api.post(PATH, {}), 400)
    else:
        send(api)
    assert len(api.get(PATH).json()["items"]) == 1


def test_the_twenty_first_record_is_a_conflict_for_the_partner_alone(api: PartnerClient, user: User) -> None:
    send(api)
    FileEntry.objects.bulk_create(
        entries.new_entry(IDENTITY_VERIFICATION, PASSPORT, user_id=user.pk) for _ in range(18)
    )
    by_staff(user)
    assert_error(api.post(PATH, CREDIT_FILE), 409)
    # Compliance still can: otherwise nobody could once a document has expired.
    newest = by_staff(user)
    found = api.get(PATH).json()["items"]
    assert len(found) == 21
    # It is shown without whose it is.
    assert found[0] == api.get(ADA).json()["verification"]
    assert found[0]["verificationId"] == str(newest.pk)


def test_another_partners_user_is_not_found(api: PartnerClient, user: User, other_api: PartnerClient) -> None:
    assert_error(other_api.get(PATH), 404)
    assert_error(other_api.post(PATH, CREDIT_FILE), 404)
    assert_error(api.post("/v1/users/bob/verifications", {}), 404)
    assert {one["field"] for one in assert_error(api.get("/v1/users/%20/verifications"), 400)["fieldErrors"]} == {
        "externalId"
    }


def test_with_a_key_it_is_recorded_once_and_without_one_a_signature_is_accepted_once(
    api: PartnerClient, user: User
) -> None:
    key = str(uuid.uuid4())
    first, again = (api.post(PATH, CREDIT_FILE, key=key) for _ in range(2))
    assert (first.status, again.status, again.body) == (201, 201, first.body)
    assert again.header("Idempotent-Replayed") == "true"
    assert_error(api.post(PATH, RELIANCE, key=key), 400)
    timestamp = first.json()["createdAt"]
    assert api.post(PATH, RELIANCE, timestamp=timestamp).status == 201
    assert_error(api.post(PATH, RELIANCE, timestamp=timestamp), 401)
    assert len(api.get(PATH).json()["items"]) == 2


def test_numbers_and_references_are_stored_encrypted_and_given_back_nowhere(
    client: PartnerClient, caplog: pytest.LogCaptureFixture
) -> None:
    seen = []
    for body in METHODS.values():
        key = str(uuid.uuid4())
        assert client.post(PATH, body, key=key).status == 201
        seen.append(client.get(f"/v1/idempotency-keys/{key}").body.decode())
        assert_error(client.post(PATH, body | {"verifiedOn": "tomorrow"}), 400)
    seen += [client.get(path).body.decode() for path in (ADA, PATH, "/v1/users", "/v1/events")]
    assert NUMBER not in "".join(seen) + caplog.text
    with connection.cursor() as cursor:
        for table in ("users_fileentry", "core_auditentry", "partners_idempotencyrecord", "partners_sandboxrequest"):
            cursor.execute(f"SELECT string_agg(t::text, '') FROM {table} t")
            assert NUMBER not in (cursor.fetchone()[0] or ""), table
    reviewer = factories.StaffFactory.create()
    secrets = {
        entry.fields["method"]: {
            line.secret: entries.reveal(entry=entry, secret=line.secret, by=reviewer)
            for line in entries.described(entry)
            if line.secret
        }
        for entry in FileEntry.objects.all()
    }
    assert secrets == {
        "photoDocument": {"documentNumber": NUMBER},
        "dualProcess": {"sources[0].reference": NUMBER, "sources[1].reference": NUMBER},
        "creditFile": {"reference": NUMBER},
        "reliance": {"reference": NUMBER},
    }


def test_it_leaves_a_line_in_the_audit_log_of_who(api: PartnerClient, user: User) -> None:
    record = send(api, PASSPORT)
    [line] = AuditEntry.objects.filter(action="fileEntry.recorded")
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
