"""The one table of roles, pages and actions, which `make roles` prints."""

from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from django.contrib.auth.models import Group
from django.db import connection
from django.db.models import Model
from django.test import Client
from pytest_django import Settings

from backoffice.case.requirements import AskForm, confirmation
from backoffice.partners.webhooks import version_of
from core.database import statements
from core.models import AuditEntry
from events.models import DeliveryState, WebhookDelivery, WebhookEndpoint, WebhookSecret
from events.webhooks import addresses, endpoints
from partners.authentication import keys
from partners.models import ApiKey, Partner
from staff.models import Staff
from tests import factories
from tests.support.approval_rules import no_rules_left, set_rule
from tests.support.database import undone
from tests.support.documents import add_document
from tests.support.erasing import make_due
from tests.support.events import secrets_in_force
from tests.support.internal import REASON
from tests.support.staff import client_as
from tests.users.deciding import shown_version
from transactions.documents.publishing import withdraw
from transactions.models import Conversion, Document
from users import retention
from users.decisions import compliance, proposals
from users.file import entries as file_entries
from users.models import (
    AccessKind,
    AccessRecord,
    CaseNote,
    Claim,
    ErasureProposal,
    FileEntry,
    Hold,
    HoldRelease,
    Proposal,
    Requirement,
    RequirementClosure,
    Status,
    StatusChange,
    User,
    UserEvent,
)
from users.profile.field_rules import today
from users.retention import place_hold

VIEWER, REVIEWER, AUDITOR, MANAGER, ADMINISTRATOR, SUPERUSER = STAFF = (
    "viewer",
    "reviewer",
    "auditor",
    "partner-manager",
    "administrator",
    "superuser",
)
STRANGERS = ("non-staff", "anonymous")
COLUMNS = (*STAFF, *STRANGERS)

READERS = {VIEWER, REVIEWER, AUDITOR, SUPERUSER}
IDENTITY = {REVIEWER, AUDITOR, SUPERUSER}
DECIDERS = {REVIEWER, SUPERUSER}
# Who decides and who audits: records are held, and erased by two.
KEEPERS = DECIDERS | {AUDITOR}
OVERSIGHT = {AUDITOR, SUPERUSER}
PARTNER_READERS = {AUDITOR, MANAGER, SUPERUSER}
MANAGERS = {MANAGER, SUPERUSER}
STAFF_READERS = {AUDITOR, ADMINISTRATOR, SUPERUSER}
ADMINISTRATORS = {ADMINISTRATOR, SUPERUSER}
NOBODY: set[str] = set()


@dataclass
class World:
    """One row of everything. changed: an active user whose name changed since; held: a case that somebody left."""

    user: User
    held: User
    changed: User
    event: Any
    decision: StatusChange
    access: AccessRecord
    conversion: Conversion
    document: Document
    withdrawn: Document
    partner: Partner
    key: ApiKey
    webhook: WebhookEndpoint
    disabled: WebhookEndpoint
    delivery: WebhookDelivery
    colleague: Staff
    left: Staff
    group: Group
    entry: AuditEntry
    proposal: Proposal
    affiliate: User
    requirement: Requirement
    hold: Hold
    verification: FileEntry
    match: FileEntry
    erasure: Any = None


@pytest.fixture
def world(partner: Partner, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    monkeypatch.setattr(addresses, "look_up", Mock())
    with no_rules_left():
        set_rule("ciroAffiliate")
        world = make_world(partner)
        for user in (world.held, world.user):
            make_due(user, monkeypatch)
            if world.erasure is None:
                by = factories.StaffFactory.create(role="reviewer")
                world.erasure = retention.propose_erasure(by=by, reason="Due.")
        # Whom the test makes later was not made by the proposer.
        statements.set_context()
        yield world


def make_world(partner: Partner) -> World:
    address = {"address_line2": "Suite 200", "postal_code": "M5X 1A9", "province": "ON"}
    user, held, changed, asked = factories.UserFactory.create_batch(4, partner=partner, **address)
    proposed, affiliate = factories.UserFactory.create_batch(2, partner=partner, is_ciro_affiliate=True)
    colleague, left = factories.StaffFactory.create_batch(2, role="viewer")
    Staff.objects.filter(pk=left.pk).update(is_active=False)
    absent = factories.StaffFactory.create(role="reviewer")
    Claim.objects.create(user=held, staff=absent)
    Staff.objects.filter(pk=absent.pk).update(is_active=False)
    factories.decide(changed, Status.ACTIVE)
    User.objects.filter(pk=changed.pk).update(last_name="King", name_key="ada king")
    changed.refresh_from_db()
    assert changed.identity_changed_at is not None
    entry = AuditEntry.objects.latest("id")
    webhook, disabled = factories.WebhookEndpointFactory.create_batch(2, partner=partner)
    endpoints.change_endpoint(disabled, enabled=False)
    return World(
        user=user,
        held=held,
        changed=changed,
        event=UserEvent.objects.filter(pgh_obj=user).latest("pgh_id"),
        decision=StatusChange.objects.get(user=changed),
        access=factories.AccessRecordFactory.create(user=user),
        conversion=factories.ConversionFactory.create(user=changed),
        document=add_document(user),
        withdrawn=withdraw(
            document=add_document(user), by=factories.StaffFactory.create(role="reviewer"), reason=WITHDRAWN
        ).document,
        partner=partner,
        key=keys.issue(partner=partner, label="production").record,
        webhook=webhook,
        disabled=disabled,
        delivery=factories.WebhookDeliveryFactory.create(
            endpoint=webhook,
            event=factories.EventFactory.create(partner=partner, user=changed),
            state=DeliveryState.FAILED,
        ),
        colleague=colleague,
        left=left,
        group=Group.objects.get(name="viewer"),
        entry=entry,
        proposal=proposals.propose(
            compliance.Decision(
                user=proposed, to_status="active", by=factories.StaffFactory.create(role="reviewer"), reason=PROPOSED
            )
        ),
        affiliate=affiliate,
        requirement=factories.RequirementFactory.create(user=asked, message=ASKED),
        verification=record_of(user, "identityVerification", IDENTITY_SEEN),
        match=record_of(asked, "screening", MATCH),
        hold=place_hold(user=changed, by=factories.StaffFactory.create(), reason="A complaint."),
    )


IDENTITY_SEEN = {
    "method": "photoDocument",
    "verifiedOn": "2026-01-15",
    "documentType": "passport",
    "documentNumber": "AB-1",
    "issuingCountry": "CA",
}
MATCH = {"list": "Beacon list", "listDate": "2026-01-15", "result": "possibleMatch", "reference": "B-1"}


def record_of(user: User, kind: str, data: Mapping[str, str]) -> FileEntry:
    by = factories.StaffFactory.create(role="reviewer")
    return file_entries.record(user_id=user.pk, born=user.date_of_birth, kind=kind, data=data, by=by)


Path_ = Callable[[World], str]


@dataclass(frozen=True)
class Action:
    """What a POST does. is_done: whether it was; others leave every row as it is."""

    title: str
    path: Path_
    roles: set[str]
    sent: Callable[[World], Mapping[str, Any]] = field(default=lambda _world: {})
    is_done: Callable[[World], bool] = field(default=lambda _world: False)
    word = "does"


@dataclass(frozen=True)
class Page:
    """What is asked for by GET. shows: what stands on it for those roles, and on no page of others; button: what its
    form does.
    """

    title: str
    path: Path_
    roles: set[str]
    shows: tuple[str, ...] = ()
    button: Action | None = None
    word = "sees"


def rows_of(model: str, row: str = "") -> Path_:
    """The address of a list of the admin, or of the page of that row of the world."""

    def path(world: World) -> str:
        return f"/admin/{model}/" + (f"{getattr(world, row).pk}/change/" if row else "")

    return path


def at(pattern: str) -> Path_:
    """An address with the ids of the world's rows in it."""
    return lambda world: pattern.format(w=world)


def form(
    title: str,
    path: str,
    sent: Callable[[World], Mapping[str, Any]] = lambda _world: {},
    is_done: Callable[[World], bool] = lambda _world: False,
    roles: set[str] = MANAGERS,
) -> tuple[Page, Action]:
    """The page of a form, and what its button does."""
    button = Action(title, at(path), roles, sent, is_done)
    return Page(f"{title}: its page", at(path), roles, button=button), button


APPROVED = {"to_status": "active", "reason_code": "verified", "then": "stay"}
PURPOSE_ASKED = {"code": "purposeOfUse", "due_in_days": "14", "step": "send", "then": "stay"}


def confirmed(user: User) -> str:
    """What the second step of asking signs for the newest account, which is the one that acts."""
    form = AskForm(PURPOSE_ASKED)
    assert form.is_valid()
    return confirmation(form, user=user, staff=Staff.objects.latest("pk"))


def is_exported(_world: World) -> bool:
    return AccessRecord.objects.filter(kind=AccessKind.EXPORTED).exists()


def is_held_now(world: World) -> bool:
    return Hold.objects.filter(user=world.user).exists()


def is_claimed(world: World) -> bool:
    return Claim.objects.filter(user=world.user).exists()


def is_approved(world: World) -> bool:
    return User.objects.get(pk=world.user.pk).status == Status.ACTIVE


def selected(action: str) -> Callable[[World], Mapping[str, Any]]:
    """What the admin's list of users sends with this action."""
    return lambda world: {"action": action, "_selected_action": [str(world.user.pk)]}


def issues(world: World) -> dict[str, str]:
    return {"version": str(world.partner.api_keys.latest("pk").pk)}


def adds(world: World) -> dict[str, str]:
    return {"version": str(WebhookSecret.objects.filter(endpoint__partner=world.partner).latest("pk").pk)}


def is_retried(world: World) -> bool:
    return WebhookDelivery.objects.get(pk=world.delivery.pk).state == DeliveryState.PENDING


def is_recorded(action: str, world: World) -> bool:
    return AuditEntry.objects.filter(action=action, object=world.colleague.username).exists()


def webhook_of(world: World) -> WebhookEndpoint:
    return WebhookEndpoint.objects.get(pk=world.webhook.pk)


ASKED = "Please confirm the street."
PROPOSED = "Born 10 Dec 1990."
WITHDRAWN = "That of John, of 1 Elgin St."
WEBHOOK = "/admin/events/webhookendpoint/{w.webhook.pk}/"
BIRTH_AND_ADDRESS = ("Dec. 10, 1990", "100 King St W", "Suite 200", "Toronto", "M5X 1A9")

# The admin's name of each kind of row, and the world's name.
KEPT = {
    "a user": ("users/user", "user"),
    "a decision": ("users/statuschange", "decision"),
    "a line of the profile history": ("users/userevent", "event"),
    "a line of the access log": ("users/accessrecord", "access"),
    "a conversion": ("transactions/conversion", "conversion"),
    "a document": ("transactions/document", "document"),
    "a role": ("auth/group", "group"),
    "a webhook's columns": ("events/webhookendpoint", "webhook"),
    "a delivery": ("events/webhookdelivery", "delivery"),
    "a line of the audit log": ("core/auditentry", "entry"),
}
# A user's page is the case.
PAGED = {what: row for what, row in KEPT.items() if what != "a user"}
CHANGED_BY_SOME = {
    "a partner": ("partners/partner", "partner"),
    "an API key": ("partners/apikey", "key"),
    "a staff account": ("staff/staff", "colleague"),
}
EDITED = {
    "external_id": "mine",
    "status": "closed",
    "reason": "mine",
    "rate": "9",
    "name": "mine",
    "kind": "exported",
    "title": "mine",
    "url": "https://mine.example.com/",
    "state": "delivered",
}

TABLE: tuple[Page | Action, ...] = (
    Page("Document: its file", at("/admin/transactions/document/{w.document.pk}/file/"), IDENTITY),
    Page("Queue", at("/admin/users/user/queue/"), READERS),
    Page("Queue: answered", at("/admin/users/user/answered/"), READERS),
    Page("Queue: waiting for the partner", at("/admin/users/user/asked/"), READERS),
    Page("Queue: changed since the decision", at("/admin/users/user/changed/"), READERS),
    Page("Case", at("/admin/cases/{w.user.pk}/"), READERS),
    Page("Case: birth date, address", at("/admin/cases/{w.user.pk}/"), IDENTITY, BIRTH_AND_ADDRESS),
    Page("Case: a proposal", at("/admin/cases/{w.proposal.user_id}/"), IDENTITY, (PROPOSED,)),
    Page("Case: the note of a decision", at("/admin/cases/{w.changed.pk}/"), IDENTITY, (REASON,)),
    Action(
        "Decide",
        at("/admin/cases/{w.user.pk}/decide/"),
        DECIDERS,
        lambda w: APPROVED | {"version": shown_version(w.user)},
        is_approved,
    ),
    Action(
        "Add a note to a case",
        at("/admin/cases/{w.user.pk}/note/"),
        DECIDERS,
        lambda _w: {"note": "Called the partner."},
        lambda w: w.user.case_notes.filter(text="Called the partner.").exists(),
    ),
    Action(
        "Ask the partner",
        at("/admin/cases/{w.user.pk}/ask/"),
        DECIDERS,
        lambda w: PURPOSE_ASKED | {"version": shown_version(w.user), "confirmed": confirmed(w.user)},
        lambda w: w.user.requirements.exists(),
    ),
    Action(
        "Close a requirement",
        at("/admin/cases/{w.requirement.user_id}/requirement/close/"),
        DECIDERS,
        lambda w: {"version": shown_version(w.requirement.user), "requirement": str(w.requirement.pk)},
        lambda w: RequirementClosure.objects.filter(pk=w.requirement.pk).exists(),
    ),
    Action(
        "Propose",
        at("/admin/cases/{w.affiliate.pk}/decide/"),
        DECIDERS,
        lambda w: APPROVED | {"version": shown_version(w.affiliate)},
        lambda w: w.affiliate.proposals.exists(),
    ),
    Action(
        "Approve a proposal",
        at("/admin/cases/{w.proposal.user_id}/proposal/approve/"),
        DECIDERS,
        lambda w: {"proposal": str(w.proposal.pk), "version": shown_version(w.proposal.user)},
        lambda w: StatusChange.objects.filter(proposal=w.proposal).exists(),
    ),
    Action(
        "Decline a proposal",
        at("/admin/cases/{w.proposal.user_id}/proposal/decline/"),
        DECIDERS,
        lambda w: {"proposal": str(w.proposal.pk), "note": "No."},
        lambda w: Proposal.objects.filter(pk=w.proposal.pk, state="declined").exists(),
    ),
    Page("For a second person", rows_of("users/proposal"), IDENTITY),
    Page("File: what is open of a kind", at("/admin/users/fileentry/screening/"), IDENTITY),
    Page(
        "Case: what the partner is asked, the file",
        at("/admin/cases/{w.match.user_id}/"),
        IDENTITY,
        (ASKED, "Beacon list"),
    ),
    Page("Case: the file, a kind", at("/admin/cases/{w.user.pk}/file/identityVerification/"), IDENTITY),
    Action(
        "Record in the file",
        at("/admin/cases/{w.user.pk}/file/riskRating/add/"),
        DECIDERS,
        lambda _w: {"rating": "low", "reason": "Small sums.", "reviewOn": str(today())},
        lambda w: w.user.file_entries.filter(kind="riskRating").exists(),
    ),
    Action(
        "Close an entry of the file",
        at("/admin/cases/{w.match.user_id}/file/screening/close/"),
        DECIDERS,
        lambda w: {"entry": str(w.match.pk), "resolution": "falsePositive", "note": "Another person."},
        lambda w: FileEntry.objects.filter(ends=w.match).exists(),
    ),
    Action(
        "Show a document's number",
        at("/admin/cases/{w.user.pk}/file/identityVerification/number/"),
        DECIDERS,
        lambda w: {"entry": str(w.verification.pk), "secret": "documentNumber"},
        lambda _w: AccessRecord.objects.filter(kind=AccessKind.REVEALED).exists(),
    ),
    Action("Claim", at("/admin/cases/{w.user.pk}/claim/"), DECIDERS, is_done=is_claimed),
    Action(
        "Release",
        at("/admin/cases/{w.held.pk}/release/"),
        DECIDERS,
        is_done=lambda w: not Claim.objects.filter(user=w.held).exists(),
    ),
    Action("Next case", at("/admin/cases/next/"), DECIDERS, is_done=is_claimed),
    *(
        row
        for title, model in {"Queue": "users/user/queue", "Users": "users/user"}.items()
        for row in (
            Action(f"{title}: claim the selected", rows_of(model), DECIDERS, selected("claim_selected"), is_claimed),
            Action(
                f"{title}: release the selected",
                rows_of(model),
                DECIDERS,
                lambda w: {"action": "release_selected", "_selected_action": [str(w.held.pk)]},
                lambda w: not Claim.objects.filter(user=w.held).exists(),
            ),
        )
    ),
    *form("Evidence pack", "/admin/cases/{w.user.pk}/evidence/", is_done=is_exported, roles=OVERSIGHT),
    *form("Person's copy", "/admin/cases/{w.user.pk}/copy/", lambda _w: {"language": "en"}, is_exported, OVERSIGHT),
    Page("Records", at("/admin/records/"), KEEPERS),
    Action(
        "Records: export CSV",
        at("/admin/records/due.csv"),
        KEEPERS,
        is_done=lambda _w: AccessRecord.objects.filter(kind=AccessKind.EXPORTED, detail__contains="due").exists(),
    ),
    Action(
        "Propose an erasure",
        at("/admin/records/propose/"),
        KEEPERS,
        lambda _w: {"which": "all", "count": "1", "note": "Due."},
        lambda _w: ErasureProposal.objects.count() == 2,
    ),
    *(
        Action(
            f"{verb} an erasure",
            at(f"/admin/records/{{w.erasure.pk}}/{verb.lower()}/"),
            KEEPERS,
            lambda _w: {"note": "Seen."},
            lambda w: ErasureProposal.objects.get(pk=w.erasure.pk).state != "open",
        )
        for verb in ("Approve", "Decline")
    ),
    *form("Hold", "/admin/cases/{w.user.pk}/hold/", lambda _w: {"note": "Litigation."}, is_held_now, KEEPERS),
    Action(
        "Release the hold",
        at("/admin/cases/{w.hold.user_id}/hold/release/"),
        KEEPERS,
        lambda w: {"hold": str(w.hold.pk), "note": "It has ended."},
        lambda w: HoldRelease.objects.filter(pk=w.hold.pk).exists(),
    ),
    Action(
        "Evidence packs: export",
        at("/admin/exports/packs/"),
        OVERSIGHT,
        lambda w: {"user": str(w.user.pk), "confirmed": "yes"},
        is_done=is_exported,
    ),
    Page("List of users: its page", at("/admin/exports/"), OVERSIGHT),
    Action("List of users: export CSV", at("/admin/exports/users.csv"), OVERSIGHT, is_done=is_exported),
    Action("Decisions: export CSV", at("/admin/exports/decisions.csv"), OVERSIGHT, is_done=is_exported),
    Action("Access log: export CSV", at("/admin/exports/access-log.csv"), OVERSIGHT, is_done=is_exported),
    Page("Users", rows_of("users/user"), READERS),
    Page("Users: by identifiers", at("/admin/users/user/identified/"), READERS),
    Page("Decisions", rows_of("users/statuschange"), READERS),
    Page("Decision", rows_of("users/statuschange", "decision"), READERS),
    Page("Decisions: the notes", rows_of("users/statuschange"), IDENTITY, (REASON,)),
    Page("Decision: its note", rows_of("users/statuschange", "decision"), IDENTITY, (REASON,)),
    Page("Profile history", rows_of("users/userevent"), IDENTITY),
    Page("Profile history: a line", rows_of("users/userevent", "event"), IDENTITY, BIRTH_AND_ADDRESS),
    Page("Access log", rows_of("users/accessrecord"), OVERSIGHT),
    Page("Access log: a line", rows_of("users/accessrecord", "access"), OVERSIGHT),
    Page("Conversions", rows_of("transactions/conversion"), READERS),
    Page("Conversion", rows_of("transactions/conversion", "conversion"), READERS),
    Page("Documents", rows_of("transactions/document"), READERS),
    Page("Document", rows_of("transactions/document", "document"), READERS),
    Page("Document: why it is withdrawn", rows_of("transactions/document", "withdrawn"), IDENTITY, (WITHDRAWN,)),
    Page("Partners", rows_of("partners/partner"), PARTNER_READERS),
    Page("Partner", rows_of("partners/partner", "partner"), PARTNER_READERS),
    *form(
        "Add a partner",
        "/admin/partners/partner/add/",
        lambda _w: {"slug": "new-partner", "name": "New", "mode": "live", "enabled": "on"},
        lambda _w: Partner.objects.filter(slug="new-partner").exists(),
    ),
    Action(
        "Change or disable a partner",
        rows_of("partners/partner", "partner"),
        MANAGERS,
        lambda _w: {"name": "Renamed", "rate_limit": "5/minute", "initial-enabled": "True"},
        lambda w: Partner.objects.filter(pk=w.partner.pk, name="Renamed", enabled=False).exists(),
    ),
    Page("API keys", rows_of("partners/apikey"), PARTNER_READERS),
    Page("API key", rows_of("partners/apikey", "key"), PARTNER_READERS),
    *form(
        "Issue an API key",
        "/admin/partners/partner/{w.partner.pk}/issue/",
        lambda w: {**issues(w), "label": "staging"},
        lambda w: ApiKey.objects.filter(partner=w.partner, label="staging").exists(),
    ),
    *form(
        "Rotate an API key",
        "/admin/partners/apikey/{w.key.pk}/rotate/",
        lambda w: {**issues(w), "overlap_hours": "24"},
        lambda w: ApiKey.objects.get(pk=w.key.pk).expires_at is not None,
    ),
    *form(
        "Revoke an API key",
        "/admin/partners/apikey/{w.key.pk}/revoke/",
        lambda _w: {"confirmed": "on"},
        lambda w: ApiKey.objects.get(pk=w.key.pk).revoked_at is not None,
    ),
    Page("Webhooks", rows_of("events/webhookendpoint"), PARTNER_READERS),
    Page("Webhook", rows_of("events/webhookendpoint", "webhook"), PARTNER_READERS),
    Page("Webhook deliveries", rows_of("events/webhookdelivery"), PARTNER_READERS),
    Page("Webhook delivery", rows_of("events/webhookdelivery", "delivery"), PARTNER_READERS),
    *form(
        "Add a webhook",
        "/admin/partners/partner/{w.partner.pk}/add_webhook/",
        lambda w: {**adds(w), "url": "https://new.example.com/"},
        lambda w: w.partner.webhooks.filter(url="https://new.example.com/").exists(),
    ),
    *form(
        "Change a webhook",
        f"{WEBHOOK}edit/",
        lambda w: {"url": "https://new.example.com/", "version": version_of(w.webhook)},
        lambda w: webhook_of(w).url == "https://new.example.com/",
    ),
    *form(
        "Rotate a webhook's secret",
        f"{WEBHOOK}rotate/",
        lambda w: {**adds(w), "overlap_hours": "24"},
        lambda w: len(secrets_in_force(w.webhook)) == 2,
    ),
    *form(
        "Send a test to a webhook",
        f"{WEBHOOK}send_test/",
        is_done=lambda w: w.webhook.deliveries.filter(type="webhook.test").exists(),
    ),
    *form("Disable a webhook", f"{WEBHOOK}disable/", is_done=lambda w: not webhook_of(w).is_active),
    *form(
        "Enable a webhook",
        "/admin/events/webhookendpoint/{w.disabled.pk}/enable/",
        is_done=lambda w: WebhookEndpoint.objects.get(pk=w.disabled.pk).is_active,
    ),
    *form(
        "Remove a webhook",
        f"{WEBHOOK}remove/",
        lambda _w: {"confirmed": "on"},
        lambda w: webhook_of(w).removed_at is not None,
    ),
    *form("Retry a webhook's deliveries", f"{WEBHOOK}retry/", is_done=is_retried),
    *form("Retry a delivery", "/admin/events/webhookdelivery/{w.delivery.pk}/retry/", is_done=is_retried),
    Page("Staff", rows_of("staff/staff"), STAFF_READERS),
    Page("Staff account", rows_of("staff/staff", "colleague"), STAFF_READERS),
    *form(
        "Invite a colleague",
        "/admin/staff/staff/add/",
        lambda _w: {"email": "grace@example.com", "role": "reviewer"},
        lambda _w: Staff.objects.filter(username="grace", is_superuser=False).exists(),
        ADMINISTRATORS,
    ),
    Action(
        "Change a staff account's role",
        rows_of("staff/staff", "colleague"),
        ADMINISTRATORS,
        lambda w: {"email": w.colleague.email, "groups": [Group.objects.get(name="auditor").pk]},
        lambda w: w.colleague.groups.filter(name="auditor").exists(),
    ),
    *(
        row
        for title, (act, done) in {
            "New invitation link": ("invite_again", "staff.invited"),
            "Reset a second factor": ("reset_second_factor", "staff.factorReset"),
            "End all sessions of an account": ("end_sessions", "staff.sessionsEnded"),
            "Disable a staff account": ("disable", "staff.disabled"),
        }.items()
        for row in form(
            title,
            f"/admin/staff/staff/{{w.colleague.pk}}/{act}/",
            lambda _w: {"reason": "Seen in person."},
            partial(is_recorded, done),
            ADMINISTRATORS,
        )
    ),
    *form(
        "Enable a staff account",
        "/admin/staff/staff/{w.left.pk}/enable/",
        lambda _w: {"reason": "Is back."},
        lambda w: Staff.objects.get(pk=w.left.pk).is_active,
        ADMINISTRATORS,
    ),
    Page("Confirm by the company's account: its page", at("/admin/account/company/confirm/"), set(STAFF)),
    Page("Roles", rows_of("auth/group"), STAFF_READERS),
    Page("Role", rows_of("auth/group", "group"), STAFF_READERS),
    Page("Audit log", rows_of("core/auditentry"), OVERSIGHT),
    Page("Audit log: a line", rows_of("core/auditentry", "entry"), OVERSIGHT),
    Action(
        "Audit log: export CSV",
        at("/admin/core/auditentry/export/"),
        OVERSIGHT,
        is_done=lambda _w: AuditEntry.objects.filter(action=AuditEntry.EXPORTED).exists(),
    ),
    *(Action(f"Edit {what}", rows_of(model, row), NOBODY, lambda _w: EDITED) for what, (model, row) in PAGED.items()),
    *(
        Action(f"Add {what}", at(f"/admin/{model}/add/"), NOBODY, lambda _w: EDITED)
        for what, (model, _row) in KEPT.items()
    ),
    *(
        Action(
            f"Delete {what}",
            at(f"/admin/{model}/{{w.{row}.pk}}/delete/"),
            NOBODY,
            lambda _w: {"post": "yes"},
        )
        for what, (model, row) in (PAGED | CHANGED_BY_SOME).items()
    ),
)

# Not the audit log: an account without access is signed out, and that has a line.
_EVERYTHING: tuple[type[Model], ...] = (
    User,
    UserEvent,
    StatusChange,
    AccessRecord,
    CaseNote,
    Claim,
    ErasureProposal,
    FileEntry,
    Hold,
    HoldRelease,
    Conversion,
    Document,
    Partner,
    ApiKey,
    WebhookEndpoint,
    WebhookSecret,
    WebhookDelivery,
    Staff,
    Group,
    Staff.groups.through,
    Group.permissions.through,
)


def everything() -> list[tuple[str, str]]:
    """All rows there are, as text, by table."""
    tables = (model._meta.db_table for model in _EVERYTHING)
    rows = (
        f"SELECT '{table}', coalesce(string_agg(r::text, '\n' ORDER BY r::text), '') FROM {table} r" for table in tables
    )
    with connection.cursor() as cursor:
        cursor.execute(" UNION ALL ".join(rows))
        found: list[tuple[str, str]] = cursor.fetchall()
    # Processes of PostgreSQL that read side by side end in any order.
    return sorted(found)


def who_tries(line: Page | Action) -> set[str]:
    """The roles that do what they may: all lines of the same rights have one role that does, the first all roles."""
    alike = (other for other in TABLE if (other.word, other.roles) == (line.word, line.roles))
    return line.roles if line is next(alike) else set(sorted(line.roles, key=STAFF.index)[:1])


def others(line: Page | Action) -> frozenset[str]:
    """The roles of the account that is refused it. Rights only add up: what one with all other roles may not, none of
    these may, and what a superuser may not, nobody.
    """
    refused = frozenset(STAFF) - line.roles
    return frozenset({SUPERUSER}) if SUPERUSER in refused else refused


def client_with(roles: frozenset[str]) -> Client:
    """A browser of a new account with these roles."""
    client = client_as(SUPERUSER if SUPERUSER in roles else "nobody")
    Staff.objects.latest("pk").groups.set(Group.objects.filter(name__in=roles))
    return client


def test_a_role_sees_and_does_what_the_table_says_and_nothing_else(
    world: World, subtests: pytest.Subtests, settings: Settings
) -> None:
    settings.STAFF_OIDC_ISSUER = "https://company.example"
    with undone():
        assert_others_are_refused(world)
    for role in STAFF:
        with undone():
            client = client_as(role)
            logged_in = client.cookies
            before = everything()
            for line in (line for line in TABLE if role in who_tries(line)):
                # Some actions begin a new session, which is rolled back.
                client.cookies = deepcopy(logged_in)
                with subtests.test(role=role, line=line.title):
                    if isinstance(line, Page) and line.button:
                        sees(line, client, world)
                    else:
                        with undone():
                            sees(line, client, world) if isinstance(line, Page) else does(line, client, world)
            # Nor has the page of a form done what its button does, though it was asked with what that sends.
            assert everything() == before


def assert_others_are_refused(world: World) -> None:
    # That strangers are sent to the login everywhere is for tests/backoffice/test_staff_urls.py.
    clients = {roles: client_with(roles) for roles in {*map(others, TABLE)}}
    before = everything()
    let_in = [line.title for line in TABLE if others(line) and not is_refused(line, clients[others(line)], world)]
    assert let_in == []
    # What was refused has changed no row, nor does what asks for no permission, nor an action that is not posted.
    superuser = clients[frozenset({SUPERUSER})]
    for model, row in (KEPT | CHANGED_BY_SOME).values():
        delete_chosen(superuser, model, str(getattr(world, row).pk))
    pages = {line.path(world) for line in TABLE if isinstance(line, Page)}
    for line in TABLE:
        if isinstance(line, Action) and line.roles and line.path(world) not in pages:
            b"".join(superuser.get(line.path(world), line.sent(world)))
    assert everything() == before


def delete_chosen(client: Client, model: str, pk: str) -> None:
    """Send what the admin's own action on chosen rows would be, where lists had it."""
    client.post(f"/admin/{model}/", {"action": "delete_selected", "_selected_action": [pk], "post": "yes"})


def is_refused(line: Page | Action, client: Client, world: World) -> bool:
    if isinstance(line, Action):
        return client.post(line.path(world), line.sent(world)).status_code == 403
    with undone():
        response: Any = client.get(line.path(world))
        text = response.getvalue().decode()
    # They may see the page, without what it shows to others.
    let_in = {200} if line.shows else set()
    return response.status_code in let_in | {403} and not any(shown in text for shown in line.shows)


def sees(page: Page, client: Client, world: World) -> None:
    response: Any = client.get(page.path(world), page.button.sent(world) if page.button else {})
    text = response.getvalue().decode()
    assert response.status_code == 200
    assert all(shown in text for shown in page.shows)


def does(action: Action, client: Client, world: World) -> None:
    response = client.post(action.path(world), action.sent(world))
    # What is not read keeps its place among downloads.
    b"".join(response)
    assert response.status_code in {200, 302}
    assert action.is_done(world)


def table() -> str:
    """A row for all pages and actions with the same rights, in the order of TABLE, as Markdown."""
    titles: dict[tuple[str, frozenset[str]], list[str]] = {}
    for line in TABLE:
        titles.setdefault((line.word, frozenset(line.roles)), []).append(line.title)
    rows = [["pages and actions", *COLUMNS], ["---"] * (len(COLUMNS) + 1)]
    rows += [
        ["; ".join(same), *(word if role in roles else "login" if role in STRANGERS else "–" for role in COLUMNS)]
        for (word, roles), same in titles.items()
    ]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in rows)


def test_each_page_and_action_is_in_the_table_once() -> None:
    assert len({line.title for line in TABLE}) == len(TABLE)
