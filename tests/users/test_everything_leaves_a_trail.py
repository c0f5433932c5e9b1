"""Every command and every address of the back office: what changes data leaves a line in the audit log.

Some changes have a trail of their own (OWN_TRAIL); some are no act of anybody (NO_ACT).
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from django.core.exceptions import PermissionDenied
from django.core.management import call_command, get_commands, load_command_class
from django.db import connection
from django.http import Http404
from django.test import RequestFactory
from pytest_django import Settings

from core.database import serving_role, statements
from core.management.base import ServiceCommand
from core.models import AuditEntry
from events.webhooks import addresses
from partners.authentication import keys
from partners.models import Partner
from staff.models import Staff
from tests import factories
from tests.backoffice.test_staff_urls import FOR_ALL_STAFF, NOT_THERE, PATHS
from tests.support.approval_rules import no_rules_left, set_rule
from tests.support.client import PartnerClient
from tests.support.database import undone
from tests.support.documents import add_document
from tests.support.erasing import make_due
from tests.support.staff import called, sent_by
from users import retention
from users.decisions import compliance, proposals
from users.models import User
from users.retention import place_hold

pytestmark = pytest.mark.django_db

LINES = "core_auditentry"
# The row itself says who and when: openings, claims and releases are in the access log, notes in their table.
OWN_TRAIL = {"users_accessrecord", "users_casenote", "users_userevent"}
# Sessions and what they count; what the outbox and histories get by triggers.
NO_ACT = {"django_session", "staff_cache", "events_outboxentry"}

_WRITTEN = """
    SELECT relname, n_tup_ins + n_tup_upd + n_tup_del FROM pg_stat_xact_all_tables
     WHERE schemaname = 'public' AND n_tup_ins + n_tup_upd + n_tup_del > 0
"""


def written() -> dict[str, int]:
    """How many rows this transaction has written so far, by table."""
    with connection.cursor() as cursor:
        cursor.execute(_WRITTEN)
        return dict(cursor.fetchall())


def without_a_trail(before: dict[str, int], after: dict[str, int]) -> list[str]:
    """The tables of rows written meanwhile, where neither a line of the audit log nor a trail of their own was."""
    tables = {table for table, count in after.items() if count > before.get(table, 0)} - NO_ACT
    return [] if tables & ({LINES} | OWN_TRAIL) else sorted(tables)


OURS = sorted(
    name
    for name, app in get_commands().items()
    if isinstance(app, str)
    and app in {"core", "partners", "events", "staff", "users", "transactions", "backoffice", "demo"}
    # Django's have their own test (tests/staff/test_create_staff.py).
    and name not in {"migrate", "demo", "createsuperuser", "changepassword"}
)
# They run for ever, call somebody, or only read; that they write nothing is for the test of arguments to find.
READING = {
    *(
        "audit_log",
        "call",
        "deliver_events",
        "list_api_keys",
        "list_partners",
    ),
    *("list_approval_rules", "list_proposals", "list_requirements", "list_staff", "list_webhooks"),
    *("list_holds", "retention_report", "list_file_entries"),
}

Arguments = Callable[["World"], list[str]]


class World:
    """A partner with a key, a webhook and a user; a reviewer; a file."""

    def __init__(self, api: PartnerClient, partner: Partner, files: Path) -> None:
        self.partner = partner.slug
        self.key = keys.issue(partner=partner, label="old").record.prefix
        self.webhook = str(factories.WebhookEndpointFactory.create(partner=partner).pk)
        self.user = api.post("/v1/users", factories.user_body()).json()["externalId"]
        self.document = add_document(User.objects.get(external_id=self.user)).document_id
        self.staff, self.second = (one.username for one in factories.StaffFactory.create_batch(2, role="reviewer"))
        self.auditor = factories.StaffFactory.create(role="auditor").username
        self.file = files / "statement.pdf"
        self.file.write_bytes(b"%PDF-1.4\n%%EOF\n")
        self.empty = files / "none.ndjson"
        self.empty.write_bytes(b"")

    @property
    def proposal(self) -> str:
        """One by the first."""
        user, by = User.objects.get(external_id=self.user), Staff.objects.get(username=self.staff)
        return str(proposals.propose(compliance.Decision(user=user, to_status="active", by=by, reason="Seen.")).pk)

    @property
    def requirement(self) -> str:
        """One of the first."""
        user, by = User.objects.get(external_id=self.user), Staff.objects.get(username=self.staff)
        return str(factories.RequirementFactory.create(user=user, by=by).pk)

    @property
    def hold(self) -> str:
        """One of the first."""
        user, by = User.objects.get(external_id=self.user), Staff.objects.get(username=self.staff)
        return str(place_hold(user=user, by=by, reason="Litigation.").pk)

    @property
    def erasure(self) -> str:
        """One that the first has proposed, of the user."""
        user, by = User.objects.get(external_id=self.user), Staff.objects.get(username=self.staff)
        return str(retention.propose_erasure(by=by, reason="Due.", user_ids=[user.pk]).pk)


COMMANDS: dict[str, Arguments] = {
    "create_partner": lambda _w: ["new", "--name", "New"],
    "set_partner": lambda w: [w.partner, "--disable"],
    "issue_api_key": lambda w: [w.partner],
    "rotate_api_key": lambda w: [w.key],
    "revoke_api_key": lambda w: [w.key],
    "create_staff": lambda _w: ["grace", "--email", "grace@example.com", "--role", "administrator"],
    "reset_staff_mfa": lambda w: [w.staff, "--reason", "Seen in person."],
    "disable_staff": lambda w: [w.staff, "--reason", "Has left."],
    "change_user_status": lambda w: [w.partner, w.user, "active", "--reason", "Seen.", "--by", w.staff],
    "propose_user_status": lambda w: [w.partner, w.user, "active", "--reason", "Seen.", "--by", w.staff],
    "approve_proposal": lambda w: [w.proposal, "--by", w.second],
    "decline_proposal": lambda w: [w.proposal, "--by", w.second, "--note", "Not the same person."],
    "request_information": lambda w: [w.partner, w.user, "--code", "purposeOfUse", "--by", w.staff],
    "close_requirement": lambda w: [w.requirement, "--by", w.second],
    "hold_user": lambda w: [w.partner, w.user, "--reason", "Litigation.", "--by", w.staff],
    "release_hold": lambda w: [w.hold, "--reason", "It has ended.", "--by", w.second],
    "propose_erasure": lambda w: ["--confirm", "1", "--reason", "Due.", "--by", w.staff],
    "approve_erasure": lambda w: [w.erasure, "--by", w.second],
    "decline_erasure": lambda w: [w.erasure, "--reason", "Not yet.", "--by", w.second],
    "erase_due": lambda w: ["--confirm", "0"],
    "export_person": lambda w: [w.partner, w.user, "--output", str(w.file) + ".zip", "--by", w.auditor],
    "set_approval_rule": lambda _w: ["suspended", "active", "never"],
    "publish_document": lambda w: [w.partner, w.user, str(w.file), "--type", "agreement", "--title", "Agreement"],
    "withdraw_document": lambda w: [str(w.document), "--reason", "Another person's.", "--by", w.staff],
    "import_conversions": lambda w: [str(w.empty)],
    "record_file_entries": lambda w: [str(w.empty)],
    "set_identity_rule": lambda _w: ["off"],
    "add_webhook": lambda w: [w.partner, "https://hooks.example.com/events"],
    "set_webhook": lambda w: [w.webhook, "--disable"],
    "remove_webhook": lambda w: [w.webhook],
    "rotate_webhook_secret": lambda w: [w.webhook],
    "retry_webhooks": lambda w: [w.webhook],
    "test_webhook": lambda w: [w.webhook],
    "publish_documents": lambda w: [str(w.empty)],
    "purge_expired": lambda _w: [],
    "reencrypt_secrets": lambda _w: [],
    "seed_demo": lambda _w: ["--users", "1", "--conversions", "1"],
    "setup_database_roles": lambda _w: [],
}
OF_TWO = {"propose_user_status", "approve_proposal", "decline_proposal"}
# They write by other connections or processes; each has a test of its own for its line.
ELSEWHERE = {"erase_due", "set_approval_rule", "set_identity_rule", "setup_database_roles", "seed_demo", "test_webhook"}


def test_every_command_is_here() -> None:
    assert set(OURS) == READING | set(COMMANDS)


@pytest.fixture
def world(
    api: PartnerClient, partner: Partner, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[World]:
    monkeypatch.setattr(addresses, "look_up", Mock())
    with no_rules_left():
        world = World(api, partner, tmp_path)
        user = User.objects.get(external_id=world.user)
        make_due(user, monkeypatch)
        yield world


@pytest.mark.django_db(databases=[serving_role.SERVING, serving_role.OWNER])
def test_a_command_that_changes_data_leaves_a_trail(world: World, subtests: pytest.Subtests) -> None:
    of_one = COMMANDS.keys() - ELSEWHERE - OF_TWO
    for name in (*sorted(of_one), *sorted(OF_TWO)):
        if name in OF_TWO:
            set_rule("always")
        with subtests.test(name), undone():
            arguments = COMMANDS[name](world)
            before = written()
            call_command(name, *arguments, verbosity=0)
            assert without_a_trail(before, written()) == []


def test_seeding_records_its_run() -> None:
    command = load_command_class(get_commands()["seed_demo"], "seed_demo")
    assert isinstance(command, ServiceCommand)
    assert command.records_run


@pytest.mark.django_db(databases=[serving_role.SERVING, serving_role.OWNER])
def test_setting_up_the_roles_records_its_run() -> None:
    call_command("setup_database_roles", verbosity=0)
    entry = AuditEntry.objects.using(serving_role.OWNER).latest("id")
    assert (entry.action, entry.object) == (AuditEntry.COMMAND_RUN, "setup_database_roles")


def call(request: Any, staff: Staff) -> None:
    """Call the view of an address as this account; what it shows is not rendered."""
    with suppress(PermissionDenied, Http404), statements.acting(staff=staff.username):
        response = called(sent_by(staff, request))
        if response.streaming:
            b"".join(response.streaming_content)


@pytest.mark.parametrize("method", ["get", "post"])
def test_what_an_address_changes_leaves_a_trail(
    method: str, user: User, rf: RequestFactory, settings: Settings
) -> None:
    settings.STAFF_MFA_REQUIRED = False
    root, found = factories.StaffFactory.create(role=""), {}
    before = written()
    for path in (path for path in PATHS if path not in FOR_ALL_STAFF | NOT_THERE):
        call(getattr(rf, method)(path.format(user.pk)), root)
        after = written()
        found[path] = without_a_trail(before, after)
        before = after
    assert {path: tables for path, tables in found.items() if tables} == {}
