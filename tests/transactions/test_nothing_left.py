"""Nothing of an erased user is left: not a byte of it in the database, the folder of documents, the log, the cache."""

import subprocess
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
import structlog
from django.core.cache import cache
from django.db import connections

from config.embedded.server import SUPERUSER, programs
from core.database import serving_role
from core.models import AuditEntry
from events.feed.relay import Relay
from partners.models import Partner, SandboxRequest
from staff.models import Staff
from tests import factories
from tests.conftest import database_url
from tests.support.approval_rules import no_rules_left, set_rule
from tests.support.client import in_process
from tests.support.commands import outcome
from tests.support.documents import add_document
from tests.support.erasing import age_erasures, date_back
from tests.support.staff import client_of
from transactions.documents.publishing import withdraw
from users import claims, retention
from users.decisions import compliance, proposals
from users.decisions.compliance import add_note
from users.file import entries
from users.models import User
from users.requirements import close_requirement
from users.retention import place_hold, release_hold

# Occur nowhere else, and in every text of the user and about it.
WORD = "Qwyzzleforth"
LONG_AGO = datetime(2015, 6, 1, tzinfo=UTC)
PROFILE = {
    "email": f"{WORD.lower()}@example.com",
    "firstName": f"{WORD} first",
    "lastName": f"{WORD} last",
    "addressLine1": f"{WORD} street",
    "addressLine2": f"{WORD} flat",
    "city": f"{WORD} city",
    "occupation": f"{WORD} work",
}


@pytest.fixture(autouse=True)
def owner_closed() -> Iterator[None]:
    yield
    connections[serving_role.OWNER].close()


def dump() -> str:
    """The whole database, as text."""
    url = database_url(serving_role.SERVING, SUPERUSER)
    return subprocess.run(
        [programs() / "pg_dump", "--data-only", f"--dbname={url}"], check=True, capture_output=True, text=True
    ).stdout


def with_everything(partner: Partner) -> tuple[User, list[Staff]]:
    """A user with a row of every kind, and who worked on it."""
    api = factories.client_of(partner, in_process)
    body = factories.user_body(externalId=f"{WORD}-1", **PROFILE)
    created = api.post("/v1/users", body, key=str(uuid.uuid4()))
    assert created.status == 201, created.body
    path = f"/v1/users/{WORD}-1"
    assert api.patch(path, {"city": f"{WORD} town"}, key=str(uuid.uuid4())).status == 200
    assert api.patch(path, {"city": f"{WORD} village"}).status == 200
    user = User.objects.get(pk=created.json()["userId"])
    by, other = (factories.StaffFactory.create(username=f"n-{uuid.uuid4().hex[:12]}") for _ in range(2))
    factories.WebhookEndpointFactory.create(partner=partner)
    client_of(by).get(f"/admin/cases/{user.pk}/")
    claims.claim(user=user, staff=by)
    add_note(user=user, by=by, text=f"{WORD} note")
    asked = factories.RequirementFactory.create(user=user, by=by, message=f"{WORD} message")
    answered = api.post(f"{path}/requirements/{asked.pk}/response", {"note": f"{WORD} answer"}, key=str(uuid.uuid4()))
    assert answered.status == 200, answered.body
    close_requirement(requirement_id=asked.pk, by=by, note=f"{WORD} closing")
    verified = {"method": "reliance", "verifiedOn": "2026-01-15", "source": WORD, "reference": f"{WORD} agreement"}
    assert api.post(f"{path}/verifications", verified, key=str(uuid.uuid4())).status == 201
    screened = {"list": WORD, "listDate": "2026-01-15", "result": "possibleMatch", "reference": f"{WORD} entry"}
    match = entries.record(user_id=user.pk, born=user.date_of_birth, kind="screening", data=screened, by=by)
    entries.end(entry_id=match.pk, data={"resolution": "falsePositive", "note": f"{WORD} resolution"}, by=by)
    with no_rules_left():
        set_rule("always")
        proposal = proposals.propose(
            compliance.Decision(user=user, to_status="active", by=by, reason=f"{WORD} proposed")
        )
        proposals.decline(proposal_id=proposal.pk, by=by, note=f"{WORD} declined")
        proposal = proposals.propose(
            compliance.Decision(user=user, to_status="active", by=by, reason=f"{WORD} proposed")
        )
        proposals.approve(proposal_id=proposal.pk, by=other)
    api.patch(path, {"lastName": f"{WORD} renamed"})
    factories.add_conversions(user, [LONG_AGO], conversion_id=f"{WORD}-cv")
    document = add_document(
        user, content=f"%PDF-1.7 {WORD} file %%EOF".encode(), title=f"{WORD} title", created_at=LONG_AGO
    )
    withdraw(document=document, by=by, reason=f"{WORD} withdrawal")
    factories.StatusChangeFactory.create(user=user, to_status="closed", by=by, reason=f"{WORD} closed")
    hold = place_hold(user=user, by=by, reason=f"{WORD} hold")
    release_hold(hold_id=hold.pk, by=other, reason=f"{WORD} release")
    Relay().assign_positions()
    # Not in the feed yet.
    add_document(user, title=f"{WORD} unplaced", created_at=LONG_AGO)
    return user, [by, other]


@pytest.mark.usefixtures("committed_partner")
def test_no_byte_of_an_erased_user_is_left(committed_partner: Partner, folder: Path) -> None:
    age_erasures("40 days")
    user, [by, other] = with_everything(committed_partner)
    stored = dump()
    assert stored.count(WORD) > 30
    assert any(WORD.encode() in file.read_bytes() for file in folder.rglob("*") if file.is_file())
    date_back(user.pk, LONG_AGO)
    declined = retention.propose_erasure(by=by, reason=f"{WORD} too early", user_ids=[user.pk])
    retention.decline_erasure(proposal_id=declined.pk, by=other, reason=f"{WORD} not yet")
    proposed = retention.propose_erasure(by=by, reason=f"{WORD} is due", user_ids=[user.pk])
    retention.approve_erasure(proposal_id=proposed.pk, by=other)
    assert AuditEntry.objects.filter(object=str(proposed.pk), detail__reason__icontains=WORD).exists()
    with structlog.testing.capture_logs() as logged:
        erased = outcome("erase_due", "--confirm", "1")
    assert erased["erased"] == 1
    left = [line for line in dump().splitlines() if WORD.lower() in line.lower()]
    # The event tells the partner whom it was about, for 30 days.
    assert [line for line in left if "user.erased" not in line] == []
    assert not [file for file in folder.rglob("*") if file.is_file()]
    assert WORD not in str(logged)
    assert WORD not in str(getattr(cache, "_cache", ""))
    assert not SandboxRequest.objects.filter(path__contains=WORD).exists()
    ids = [line for line in dump().splitlines() if str(user.pk) in line]
    # The row that stays, its entry in the audit log, and the event.
    assert len(ids) == 3, ids
