"""The audit log: who did what, by commands, in the admin and at the login."""

import csv
import io
import json
import re
from datetime import timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from allauth.account.internal.flows.reauthentication import STATE_SESSION_KEY
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
from tests.staff.login.test_reauthentication import grow_stale
from tests.support.approval_rules import no_rules_left, set_rule
from tests.support.client import PartnerClient
from tests.support.commands import outcome, printed
from tests.support.plans import UNORDERED, nodes, planning_without
from tests.support.staff import client_as, client_of, list_of
from transactions.documents.publishing import withdraw
from users.models import RequirementCode
from users.requirements import close_requirement

# pghistory makes them.
ApiKeyEvent: Any = apps.get_model("partners", "ApiKeyEvent")
StaffEvent: Any = apps.get_model("staff", "StaffEvent")
SecondFactorEvent: Any = apps.get_model("staff", "SecondFactorEvent")

pytestmark = pytest.mark.django_db

PAGE = "/admin/core/auditentry/"
EXPORT = f"{PAGE}export/"


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


def test_staff_s_acts_in_the_admin_name_them(partner: Partner) -> None:
    staff = factories.StaffFactory.create(role="partner-manager")
    client_of(staff).post(
        f"/admin/partners/partner/{partner.pk}/change/",
        {"name": "New", "rate_limit": "", "initial-name": partner.name, "enabled": "on", "initial-enabled": "on"},
    )
    assert Partner.objects.get(pk=partner.pk).name == "New"
    entry = latest()
    assert (entry.actor_kind, entry.actor, entry.detail["changes"]["name"][1]) == ("staff", staff.username, "New")


def test_the_log_is_exported_as_csv(settings: Settings) -> None:
    printed("create_partner", "acme", "--name", "Acme")
    client = client_as("auditor")
    settings.STAFF_MFA_REQUIRED = False
    sent: Any = client.post(EXPORT, {"actor": "olivia"})
    assert b"partner.created" in b"".join(sent.streaming_content)
    assert latest().action == "auditLog.exported"
    sent = client.post(EXPORT, {"q": "acme"})
    assert latest().detail["filters"] == "search"
    [_, *rows] = csv.reader(io.StringIO(b"".join(sent.streaming_content).decode()))
    assert len(rows) == 1
    # What may name a user, who may be erased, is not in the log.
    client.post(EXPORT, {"externalId": "customer-7", "object": "customer-7", "actor": " ", "since": "2026-01-01"})
    assert latest().detail["filters"] == "object, externalId, since 2026-01-01"


def test_a_filter_that_does_not_hold_exports_nothing_and_the_list_says_so(settings: Settings) -> None:
    settings.STAFF_MFA_REQUIRED = False
    client, names = client_as("auditor"), ("q", "actor", "action", "object", "externalId", "since", "until")
    refused = [(name, "a\0b", "Null characters are not allowed.") for name in names]
    for name, value in (("action", "made.up"), ("since", "yesterday"), ("until", "9999-12-31")):
        refused.append((name, value, "Invalid filter."))
    for name, value, said in refused:
        assert said in client.post(EXPORT, {name: value}, follow=True).content.decode(), (name, value)
    assert not AuditEntry.objects.filter(action="auditLog.exported").exists()


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
def test_audit_log_command_finds_by_actor_action_object_and_time() -> None:
    user = factories.UserFactory.create(external_id="customer-7")
    factories.StatusChangeFactory.create(user=user)
    printed("create_partner", "acme", "--name", "Acme")
    assert "acme" in printed("audit_log")

    def actions(*options: str) -> list[str]:
        return [one["action"] for one in outcome("audit_log", *options)["entries"]]

    assert actions("--actor", "olivia") == ["partner.created"]
    assert actions("--action", "partner.created", "--object", "acme") == ["partner.created"]
    assert actions("--object", "customer-7") == actions("--object", str(user.pk)) == ["user.decided"]
    assert actions("--object", "customer-7", "--action", "partner.created") == []
    decided_at = AuditEntry.objects.get(action="user.decided").at.isoformat()
    assert actions("--until", decided_at, "--object", "customer-7") == []
    assert actions("--since", decided_at, "--object", "customer-7") == ["user.decided"]
    assert actions("--since", "2999-01-01T00:00:00Z") == []
    today = timezone.now().astimezone(ZoneInfo(settings.COMPLIANCE_TIME_ZONE)).date()
    assert actions("--since", f"{today}", "--until", f"{today}", "--object", "customer-7") == ["user.decided"]
    assert actions("--until", f"{today - timedelta(days=1)}") == []


def test_a_wrong_option_is_told_in_a_line() -> None:
    for option, value, told in (
        ("--until", "yesterday", "--until must be"),
        ("--since", "1", "--since must be"),
        ("--since", "2026-02-30", "--since must be"),
        ("--action", "made.up", "--action: invalid choice"),
    ):
        with pytest.raises(CommandError, match=told):
            printed("audit_log", option, value)


def test_the_page_says_in_words_what_a_line_is_about_with_links() -> None:
    user = factories.UserFactory.create(external_id="customer-7", first_name="Grace", last_name="Hopper")
    decision = factories.StatusChangeFactory.create(user=user)
    document = factories.DocumentFactory.create(user=user)
    with no_rules_left():
        set_rule("always")
    client = client_as("auditor")
    page = client.get(PAGE).content.decode()
    assert "Partner created" in page
    assert f'href="/admin/cases/{user.pk}/">Grace Hopper</a>' in page
    assert f"customer-7 · {user.partner.name}" in page
    document_id = str(document.document_id)
    assert f'href="/admin/transactions/document/{document.pk}/change/" title="{document_id}">{document_id[:8]}…' in page
    assert f'data-copies-text="{document_id}"' in page
    assert f'href="/admin/staff/staff/{decision.by.pk}/change/">{decision.by.username}</a>' in page
    assert re.search(r">\w+\.? \d+, \d{4}, \d\d:\d\d:\d\d E[SD]T</time>", page)
    # The move that a rule is about.
    assert "Pending compliance → Active" in page
    entry = AuditEntry.objects.get(action="user.decided")
    assert "Grace Hopper" in client.get(f"{PAGE}{entry.pk}/change/").content.decode()


def test_who_may_not_see_users_gets_no_names(rf: RequestFactory) -> None:
    user = factories.UserFactory.create()
    entry = AuditEntry(object=str(user.pk))
    for role, is_user in (("auditor", True), ("administrator", False)):
        request = rf.get("/")
        request.user = factories.StaffFactory.create(role=role)
        about = objects_of(request, [entry])[entry.object]
        assert (about.is_user, user.full_name in about.cell) == (is_user, is_user)


def test_lines_are_found_by_search_and_filters() -> None:
    user = factories.UserFactory.create(external_id="customer-7", first_name="Grace", last_name="Hopper")
    other = factories.UserFactory.create(external_id="customer-8")
    decision = factories.StatusChangeFactory.create(user=user)
    factories.StatusChangeFactory.create(user=other)
    printed("create_partner", "acme", "--name", "Acme")
    auditor = factories.StaffFactory.create(role="auditor")
    users, objects = {str(user.pk), str(other.pk)}, {"acme", str(user.pk), str(other.pk)}
    for query, found in (
        ("q=hopper grace", {str(user.pk)}),
        ("q=customer-7", {str(user.pk)}),
        (f"q={user.pk}", {str(user.pk)}),
        (f"q={decision.by.username}", {str(user.pk)}),
        ("externalId=customer-7", {str(user.pk)}),
        ("actor=olivia", {"acme"}),
        ("actor=nobody", set()),
        ("action=partner.created&object=acme", {"acme"}),
        ("action=user.decided", users),
        ("object=acme", {"acme"}),
        ("since=2026-01-01&until=2099-01-01", objects),
        ("since=2099-01-01", set()),
        ("until=2026-01-01", set()),
    ):
        lines = list_of(auditor, f"{PAGE}?{query}").result_list
        assert {line.object for line in lines} & objects == found, query


def test_how_long_the_page_is_does_not_change_how_many_statements_it_takes(
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    client = client_as("auditor")
    client.get(PAGE)
    for count in (1, 2):
        factories.DocumentFactory.create_batch(count)
        factories.StatusChangeFactory.create_batch(count)
        with django_assert_max_num_queries(14):
            client.get(PAGE)


def test_a_search_is_bounded_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    client = client_as("auditor")
    for number in range(3):
        printed("create_partner", f"acme-{number}", "--name", "Acme")
    monkeypatch.setattr(audit, "MAX_FOUND", 2)
    page = client.get(f"{PAGE}?q=olivia").content.decode()
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


LINES: tuple[tuple[dict[str, Any], str], ...] = (
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
)


def test_a_line_is_in_words() -> None:
    assert [audit.detail_lines(detail) for detail, _line in LINES] == [[line] for _detail, line in LINES]


def test_a_page_is_read_in_the_order_of_an_index() -> None:
    conditions = ("true", "actor = 'olivia'", "object = 'acme'", "action = 'partner.created'")
    read = {}
    with planning_without(*UNORDERED) as cursor:
        for condition in (*conditions, "detail ->> 'externalId' = '7'"):
            cursor.execute(
                f"EXPLAIN (FORMAT JSON) SELECT * FROM core_auditentry WHERE {condition}"
                " AND ROW(at, id) < ROW(now(), 1000) ORDER BY at DESC, id DESC LIMIT 51"
            )
            plan = cursor.fetchone()[0][0]["Plan"]
            read[condition] = tuple((one["Node Type"], one.get("Filter")) for one in nodes(plan))
    assert read == dict.fromkeys(read, (("Limit", None), ("Index Scan", None)))


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
    assert response.headers["Location"] == f"{PAGE}?object={partner.slug}"
    assert auditor.get("/admin/partners/partner/0/history/").status_code == 404
    manager = client_as("partner-manager")
    assert "/history/" not in manager.get(f"{page}change/").content.decode()
    assert manager.get(f"{page}history/").status_code == 403


def test_after_the_second_factor_a_page_leads_back_to_the_filtered_list(settings: Settings) -> None:
    """How: tests/backoffice/exports/test_exports.py."""
    settings.STAFF_MFA_REQUIRED = True
    client = inside(enrolled("auditor"))
    grow_stale(client)
    client.post(EXPORT, {"actor": "olivia"})
    kept = client.session[STATE_SESSION_KEY]["state"]
    assert (kept["path"], kept["back"]) == (EXPORT, f"{PAGE}?actor=olivia")
    assert latest().action != "auditLog.exported"
