"""The audit log: who did what, by commands, in the admin and at the login."""

import csv
import io
import json
import re
from datetime import timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.apps import apps
from django.conf import settings
from django.core.management.base import CommandError
from django.db.models.functions import Now
from django.test import Client, RequestFactory
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries, Settings

from backoffice import audit
from backoffice.audit import objects_of
from core.models import AuditEntry
from partners.models import ApiKey, Partner
from tests import factories
from tests.staff.login.test_login import enrolled, inside
from tests.staff.login.test_reauthentication import confirm, grow_stale
from tests.support.approval_rules import no_rules_left, set_rule
from tests.support.client import PartnerClient
from tests.support.commands import outcome, printed
from tests.support.plans import UNORDERED, nodes, planning_without
from tests.support.staff import client_as, client_of
from transactions.documents.publishing import withdraw
from users.models import RequirementCode
from users.requirements import close_requirement

# pghistory makes them.
ApiKeyEvent: Any = apps.get_model("partners", "ApiKeyEvent")
StaffEvent: Any = apps.get_model("staff", "StaffEvent")
SecondFactorEvent: Any = apps.get_model("staff", "SecondFactorEvent")

pytestmark = pytest.mark.django_db


def latest() -> AuditEntry:
    return AuditEntry.objects.earliest("-at", "-id")


@pytest.fixture(autouse=True)
def operator(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("SUDO_USER", "olivia")
    return "olivia"


def test_a_command_names_its_operator_and_what_changed() -> None:
    printed("create_partner", "acme", "--name", "Acme")
    created = latest()
    assert (created.actor, created.actor_kind, created.action, created.object) == (
        "olivia",
        "operator",
        "partner.created",
        "acme",
    )
    printed("set_partner", "acme", "--disable")
    assert latest().detail == {
        "changes": {"enabled": [True, False]},
        "operator": "olivia",
        "command": "set_partner",
    }


def test_a_key_s_issue_and_rotation_have_no_digest_and_name_the_partner() -> None:
    printed("create_partner", "acme", "--name", "Acme")
    issued = outcome("issue_api_key", "acme", "--label", "production")
    outcome("rotate_api_key", issued["apiKey"][:16])
    kept = list(AuditEntry.objects.filter(action__startswith="apiKey").order_by("id"))
    assert [one.action for one in kept] == ["apiKey.created", "apiKey.changed", "apiKey.created"]
    assert all(one.detail["partner"] == "acme" for one in kept)


def test_staff_s_acts_in_the_admin_name_them() -> None:
    partner = factories.PartnerFactory.create(slug="acme")
    client = client_as("partner-manager")
    client.post(
        f"/admin/partners/partner/{partner.pk}/change/",
        {"name": "New", "rate_limit": "", "initial-name": partner.name, "enabled": "on", "initial-enabled": "on"},
    )
    assert Partner.objects.get(pk=partner.pk).name == "New"
    entry = latest()
    assert entry.actor_kind == "staff"
    assert entry.actor.startswith("partner-manager") or entry.actor
    assert entry.detail["changes"]["name"][1] == "New"


def test_the_page(settings: Settings) -> None:
    printed("create_partner", "acme", "--name", "Acme")
    client = client_as("auditor")
    page = client.get("/admin/core/auditentry/")
    assert page.status_code == 200
    text = page.content.decode()
    assert "Partner created" in text
    for query in ("actor=olivia", "action=partner.created", "object=acme", "since=2026-01-01&until=2030-01-01"):
        assert "Partner created" in client.get(f"/admin/core/auditentry/?{query}").content.decode()
    assert "Name: Acme" not in client.get("/admin/core/auditentry/?actor=nobody").content.decode()
    row = client.get(f"/admin/core/auditentry/{latest().pk}/change/")
    assert row.status_code == 200
    settings.STAFF_MFA_REQUIRED = False
    sent: Any = client.post("/admin/core/auditentry/export/", {"actor": "olivia"})
    assert b"partner.created" in b"".join(sent.streaming_content)
    assert latest().action == "auditLog.exported"
    sent = client.post("/admin/core/auditentry/export/", {"q": "acme"})
    assert latest().detail["filters"] == "search"
    [_, *rows] = csv.reader(io.StringIO(b"".join(sent.streaming_content).decode()))
    assert len(rows) == 1


def test_audit_log_command() -> None:
    printed("create_partner", "acme", "--name", "Acme")
    entries = outcome("audit_log", "--actor", "olivia")["entries"]
    assert entries[0]["action"] == "partner.created"
    assert "acme" in printed("audit_log")
    assert outcome("audit_log", "--since", "2999-01-01T00:00:00Z") == {"entries": []}


def test_what_concerns_a_user_names_the_partner_and_the_external_id() -> None:
    user = factories.UserFactory.create(partner__slug="acme", external_id="customer-7")
    requirement = factories.RequirementFactory.create(user=user)
    close_requirement(requirement_id=requirement.pk, by=requirement.by)
    factories.StatusChangeFactory.create(user=user)
    factories.AccessRecordFactory.create(user=user, kind="exported")
    document = factories.DocumentFactory.create(user=user)
    withdraw(document=document, by=factories.StaffFactory.create(role="reviewer"), reason="Wrong.")
    entries = AuditEntry.objects.filter(action__regex="^(user|requirement|document)")
    assert set(entries.values_list("action", flat=True)) == {
        *("requirement.opened", "requirement.closed", "user.decided", "user.exported"),
        *("document.published", "document.withdrawn"),
    }
    assert {(one.detail["partner"], one.detail["externalId"]) for one in entries} == {("acme", "customer-7")}


@pytest.mark.usefixtures("within_one_day")
def test_audit_log_command_finds_by_action_object_and_time() -> None:
    user = factories.UserFactory.create(external_id="customer-7")
    factories.StatusChangeFactory.create(user=user)
    printed("create_partner", "acme", "--name", "Acme")

    def actions(*options: str) -> list[str]:
        return [one["action"] for one in outcome("audit_log", *options)["entries"]]

    assert actions("--action", "partner.created", "--object", "acme") == ["partner.created"]
    assert actions("--object", "customer-7") == actions("--object", str(user.pk)) == ["user.decided"]
    assert actions("--object", "customer-7", "--action", "partner.created") == []
    decided_at = AuditEntry.objects.get(action="user.decided").at.isoformat()
    assert actions("--until", decided_at, "--object", "customer-7") == []
    assert actions("--since", decided_at, "--object", "customer-7") == ["user.decided"]
    today = timezone.now().astimezone(ZoneInfo(settings.COMPLIANCE_TIME_ZONE)).date()
    assert actions("--since", f"{today}", "--until", f"{today}", "--object", "customer-7") == ["user.decided"]
    assert actions("--until", f"{today - timedelta(days=1)}") == []


@pytest.mark.parametrize("options", [("--until", "yesterday"), ("--since", "1"), ("--since", "2026-02-30")])
def test_a_wrong_option_is_told_in_a_line(options: tuple[str, str]) -> None:
    with pytest.raises(CommandError, match=f"{options[0]} must be"):
        printed("audit_log", *options)


def test_an_unknown_action_is_refused() -> None:
    with pytest.raises(CommandError, match="--action: invalid choice"):
        printed("audit_log", "--action", "made.up")


def test_the_page_finds_by_the_external_id() -> None:
    user = factories.UserFactory.create(external_id="customer-7")
    factories.StatusChangeFactory.create(user=user)
    other = factories.UserFactory.create(external_id="customer-8")
    factories.StatusChangeFactory.create(user=other)
    page = client_as("auditor").get("/admin/core/auditentry/?externalId=customer-7").content.decode()
    assert str(user.pk) in page
    assert str(other.pk) not in page


def test_the_page_names_and_links_what_a_line_is_about() -> None:
    user = factories.UserFactory.create(external_id="customer-7", first_name="Grace", last_name="Hopper")
    decision = factories.StatusChangeFactory.create(user=user)
    document = factories.DocumentFactory.create(user=user)
    client = client_as("auditor")
    page = client.get("/admin/core/auditentry/").content.decode()
    assert f'href="/admin/cases/{user.pk}/">Grace Hopper</a>' in page
    assert f"customer-7 · {user.partner.name}" in page
    document_id = str(document.document_id)
    assert f'href="/admin/transactions/document/{document.pk}/change/" title="{document_id}">{document_id[:8]}…' in page
    assert f'data-copies-text="{document_id}"' in page
    assert f'href="/admin/staff/staff/{decision.by.pk}/change/">{decision.by.username}</a>' in page
    assert re.search(r">\w+\.? \d+, \d{4}, \d\d:\d\d:\d\d E[SD]T</time>", page)
    entry = AuditEntry.objects.get(action="user.decided")
    assert "Grace Hopper" in client.get(f"/admin/core/auditentry/{entry.pk}/change/").content.decode()


def test_who_may_not_see_users_gets_no_names(rf: RequestFactory) -> None:
    user = factories.UserFactory.create()
    entry = AuditEntry(object=str(user.pk))
    for role, is_user in (("auditor", True), ("administrator", False)):
        request = rf.get("/")
        request.user = factories.StaffFactory.create(role=role)
        about = objects_of(request, [entry])[entry.object]
        assert (about.is_user, user.full_name in about.cell) == (is_user, is_user)


@pytest.mark.parametrize("term", ["hopper grace", "customer-7", "the userId", "the reviewer"])
def test_the_search_finds_lines_by_user_and_by_actor(term: str) -> None:
    user = factories.UserFactory.create(external_id="customer-7", first_name="Grace", last_name="Hopper")
    other = factories.UserFactory.create(external_id="customer-8")
    decision = factories.StatusChangeFactory.create(user=user)
    factories.StatusChangeFactory.create(user=other)
    query = {"the userId": str(user.pk), "the reviewer": decision.by.username}.get(term, term)
    page = client_as("auditor").get("/admin/core/auditentry/", {"q": query}).content.decode()
    assert f"/admin/cases/{user.pk}/" in page
    assert f"/admin/cases/{other.pk}/" not in page


def test_how_long_the_page_is_does_not_change_how_many_statements_it_takes(
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    client = client_as("auditor")
    client.get("/admin/core/auditentry/")
    for _ in range(8):
        factories.DocumentFactory.create()
        factories.StatusChangeFactory.create()
        with django_assert_max_num_queries(14):
            client.get("/admin/core/auditentry/")


def test_a_search_is_bounded_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    client = client_as("auditor")
    for number in range(3):
        printed("create_partner", f"acme-{number}", "--name", "Acme")
    monkeypatch.setattr(audit, "MAX_FOUND", 2)
    page = client.get("/admin/core/auditentry/?q=olivia").content.decode()
    assert "Only the first 2 matches were examined." in page
    assert "acme-0" not in page
    assert "acme-2" in page


def test_sign_ins() -> None:
    staff = factories.StaffFactory.create(role="viewer")
    staff.set_password("correct horse battery")
    staff.save()
    Client().post("/admin/account/login/", {"login": staff.username, "password": "wrong"})
    assert (latest().action, latest().actor) == ("signIn.refusedPassword", staff.username)
    assert latest().detail["address"] == "127.0.0.1"
    Client().post("/admin/account/login/", {"login": "hunter2", "password": "wrong"})
    assert (latest().actor, latest().object) == ("", "")
    assert "hunter2" not in json.dumps(list(AuditEntry.objects.values_list("actor", "object", "detail")))
    client = Client()
    client.post("/admin/account/login/", {"login": staff.username, "password": "correct horse battery"})
    assert latest().action == "signIn.succeeded"
    client.post("/admin/account/logout/")
    assert latest().action == "signIn.ended"


@pytest.mark.parametrize(
    ("detail", "line"),
    [
        ({"role": "partner-manager"}, "Role: Partner manager"),
        ({"roles": "auditor, viewer"}, "Roles: Auditor, Viewer"),
        ({"roles": "–"}, "Roles: –"),
        ({"type": "totp"}, "Type: Authenticator app"),
        ({"type": "webauthn"}, "Type: Passkey"),
        ({"type": "taxSlip"}, "Type: Tax slip"),
        ({"code": "addressUnclear"}, f"What is needed: {RequirementCode.ADDRESS_UNCLEAR.label}"),
        ({"fields": "address_line1, postal_code"}, "Fields: Address, Postal code"),
        ({"state": "declined"}, "State: Declined"),
        ({"export": "Evidence pack"}, "Export: Evidence pack"),
        ({"changes": {"password_is_one_time": [False, True]}}, "One-time password: No → Yes"),
        ({"changes": {"status": ["pendingCompliance", "active"]}}, "Status: Pending compliance → Active"),
    ],
)
def test_a_line_is_in_words(detail: dict[str, Any], line: str) -> None:
    assert audit.detail_lines(detail) == [line]


def test_a_rule_is_about_a_move_in_words() -> None:
    with no_rules_left():
        set_rule("always")
    page = client_as("auditor").get("/admin/core/auditentry/").content.decode()
    assert "Pending compliance → Active" in page


@pytest.mark.parametrize(
    "condition",
    ["true", "actor = 'olivia'", "object = 'acme'", "action = 'partner.created'", "detail ->> 'externalId' = '7'"],
)
def test_a_page_is_read_in_the_order_of_an_index(condition: str) -> None:
    with planning_without(*UNORDERED) as cursor:
        cursor.execute(
            f"EXPLAIN (FORMAT JSON) SELECT * FROM core_auditentry WHERE {condition}"
            " AND ROW(at, id) < ROW(now(), 1000) ORDER BY at DESC, id DESC LIMIT 51"
        )
        plan = cursor.fetchone()[0][0]["Plan"]
    kinds = [node["Node Type"] for node in nodes(plan)]
    assert kinds == ["Limit", "Index Scan"]
    assert list(nodes(plan))[1].get("Filter") is None


def test_a_use_of_a_key_or_a_login_writes_no_history(api: PartnerClient, partner: Partner) -> None:
    staff = factories.StaffFactory.create(role="viewer")
    api.get("/v1/ping")
    before = (StaffEvent.objects.count(), ApiKeyEvent.objects.count())
    ApiKey.objects.update(last_used_at=Now())
    client_of(staff)
    assert (StaffEvent.objects.count(), ApiKeyEvent.objects.count()) == before


def test_no_history_has_a_secret_or_a_hash() -> None:
    kept = {field.name for model in (ApiKeyEvent, StaffEvent, SecondFactorEvent) for field in model._meta.fields}
    assert not kept & {"digest", "encrypted_secret", "password", "data", "last_login", "last_used_at"}


def test_the_history_of_a_row_is_what_the_audit_log_says_of_it(partner: Partner) -> None:
    page = f"/admin/partners/partner/{partner.pk}/"
    auditor = client_as("auditor")
    assert f'href="{page}history/"' in auditor.get(f"{page}change/").content.decode()
    response = auditor.get(f"{page}history/")
    assert response.headers["Location"] == f"/admin/core/auditentry/?object={partner.slug}"
    assert auditor.get("/admin/partners/partner/0/history/").status_code == 404
    manager = client_as("partner-manager")
    assert "/history/" not in manager.get(f"{page}change/").content.decode()
    assert manager.get(f"{page}history/").status_code == 403


def test_after_the_second_factor_a_page_leads_back_to_the_filtered_list(settings: Settings) -> None:
    settings.STAFF_MFA_REQUIRED = True
    client = inside(enrolled("auditor"))
    grow_stale(client)
    asked = client.post("/admin/core/auditentry/export/", {"actor": "olivia"})
    page = client.get(confirm(client, asked).headers["Location"]).content.decode()
    assert 'href="/admin/core/auditentry/?actor=olivia"' in page
    assert latest().action != "auditLog.exported"
