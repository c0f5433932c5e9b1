"""What is kept with each decision: what the case showed, and for how long it was open."""

from html import unescape
from typing import Any

import pytest
from django.db import IntegrityError, transaction

from backoffice.exports.records import decided_on
from partners.models import Partner
from staff.models import Staff
from tests import factories
from tests.support.client import PartnerClient, Transport
from tests.support.commands import run
from tests.support.staff import client_as, client_of
from tests.users.deciding import decide_url, decision, page_of, shown_version
from users.models import OpenedPage, Status, StatusChange, User


@pytest.fixture
def user(partner: Partner) -> User:
    made: User = factories.UserFactory.create(partner=partner, external_id="ada", province="ON", postal_code="M5X 1A9")
    return made


def codes(basis: dict[str, Any]) -> list[str]:
    return [flag["code"] for flag in basis["riskFlags"]]


def kept() -> dict[str, Any]:
    return dict(StatusChange.objects.latest("id").basis or {})


# The page and the decision


def test_a_decision_keeps_the_earlier_rejection_and_the_changes_that_the_case_begins_with(
    user: User, reviewer: Staff, api: PartnerClient
) -> None:
    factories.reopen(user, reason="The name is another.", reason_code="notVerified")
    api.patch("/v1/users/ada", {"lastName": "Lovelace", "dateOfBirth": "1991-01-02", "postalCode": "H3B 2Y5"})
    rejection = StatusChange.objects.get(to_status=Status.REJECTED)
    client = client_of(reviewer)
    page = unescape(page_of(client, user))
    card = page[page.index('id="previous-previouslyRejected"') : page.index('id="risk-flags-title"')]
    for said in (
        "Previously rejected",
        rejection.by.username,
        "Identity or address could not be verified",
        "The name is another.",
        "<del>Byron</del>",
        "<ins>Lovelace</ins>",
    ):
        assert said in card
    # Not twice on the page.
    assert 'id="changes-title"' not in page

    version = shown_version(user)
    assert client.post(decide_url(user), decision(user, note="Passport seen.")).status_code == 302
    basis = kept()
    assert basis["version"] == version
    assert basis["openSeconds"] is not None
    assert codes(basis) == ["previouslyRejected", "changed", "postalCode"]
    assert basis["riskFlags"][0]["data"] == {
        "decidedAt": rejection.created_at.isoformat(),
        "by": rejection.by.username,
        "reasonCode": "notVerified",
        "reason": "The name is another.",
    }
    [changes] = basis["changes"]
    assert changes["decision"] == rejection.pk
    assert changes["fields"] == {
        "last_name": ["Byron", "Lovelace"],
        "date_of_birth": ["1990-12-10", "1991-01-02"],
        "postal_code": ["M5X 1A9", "H3B 2Y5"],
    }

    viewed, audited = (page_of(client_as(role), user) for role in ("viewer", "auditor"))
    assert "Decided on this" in viewed
    assert "1991-01-02" not in viewed
    assert "Identity or address could not be verified" in viewed
    for private in ("Jan. 2, 1991", "H3B 2Y5", "The name is another."):
        assert private not in viewed
        assert private in audited


def test_a_reason_without_a_code_is_a_note_in_what_later_decisions_were_based_on(user: User, reviewer: Staff) -> None:
    factories.reopen(user, reason="Lives at 100 King St W.")
    factories.StatusChangeFactory.create(user=user, by=reviewer)
    # That of the rejection, of the earlier decision, and of the basis.
    counts = [page_of(client_as(role), user).count("Lives at 100 King St W.") for role in ("viewer", "auditor")]
    assert counts == [0, 3]


def test_it_says_how_long_the_case_was_open(user: User, reviewer: Staff) -> None:
    opened_at = factories.AccessRecordFactory.create(user=user, staff=reviewer, detail=OpenedPage.CASE).created_at
    decided_at = factories.StatusChangeFactory.create(user=user, by=reviewer).created_at
    open_for = (decided_at - opened_at).total_seconds()
    # The decision's own statements come in between.
    assert round(open_for) - 5 <= kept()["openSeconds"] <= open_for + 1
    factories.StatusChangeFactory.create(user=user, to_status=Status.SUSPENDED, by=reviewer)
    # That opening was of the case in an earlier status.
    assert kept()["openSeconds"] is None


def test_a_decision_by_command_keeps_what_the_page_would_have_shown(user: User, reviewer: Staff) -> None:
    User.objects.filter(pk=user.pk).update(is_ciro_affiliate=True)
    arguments = [user.partner.slug, "ada", "active", "--reason", "Seen.", "--by", reviewer.username]
    run("change_user_status", *arguments)
    basis = kept()
    assert (codes(basis), basis["source"], basis["openSeconds"]) == (["ciroAffiliate"], "", None)
    page = unescape(page_of(client_as("auditor"), user))
    assert "Decided by a command" in page
    assert "The case had not been opened." in page


def test_the_evidence_pack_has_what_each_decision_was_based_on(user: User, reviewer: Staff) -> None:
    User.objects.filter(pk=user.pk).update(last_name="Lovelace")
    factories.AccessRecordFactory.create(user=user, staff=reviewer, detail=OpenedPage.CASE)
    factories.StatusChangeFactory.create(user=user, by=reviewer)
    [approval] = decided_on(user)
    told: dict[str, Any] = {"what": "decision", "by": reviewer.username, "from": "pendingCompliance", "to": "active"}
    assert {name: approval[name] for name in told} == told
    assert approval["riskFlags"] == []
    assert approval["changes"][0]["fields"] == {"lastName": ["Byron", "Lovelace"]}
    assert approval["openSeconds"] is not None


# What cannot be read

BASIS: dict[str, Any] = {"version": "v", "source": "request a", "openSeconds": None, "riskFlags": [], "changes": []}
MOVED = {"from_status": "pendingCompliance", "to_status": "active", "reason": "Seen."}
FLAGS: list[Any] = [5, {}, {"code": "changed"}, {"code": 5, "data": {}}, [], [[]]]
CHANGES: list[Any] = [5, {}, [], {"since": "s"}, {"since": "s", "fields": []}]


def test_the_database_refuses_another_shape(user: User, reviewer: Staff, subtests: pytest.Subtests) -> None:
    for basis in (
        *({}, 5, [], "text"),
        *({name: value for name, value in BASIS.items() if name != missing} for missing in BASIS),
        *(BASIS | {name: 5} for name in ("version", "source", "riskFlags", "changes")),
        BASIS | {"openSeconds": "5"},
        *(BASIS | {"riskFlags": [one]} for one in FLAGS),
        *(BASIS | {"changes": [one]} for one in CHANGES),
        *(BASIS | {"changes": [{"since": "s", "fields": {"city": one}}]} for one in [5, [1], [1, 2, 3]]),
    ):
        with (
            subtests.test(f"{basis}"),
            pytest.raises(IntegrityError, match="basis_readable"),
            transaction.atomic(),
        ):
            StatusChange.objects.create(user=user, by=reviewer, basis=basis, **MOVED)


def test_what_a_reader_does_not_know_is_shown_as_it_is(user: User, reviewer: Staff) -> None:
    flags = [{"code": "unheardOf", "data": {}}, {"code": "samePerson", "data": {"userIds": 5}}]
    fields = {"shoe_size": [1, {"a": 2}], "date_of_birth": ["long ago", None], "city": ["Ottawa", "Toronto"]}
    basis = BASIS | {"riskFlags": flags, "changes": [{"since": "s", "fields": fields}]}
    StatusChange.objects.create(user=user, by=reviewer, basis=basis, **MOVED)
    page = page_of(client_as("auditor"), user)
    for said in ("unheardOf", "Same name and birth date", "cannot be read", "shoe_size", "long ago", "Toronto"):
        assert said in page
    page = page_of(client_as("viewer"), user)
    for private in ("unheardOf", "shoe_size", "long ago"):
        assert private not in page
    assert [one["changes"][0]["fields"]["shoeSize"] for one in decided_on(user)] == [[1, {"a": 2}]]


# The sandbox


def test_a_simulated_decision_has_none(db: None, transport: Transport) -> None:
    partner = factories.PartnerFactory.create(mode="sandbox")
    factories.UserFactory.create(partner=partner, external_id="ada")
    sandbox = factories.client_of(partner, transport)
    assert sandbox.post("/v1/sandbox/users/ada/status", {"status": "active"}).status == 200
    assert StatusChange.objects.get().basis is None
