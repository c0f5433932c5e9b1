"""The commands of the retention: retention_report, holds, erase_due (docs/operations.md, "Records")."""

import os
import signal
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.core.files.storage import storages
from django.db import connection, connections
from django.db.models import BooleanField
from django.db.models.expressions import RawSQL
from pytest_django import Settings

from backoffice import retention as page_of_records
from core.database import serving_role
from core.models import AuditEntry
from partners.models import Partner
from staff.models import Staff
from tests import factories
from tests.conftest import database_url
from tests.support.commands import outcome, printed, refusal, run
from tests.support.documents import add_document, path_of
from tests.support.erasing import age_erasures, approve_erasure, date_back
from tests.support.staff import client_of
from transactions.documents import publishing
from transactions.documents.downloads import STORAGE
from transactions.models import ErasedFile
from users import retention
from users.models import Erasure, Hold, HoldRelease, Status, User

pytestmark = pytest.mark.usefixtures("committed_partner")
LONG_AGO = datetime(2015, 6, 1, tzinfo=UTC)


@pytest.fixture(autouse=True)
def nothing_approved_before(committed_partner: Partner) -> Iterator[None]:
    age_erasures("40 days")
    yield
    connections[serving_role.OWNER].close()


@pytest.fixture
def by(committed_partner: Partner) -> Staff:
    staff: Staff = factories.StaffFactory.create(username=f"r-{uuid.uuid4().hex[:12]}")
    return staff


@pytest.fixture
def other(committed_partner: Partner) -> Staff:
    staff: Staff = factories.StaffFactory.create(username=f"o-{uuid.uuid4().hex[:12]}")
    return staff


def old_users(partner: Partner, count: int) -> list[User]:
    users = [
        factories.UserFactory.create(partner=partner, external_id=f"old-{uuid.uuid4()}", status=Status.REJECTED)
        for _ in range(count)
    ]
    for number, user in enumerate(users):
        date_back(user.pk, LONG_AGO + timedelta(days=number))
    return users


def approved_users(partner: Partner, count: int) -> list[User]:
    """Users who are due, and whose erasure two people have approved."""
    users = old_users(partner, count)
    approve_erasure(*users)
    return users


def erase(*arguments: str) -> Any:
    return outcome("erase_due", *arguments)


def test_the_report_says_who_is_due(committed_partner: Partner, by: Staff, settings: Settings) -> None:
    first, second = old_users(committed_partner, 2)
    retention.place_hold(user=second, by=by, reason="Litigation.")
    factories.UserFactory.create(partner=committed_partner, external_id="of-today", status=Status.REJECTED)
    listed = [one for one in outcome("retention_report")["users"] if one["partner"] == committed_partner.slug]
    assert listed == [
        {
            "partner": committed_partner.slug,
            "externalId": user.external_id,
            "userId": str(user.pk),
            "dueAt": due_at,
            "held": held,
        }
        for user, due_at, held in (
            (first, "2020-06-01T00:00:00.000000Z", False),
            (second, "2020-06-02T00:00:00.000000Z", True),
        )
    ]
    report = outcome("retention_report")
    assert report["due"] == len(report["users"])
    assert report["held"] == sum(one["held"] for one in report["users"])
    assert first.external_id in printed("retention_report")
    settings.RETENTION_YEARS = 50
    assert outcome("retention_report") == {"due": 0, "held": 0, "users": []}


def test_the_report_looks_ahead(committed_partner: Partner) -> None:
    [user] = old_users(committed_partner, 1)
    date_back(user.pk, datetime.now(UTC) - timedelta(days=5 * 365 - 10))

    def listed(days: int) -> list[str]:
        return [one["externalId"] for one in outcome("retention_report", f"--within-days={days}")["users"]]

    assert user.external_id not in listed(0)
    assert user.external_id not in listed(9)
    assert user.external_id in listed(13)


def test_the_page_has_the_figures_of_all_and_the_first_rows(
    committed_partner: Partner, by: Staff, monkeypatch: pytest.MonkeyPatch
) -> None:
    held, *_ = old_users(committed_partner, 3)
    retention.place_hold(user=held, by=by, reason="Litigation.")
    # Users of other tests may be due too.
    report = outcome("retention_report")
    monkeypatch.setattr(page_of_records, "MAX_SHOWN", 2)
    client = client_of(factories.StaffFactory.create(username=f"a-{uuid.uuid4().hex[:12]}", role=""))
    page = client.get("/admin/records/").content.decode()
    assert f"{report['due']} due, {report['held']} of them held" in page
    ahead = outcome("retention_report", "--within-days=92")["due"]
    assert f"2 of {ahead} are shown: retention_report lists all" in page
    listed = [user["externalId"] for user in report["users"] if user["externalId"] in page]
    assert listed == [user["externalId"] for user in report["users"][:2]]
    assert f"Propose all {report['due'] - report['held']} that are due" in page
    # More are not counted, and are proposed by the command.
    monkeypatch.setattr(page_of_records, "MAX_COUNTED", 2)
    page = client.get("/admin/records/").content.decode()
    assert "2+ due" in page
    assert "Propose all" not in page


def test_a_million_due_users_may_take_longer_than_a_request(
    committed_partner: Partner, by: Staff, monkeypatch: pytest.MonkeyPatch
) -> None:
    old_users(committed_partner, 2)
    due = retention.due_users
    wait = RawSQL("(SELECT pg_sleep(0.7) IS NOT NULL)", (), BooleanField())
    monkeypatch.setattr(retention, "due_users", lambda **options: due(**options).filter(wait))
    with connection.cursor() as cursor:
        cursor.execute("SET statement_timeout = '500ms'")
        try:
            assert outcome("retention_report")["due"] >= 2
            arguments = ("--confirm=2", "--reason=Due.", f"--by={by.username}", f"--partner={committed_partner.slug}")
            assert outcome("propose_erasure", *arguments)["users"] == 2
        finally:
            cursor.execute("RESET statement_timeout")
    # The functions are a part of the statement.
    plan = due().explain()
    assert "transactions_conversion" in plan
    assert "users_due_at" not in plan
    assert "users_is_held" not in plan


def test_a_rehearsal_changes_nothing(committed_partner: Partner) -> None:
    users = approved_users(committed_partner, 2)
    assert erase() == {"approved": 2, "held": 0, "erased": 0}
    assert User.objects.filter(pk__in=[user.pk for user in users]).count() == 2


@pytest.mark.parametrize("number", ["1", "3", "0"])
def test_another_number_than_is_due_is_refused(number: str, committed_partner: Partner) -> None:
    users = approved_users(committed_partner, 2)
    told = refusal("erase_due", "--confirm", number)
    assert told == f"Not {number} but 2 would be erased now: nothing was erased."
    assert User.objects.filter(pk__in=[user.pk for user in users]).count() == 2


def test_what_is_approved_is_erased_and_what_is_held_or_not_due_stays(committed_partner: Partner, by: Staff) -> None:
    first, held, last, not_due, not_approved = old_users(committed_partner, 5)
    proposal = approve_erasure(first, held, last, not_due)
    retention.place_hold(user=held, by=by, reason="Litigation.")
    factories.add_conversions(not_due, [datetime.now(UTC)])
    assert "4 approved, 1 of them held, 1 not due any more" in printed("erase_due")
    assert erase("--confirm", "2") == {"approved": 4, "held": 1, "erased": 2}
    left = {held.pk, not_due.pk, not_approved.pk}
    assert set(User.objects.filter(partner=committed_partner).values_list("pk", flat=True)) == left
    assert Erasure.objects.filter(proposal=proposal, pk__in=(first.pk, last.pk)).count() == 2
    entry = AuditEntry.objects.get(object=str(first.pk))
    assert (entry.action, entry.actor_kind, entry.detail["command"]) == ("user.erased", "operator", "erase_due")
    assert (entry.detail["proposedBy"], entry.detail["approvedBy"]) == (
        proposal.by.username,
        proposal.ended_by.username if proposal.ended_by else None,
    )
    assert erase("--confirm", "0") == {"approved": 2, "held": 1, "erased": 0}
    age_erasures("31 days")
    assert erase() == {"approved": 0, "held": 0, "erased": 0}


def test_the_files_go_with_their_documents(committed_partner: Partner, folder: Path) -> None:
    [user] = approved_users(committed_partner, 1)
    document = add_document(user, created_at=LONG_AGO)
    assert path_of(folder, document).exists()
    assert erase("--confirm", "1")["erased"] == 1
    assert not path_of(folder, document).exists()
    assert not ErasedFile.objects.exists()


def test_files_that_could_not_be_deleted_go_in_the_next_run(
    committed_partner: Partner, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    [user] = approved_users(committed_partner, 1)
    document = add_document(user, created_at=LONG_AGO)

    def fail(name: str) -> None:
        raise OSError("The storage is away.")

    with monkeypatch.context() as patch:
        patch.setattr(storages[STORAGE], "delete", fail)
        told = refusal("erase_due", "--confirm", "1")
    assert told == "1 of 1 were erased; 1 files could not be deleted: run it again once the storage works."
    assert path_of(folder, document).exists()
    assert erase("--confirm", "0")["erased"] == 0
    assert not path_of(folder, document).exists()


def test_a_storage_that_fails_is_not_asked_for_every_file(
    committed_partner: Partner, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def fail(name: str) -> None:
        asked.append(name)
        raise OSError("The storage is away.")

    for user in approved_users(committed_partner, 6):
        add_document(user, created_at=LONG_AGO)
    with monkeypatch.context() as patch:
        patch.setattr(storages[STORAGE], "delete", fail)
        told = refusal("erase_due", "--confirm", "6")
    assert told.startswith("6 of 6 were erased; 6 files could not be deleted")
    assert len(asked) == publishing.MAX_FAILURES
    erase("--confirm", "0")
    assert not ErasedFile.objects.exists()


def test_those_that_are_left_are_counted_without_those_that_went(
    committed_partner: Partner, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents = [add_document(user, created_at=LONG_AGO) for user in approved_users(committed_partner, 6)]
    stuck = path_of(folder, documents[0]).name
    delete = storages[STORAGE].delete

    def fail(name: str) -> None:
        if name.endswith(stuck):
            raise OSError("Denied.")
        delete(name)

    with monkeypatch.context() as patch:
        patch.setattr(storages[STORAGE], "delete", fail)
        told = refusal("erase_due", "--confirm", "6")
    assert told.startswith("6 of 6 were erased; 1 files could not be deleted")
    erase("--confirm", "0")


def test_files_of_a_disk_that_is_not_mounted_are_not_taken_for_deleted(
    committed_partner: Partner, folder: Path
) -> None:
    [user] = approved_users(committed_partner, 1)
    document = add_document(user, created_at=LONG_AGO)
    folder.rename(folder.with_name("elsewhere"))
    folder.mkdir()
    told = refusal("erase_due", "--confirm", "1")
    assert "1 files could not be deleted" in told
    folder.rmdir()
    folder.with_name("elsewhere").rename(folder)
    erase("--confirm", "0")
    assert not path_of(folder, document).exists()
    assert not ErasedFile.objects.exists()


def test_a_run_is_stopped_between_two_users_and_resumed(
    committed_partner: Partner, monkeypatch: pytest.MonkeyPatch
) -> None:
    approved_users(committed_partner, 3)
    erase_one = retention.erase

    def stopped(*arguments: Any, **named: Any) -> bool:
        os.kill(os.getpid(), signal.SIGTERM)
        return erase_one(*arguments, **named)

    with monkeypatch.context() as patch:
        patch.setattr(retention, "erase", stopped)
        end = run("erase_due", "--confirm", "3")
    assert end.status == 128 + signal.SIGTERM
    assert "Stopped by SIGTERM: 1 of 3 were erased" in end.errors
    assert erase("--confirm", "2") == {"approved": 2, "held": 0, "erased": 2}


def test_a_user_whom_others_keep_locked_is_left(committed_partner: Partner) -> None:
    locked, _free = approved_users(committed_partner, 2)
    with psycopg.connect(database_url(serving_role.SERVING)) as session:
        session.execute("SELECT FROM users_user WHERE id = %s FOR NO KEY UPDATE", (locked.pk,))
        assert erase("--confirm", "2") == {"approved": 2, "held": 0, "erased": 1}
    assert erase("--confirm", "1")["erased"] == 1


def test_a_hold_is_placed_by_one_and_released_by_another(committed_partner: Partner, by: Staff, other: Staff) -> None:
    [user] = old_users(committed_partner, 1)
    arguments = ("--reason", "A production order.", "--by", by.username)
    hold = outcome("hold_user", committed_partner.slug, user.external_id, *arguments)["holdId"]
    [listed] = [one for one in outcome("list_holds")["holds"] if one["holdId"] == hold]
    assert listed["reason"] == "A production order."
    assert (listed["by"], listed["releasedBy"], listed["releasedAt"]) == (by.username, None, None)
    own = refusal("release_hold", hold, "--reason", "Done.", "--by", by.username)
    assert own == "You placed this hold: another person releases it."
    assert outcome("release_hold", hold, "--reason", "Done.", "--by", other.username) == {"holdId": hold}
    again = refusal("release_hold", hold, "--reason", "Done.", "--by", other.username)
    assert again == "This hold has been released already."
    assert hold not in {one["holdId"] for one in outcome("list_holds")["holds"]}
    [listed] = [one for one in outcome("list_holds", "--all")["holds"] if one["holdId"] == hold]
    assert listed["releasedBy"] == other.username
    assert Hold.objects.get(pk=hold).release == HoldRelease.objects.get(pk=hold)
    assert set(AuditEntry.objects.filter(object=str(user.pk)).values_list("action", flat=True)) >= {
        "user.held",
        "user.released",
    }


def test_auditors_hold_and_viewers_do_not(committed_partner: Partner) -> None:
    [user] = old_users(committed_partner, 1)
    auditor, viewer = (
        factories.StaffFactory.create(username=f"{role[0]}-{uuid.uuid4().hex[:12]}", role=role).username
        for role in ("auditor", "viewer")
    )
    of = (committed_partner.slug, user.external_id, "--reason", "Seen.", "--by")
    hold = outcome("hold_user", *of, auditor)["holdId"]
    told = f"{viewer} may not hold or erase records."
    assert refusal("hold_user", *of, viewer) == told
    assert refusal("release_hold", hold, "--reason", "Done.", "--by", viewer) == told


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("release_hold", str(uuid.UUID(int=1)), "--reason", "Done."), "Hold not found."),
        (("hold_user", "nobody", "x", "--reason", "Seen."), "Partner 'nobody' not found."),
        (("propose_erasure", "--confirm", "1", "--partner", "nobody", "--reason", "x"), "Partner 'nobody' not found."),
        (("approve_erasure", str(uuid.UUID(int=1))), "Proposed erasure not found."),
        (("decline_erasure", str(uuid.UUID(int=1)), "--reason", "Done."), "Proposed erasure not found."),
    ],
)
def test_what_is_not_there(arguments: tuple[str, ...], told: str, by: Staff) -> None:
    assert told in refusal(*arguments, "--by", by.username)
