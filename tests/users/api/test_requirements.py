"""Reasons and requirements as a partner sees them: contract, section 13."""

import uuid
from datetime import timedelta
from typing import Any

import pytest

from core.database import statements
from tests import factories
from tests.support.client import PartnerClient
from tests.support.events import place_events
from tests.support.responses import assert_error, codes
from users.decisions.reasons import REASONS
from users.models import Requirement, RequirementResponse, Status, StatusChange, User
from users.models.columns import PROFILE_COLUMNS
from users.models.statuses import STATUS_REASONS, status_reason, status_reason_sql

USER = "/v1/users/ada"
SANDBOX_USER = "/v1/sandbox/users/ada"
REQUIREMENTS = f"{SANDBOX_USER}/requirements"
ADDRESS = {
    "code": "addressUnclear",
    "fields": ["postalCode", "addressLine1"],
    "message": "The postal code is not in the province.",
}
NEW_ADDRESS = {"addressLine1": "1 Elgin St", "postalCode": "K1P 5W1"}


@pytest.fixture
def sandbox(sandbox: PartnerClient) -> PartnerClient:
    assert sandbox.post("/v1/users", factories.user_body(externalId="ada")).status == 201
    return sandbox


def ask(client: PartnerClient, **body: Any) -> dict[str, Any]:
    response = client.post(REQUIREMENTS, ADDRESS | body)
    assert response.status == 201, response.body
    requirement: dict[str, Any] = response.json()
    return requirement


def response_path(requirement: dict[str, Any]) -> str:
    return f"{USER}/requirements/{requirement['requirementId']}/response"


def close(client: PartnerClient, requirement: dict[str, Any]) -> Any:
    return client.post(f"{REQUIREMENTS}/{requirement['requirementId']}/close", {})


def move(client: PartnerClient, status: str, reason_code: str | None = None) -> Any:
    body = {"status": status} | ({} if reason_code is None else {"reasonCode": reason_code})
    return client.post(f"{SANDBOX_USER}/status", body)


def shown(client: PartnerClient) -> dict[str, Any]:
    user: dict[str, Any] = client.get(USER).json()
    return user


def events(client: PartnerClient) -> list[tuple[str, dict[str, Any]]]:
    place_events()
    return [(item["type"], item["data"]) for item in client.get("/v1/events").json()["items"]]


# Reasons


MOVES = {
    "active": {"": "verified", "verified": "verified", "riskFlagsExplained": "verified", "other": "verified"},
    "rejected": {
        "notVerified": "notVerified",
        "duplicate": "duplicate",
        **dict.fromkeys(("notServed", "listed", "fraudSuspected", "other", ""), "notServed"),
    },
    "suspended": {
        "profileChanged": "informationMissing",
        "partnerRequest": "partnerRequest",
        **dict.fromkeys(("unusualActivity", "fraudSuspected", "listed", "other", ""), "underReview"),
    },
    "closed": {
        **{code: code for code in ("userRequest", "partnerRequest", "duplicate")},
        **dict.fromkeys(("notServed", "fraudConfirmed", "listed", "other", ""), "notServed"),
    },
}


def test_each_code_of_staff_has_the_reason_of_the_table(db: None) -> None:
    for (_start, end), reasons in REASONS.items():
        # To active any code is verified, and there is no reason to wait for a decision.
        if end not in {Status.ACTIVE, Status.PENDING_COMPLIANCE}:
            codes_of_move = {reason.value for reason in reasons}
            assert codes_of_move == MOVES[end].keys() - {""}
            assert codes_of_move <= STATUS_REASONS[Status(end)].keys()
    expected = {(status, code): reason for status, row in MOVES.items() for code, reason in row.items()}
    assert {pair: status_reason(*pair) for pair in expected} == expected
    # As the trigger of events has it.
    statement = f"""
        SELECT status, code, {status_reason_sql("status", "code")}
          FROM unnest(%s::text[], %s::text[]) AS _ (status, code)
    """
    found = statements.fetch_all(statement, [list(column) for column in zip(*expected, strict=True)])
    assert {(status, code): reason for status, code, reason in found} == expected


WALK = [
    ("rejected", "listed", "notServed"),
    ("pendingCompliance", "newInformation", None),
    ("active", None, "verified"),
    ("suspended", "profileChanged", "informationMissing"),
    ("active", "cleared", "verified"),
    ("closed", "userRequest", "userRequest"),
]


def test_the_partner_reads_the_reason_of_each_move_and_since_when(sandbox: PartnerClient) -> None:
    user = shown(sandbox)
    assert user["statusReason"] is None
    assert user["statusChangedAt"] == user["updatedAt"]
    for number, (status, code, reason) in enumerate(WALK):
        before, moved = user["statusChangedAt"], move(sandbox, status, code)
        user = shown(sandbox)
        assert moved.json() == user
        assert (user["status"], user["statusReason"]) == (status, reason)
        assert before < user["statusChangedAt"] <= user["updatedAt"]
        # It moves with the status alone.
        changed = sandbox.patch(USER, {"city": f"Town {number}"}).json()
        assert (changed["statusReason"], changed["statusChangedAt"]) == (reason, user["statusChangedAt"])
        assert changed["updatedAt"] > user["updatedAt"]
    assert [(kind, data["status"], data["statusReason"]) for kind, data in events(sandbox)] == [
        ("user.statusChanged", status, reason) for status, _code, reason in WALK
    ]


def test_a_reason_code_of_the_sandbox_is_one_of_the_moves(sandbox: PartnerClient) -> None:
    """Refused in any other case, and nothing changes."""
    before = shown(sandbox)
    for code in ("Verified", "duplicate", "any text", "", " ", "x" * 51, "a\tb", "\ud800"):
        refused = move(sandbox, "active", code)
        assert (refused.status, codes(refused)) == (400, {"reasonCode": "notAllowed"}), code
        assert "one of: verified" in refused.json()["fieldErrors"][0]["message"]
    assert codes(sandbox.post(f"{SANDBOX_USER}/status", {"status": "active", "reasonCode": 1})) == {
        "reasonCode": "type"
    }
    assert shown(sandbox) == before


# Requirements


def test_a_requirement_has_its_exact_form(sandbox: PartnerClient) -> None:
    before = shown(sandbox)

    requirement = ask(sandbox)

    row = Requirement.objects.get()
    assert requirement == {
        "requirementId": str(row.pk),
        "code": "addressUnclear",
        # In the order of the profile.
        "fields": ["addressLine1", "postalCode"],
        "message": "The postal code is not in the province.",
        "state": "open",
        "createdAt": row.created_at.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        "dueAt": (row.created_at + timedelta(days=14)).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
    }
    assert list(requirement) == ["requirementId", "code", "fields", "message", "state", "createdAt", "dueAt"]
    # Nothing else of the user changes.
    assert shown(sandbox) == before | {"requirements": [requirement]}
    assert User.objects.get().events.count() == 1


def test_a_requirement_may_have_a_code_alone(sandbox: PartnerClient) -> None:
    response = sandbox.post(REQUIREMENTS, {"code": "sourceOfFunds", "message": None, "dueInDays": 90})
    assert response.status == 201
    requirement = response.json()
    assert (requirement["fields"], requirement["message"]) == ([], None)
    assert Requirement.objects.get().due_in_days == 90


BAD_REQUIREMENTS: list[tuple[dict[str, Any], dict[str, str]]] = [
    ({}, {"code": "required"}),
    ({"code": "nothing"}, {"code": "notAllowed"}),
    ({"code": "other", "fields": ["city", "town"]}, {"fields[1]": "notAllowed"}),
    ({"code": "other", "fields": ["externalId"]}, {"fields[0]": "notAllowed"}),
    ({"code": "other", "fields": "city"}, {"fields": "type"}),
    ({"code": "other", "fields": [1]}, {"fields[0]": "type"}),
    ({"code": "other", "fields": [{"city": 1}]}, {"fields[0]": "type"}),
    ({"code": "other", "fields": None}, {"fields": "type"}),
    ({"code": "other", "fields": ["city"] * (len(PROFILE_COLUMNS) + 1)}, {"fields": "length"}),
    ({"code": "other", "message": "x" * 501}, {"message": "length"}),
    ({"code": "other", "message": 1}, {"message": "type"}),
    ({"code": "other", "message": "a\tb"}, {"message": "format"}),
    ({"code": "other", "message": "We suspect you."}, {"message": "notAllowed"}),
    ({"code": "other", "dueInDays": 0}, {"dueInDays": "range"}),
    ({"code": "other", "dueInDays": 91}, {"dueInDays": "range"}),
    ({"code": "other", "dueInDays": True}, {"dueInDays": "type"}),
    ({"code": "other", "dueInDays": None}, {"dueInDays": "type"}),
    ({"code": "other", "dueInDays": "14"}, {"dueInDays": "type"}),
    ({"code": "other", "due": 1}, {"due": "unknown"}),
]


def test_a_bad_requirement_changes_nothing(sandbox: PartnerClient) -> None:
    found = [(body, codes(sandbox.post(REQUIREMENTS, body))) for body, _expected in BAD_REQUIREMENTS]
    assert found == BAD_REQUIREMENTS
    assert not Requirement.objects.exists()


def test_ten_requirements_are_the_most(sandbox: PartnerClient) -> None:
    first, row = ask(sandbox), Requirement.objects.get()
    copied = {name: getattr(row, name) for name in ("user", "code", "fields", "message", "due_in_days", "by")}
    Requirement.objects.bulk_create([Requirement(**copied) for _ in range(8)])
    asked = [first, ask(sandbox)]
    assert_error(sandbox.post(REQUIREMENTS, ADDRESS), 409)
    # Those that wait for compliance count too.
    assert len(sandbox.patch(USER, NEW_ADDRESS).json()["requirements"]) == 10
    assert_error(sandbox.post(REQUIREMENTS, ADDRESS), 409)
    found = [one["requirementId"] for one in shown(sandbox)["requirements"]]
    assert [found[0], found[-1]] == [one["requirementId"] for one in asked]
    assert close(sandbox, first).status == 200
    assert sandbox.post(REQUIREMENTS, ADDRESS).status == 201


def test_the_list_of_users_counts_the_open_ones(sandbox: PartnerClient) -> None:
    def counted() -> int:
        [item] = sandbox.get("/v1/users").json()["items"]
        count: int = item["openRequirements"]
        return count

    assert counted() == 0
    first = ask(sandbox)
    ask(sandbox, code="other", fields=[])
    assert counted() == 2
    sandbox.patch(USER, NEW_ADDRESS)
    assert counted() == 1
    close(sandbox, first)
    assert counted() == 1


# Answers by an update


def test_an_update_of_every_field_answers(sandbox: PartnerClient) -> None:
    def states(body: dict[str, Any]) -> list[str]:
        response = sandbox.patch(USER, body)
        assert response.status == 200
        assert response.json() == shown(sandbox)
        return [one["state"] for one in response.json()["requirements"]]

    ask(sandbox)
    assert_error(sandbox.patch(USER, NEW_ADDRESS | {"email": "nobody"}), 400)
    # Two updates with half of the fields each do not answer.
    for body in ({}, {"city": "Ottawa"}, *({name: value} for name, value in NEW_ADDRESS.items())):
        assert states(body) == ["open"], body
    # The present values confirm them, which does not move updatedAt.
    before = shown(sandbox)["updatedAt"]
    assert states(NEW_ADDRESS) == ["submitted"]
    assert shown(sandbox)["updatedAt"] == before
    ask(sandbox)
    assert states(NEW_ADDRESS | {"city": "Toronto"}) == ["submitted"] * 2
    ask(sandbox)
    assert states({"addressLine1": "100 King St W", "postalCode": "M5X 1A9"}) == ["submitted"] * 3


def test_an_update_answers_each_requirement_that_it_covers(sandbox: PartnerClient) -> None:
    ask(sandbox)
    ask(sandbox, code="nameUnclear", fields=["firstName"])
    ask(sandbox, code="purposeOfUse", fields=[])
    response = sandbox.patch(USER, NEW_ADDRESS | {"firstName": "Augusta"})
    assert [one["state"] for one in response.json()["requirements"]] == ["submitted", "submitted", "open"]


def test_a_repeated_update_answers_once(sandbox: PartnerClient) -> None:
    ask(sandbox)
    key = str(uuid.uuid4())
    responses = [sandbox.patch(USER, NEW_ADDRESS, key=key) for _ in range(2)]
    assert [one.json() for one in responses] == [responses[0].json()] * 2
    assert responses[1].header("Idempotent-Replayed") == "true"
    assert RequirementResponse.objects.count() == 1
    # Another update of a requirement that is submitted changes nothing of it.
    sandbox.patch(USER, NEW_ADDRESS)
    assert RequirementResponse.objects.count() == 1


# Answers by a note


def test_a_note_answers(sandbox: PartnerClient) -> None:
    requirement = ask(sandbox, code="sourceOfFunds", fields=[])
    before = shown(sandbox)

    response = sandbox.post(response_path(requirement), {"note": "  Salary.\r\nAnd savings.  "})

    assert (response.status, response.json()) == (200, requirement | {"state": "submitted"})
    assert RequirementResponse.objects.get().note == "Salary.\r\nAnd savings."
    assert shown(sandbox) == before | {"requirements": [response.json()]}
    # The answer names who sent it.
    context: Any = RequirementResponse.objects.get().context
    slug = sandbox.get("/v1/ping").json()["partner"]
    assert (context["partner"], context["requestId"]) == (slug, response.header("X-Request-Id"))
    assert sandbox.api_key.startswith(context["key"])
    # Further notes are welcome: a thousand characters, of lines.
    assert sandbox.post(response_path(requirement), {"note": "😀\n" * 499 + "ab"}).json() == response.json()
    assert RequirementResponse.objects.count() == 2


BAD_NOTES: list[tuple[dict[str, Any], dict[str, str]]] = [
    ({}, {"note": "required"}),
    ({"note": ""}, {"note": "length"}),
    ({"note": " \n "}, {"note": "length"}),
    ({"note": "x" * 1001}, {"note": "length"}),
    ({"note": None}, {"note": "type"}),
    ({"note": ["x"]}, {"note": "type"}),
    ({"note": "a\tb"}, {"note": "format"}),
    ({"note": "a\x85b"}, {"note": "format"}),
    ({"note": "\ud800"}, {"note": "format"}),
    ({"note": "\0"}, {"note": "format"}),
    ({"note": "x", "more": 1}, {"more": "unknown"}),
]


def test_a_bad_note_changes_nothing(sandbox: PartnerClient) -> None:
    path = response_path(ask(sandbox))
    assert [(body, codes(sandbox.post(path, body))) for body, _expected in BAD_NOTES] == BAD_NOTES
    assert not RequirementResponse.objects.exists()


def test_the_checks_come_in_the_order_of_the_contract(sandbox: PartnerClient, other_api: PartnerClient) -> None:
    requirement, nothing = ask(sandbox), {"note": ""}
    path = response_path(requirement)
    bad = sandbox.post(f"{USER}/requirements/1/response", nothing)
    assert codes(bad) == {"requirementId": "format"}
    both = sandbox.post("/v1/users/%20/requirements/1/response", nothing)
    assert codes(both) == {"externalId": "format", "requirementId": "format"}
    for target in (f"{USER}/requirements/{uuid.uuid4()}/response", path.replace("/ada/", "/nobody/")):
        assert_error(sandbox.post(target, nothing), 404)
    # Another user's, and another partner's.
    sandbox.post("/v1/users", factories.user_body(externalId="bob"))
    assert_error(sandbox.post(path.replace("ada", "bob"), nothing), 404)
    other_api.post("/v1/users", factories.user_body(externalId="ada"))
    assert_error(other_api.post(path, nothing), 404)
    close(sandbox, requirement)
    assert codes(sandbox.post(path, nothing)) == {"note": "length"}
    assert sandbox.get(path).header("Allow") == "POST"


def test_a_note_takes_effect_once(sandbox: PartnerClient) -> None:
    requirement = ask(sandbox)
    path, body, key = response_path(requirement), {"note": "Once."}, str(uuid.uuid4())
    first, again = (sandbox.post(path, body, key=key) for _ in range(2))
    assert again.json() == first.json()
    assert again.header("Idempotent-Replayed") == "true"
    assert RequirementResponse.objects.count() == 1
    timestamp = first.json()["createdAt"]
    assert sandbox.post(path, body, timestamp=timestamp).status == 200
    assert_error(sandbox.post(path, body, timestamp=timestamp), 401)
    assert RequirementResponse.objects.count() == 2


# Closing, and decisions


def test_closing_is_seen_by_its_absence(sandbox: PartnerClient) -> None:
    requirement = ask(sandbox)
    closed = close(sandbox, requirement)
    assert (closed.status, closed.json()) == (200, requirement | {"state": "closed"})
    assert shown(sandbox)["requirements"] == []
    assert_error(close(sandbox, requirement), 409)
    late = assert_error(sandbox.post(response_path(requirement), {"note": "Late."}), 409)
    assert late["message"] == "This requirement is closed."
    assert_error(sandbox.post(f"{REQUIREMENTS}/{uuid.uuid4()}/close", {}), 404)
    assert codes(sandbox.post(f"{REQUIREMENTS}/1/close", {})) == {"requirementId": "format"}


def test_who_is_asked_does_not_become_active_but_suspended(sandbox: PartnerClient) -> None:
    requirement = ask(sandbox)
    body = assert_error(move(sandbox, "active"), 409)
    assert body["message"] == "1 requirement is open: wait for the partner's answer, or close it first."
    sandbox.post(response_path(requirement), {"note": "An answer."})
    assert move(sandbox, "active").json()["requirements"] == []
    kept = ask(sandbox)
    assert move(sandbox, "suspended", "profileChanged").json()["requirements"] == [kept]


@pytest.mark.parametrize("status", ["rejected", "closed"])
def test_the_end_of_a_user_closes_all_and_nothing_is_asked_then(sandbox: PartnerClient, status: str) -> None:
    if status == "closed":
        move(sandbox, "active")
    ask(sandbox)
    answered = ask(sandbox, fields=[])
    sandbox.post(response_path(answered), {"note": "An answer."})
    assert move(sandbox, status).json()["requirements"] == []
    assert_error(sandbox.post(response_path(answered), {"note": "More."}), 409)
    assert_error(sandbox.post(REQUIREMENTS, ADDRESS), 409)


# Events


def test_opening_and_closing_are_events_and_answering_is_none(sandbox: PartnerClient) -> None:
    first, second = ask(sandbox), ask(sandbox, code="other", fields=[])
    sandbox.patch(USER, NEW_ADDRESS)
    sandbox.post(response_path(second), {"note": "An answer."})
    close(sandbox, first)
    third = ask(sandbox)
    # A decision that closes several writes one event after its own.
    move(sandbox, "rejected")
    user = {"externalId": "ada", "userId": shown(sandbox)["userId"]}
    found = events(sandbox)
    assert [kind for kind, _data in found] == [
        *["user.requirementsChanged"] * 4,
        *("user.statusChanged", "user.requirementsChanged"),
    ]
    assert [data for kind, data in found if kind == "user.requirementsChanged"] == [
        user | {"openRequirements": count, "openedRequirementId": opened}
        for count, opened in (
            *((1, first["requirementId"]), (2, second["requirementId"]), (0, None)),
            *((1, third["requirementId"]), (0, None)),
        )
    ]
    assert StatusChange.objects.count() == 1


def test_live_partners_have_no_path_of_the_sandbox(api: PartnerClient, sandbox: PartnerClient) -> None:
    api.post("/v1/users", factories.user_body(externalId="ada"))
    requirement = ask(sandbox)
    for method in ("GET", "POST", "PATCH"):
        for path in (REQUIREMENTS, f"{REQUIREMENTS}/{requirement['requirementId']}/close"):
            assert_error(api.send(method, path, {} if method != "GET" else None), 404)
