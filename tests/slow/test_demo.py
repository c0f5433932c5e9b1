"""The demo: its data (users in every status, conversions, documents), and its end at a signal."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import psutil
import pytest
from cryptography import x509
from django.conf import settings
from django.core.files.storage import storages
from django.db import connections, transaction
from django.test import override_settings
from django.utils import timezone

from core.database import serving_role
from demo.seeding import DUE, DUE_SOON, HELD, PARTNER, SANDBOX_PARTNER, external_id, seed
from events.models import WebhookEndpoint
from partners.models import KEY_PREFIXES, ApiKey, Mode, Partner
from staff.models import Staff
from tests.conftest import database_url
from tests.slow.live.conftest import free_port
from tests.support import database
from tests.support.approval_rules import no_rules_left
from tests.support.commands import obey_all_signals
from tests.support.documents import stored_at
from tests.support.timeouts import WAIT_SECONDS
from transactions.documents.downloads import STORAGE
from transactions.models import Conversion, Document, DocumentType
from users.decisions import proposals
from users.decisions.reasons import REASONS
from users.decisions.risk_flags import RISK_FLAGS, risk_flag_codes
from users.models import (
    ANSWERED,
    AccessRecord,
    Claim,
    FileEntry,
    FileKind,
    Proposal,
    Status,
    StatusChange,
    User,
    UserEvent,
)
from users.profile.field_rules import today
from users.retention import due_users

# As many as `manage.py demo` seeds: it finds these.
USERS, CONVERSIONS = 40, 600
CHAIN = ("cert.pem", "authority.pem")


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where the demo has its documents."""
    kept = tmp_path_factory.mktemp("documents")
    with override_settings(STORAGES=stored_at(kept.as_uri())):
        yield kept


@pytest.fixture(scope="module")
def seeded(django_db_setup: None, django_db_blocker: Any, documents: Path) -> Iterator[Partner]:
    # The demo claims the case that waits longest, whoever has left it.
    database.empty()
    with django_db_blocker.unblock(), no_rules_left():
        seed(users=USERS, conversions=CONVERSIONS)
        yield Partner.objects.get(slug=PARTNER)
        # Without its rule it could not be approved.
        for one in proposals.waiting().filter(user__partner__slug=PARTNER):
            proposals.decline(proposal_id=one.pk, by=one.by, note="The rule ends.")


def counts(partner: Partner) -> list[int]:
    models: tuple[Any, ...] = (User, UserEvent, StatusChange, Conversion, Document, WebhookEndpoint)
    of_users: tuple[Any, ...] = (AccessRecord, Claim, FileEntry, Proposal)
    return [model.objects.filter(partner=partner).count() for model in models] + [
        model.objects.filter(user__partner=partner).count() for model in of_users
    ]


def test_seeding_again_adds_nothing_but_a_new_key_of_the_sandbox_partner(seeded: Partner) -> None:
    in_force = ApiKey.objects.filter(partner__slug=SANDBOX_PARTNER, revoked_at=None)
    before, first = counts(seeded), in_force.get()
    again = seed(users=USERS, conversions=CONVERSIONS)["sandbox"]["apiKey"]
    assert counts(seeded) == before
    assert again.startswith(KEY_PREFIXES[Mode.SANDBOX])
    assert again.startswith(in_force.get().prefix)
    assert in_force.get() != first


def test_there_are_users_in_every_status(seeded: Partner) -> None:
    users = User.objects.filter(partner=seeded)
    assert set(users.values_list("status", flat=True)) == set(Status.values)
    assert users.filter(status=Status.PENDING_COMPLIANCE).count() == 12
    assert Conversion.objects.filter(partner=seeded).count() == CONVERSIONS


def test_several_reviewers_decided_for_reasons_that_the_case_page_offers(seeded: Partner) -> None:
    changes = StatusChange.objects.filter(partner=seeded)
    assert len({change.by_id for change in changes}) > 1
    for change in changes:
        assert change.reason_code in REASONS[change.from_status, change.to_status]


def test_the_files_of_users_have_what_each_list_shows(seeded: Partner) -> None:
    entries = FileEntry.objects.filter(user__partner=seeded)
    assert set(entries.values_list("kind", flat=True)) == set(FileKind.values)
    for kind in (FileKind.SCREENING, FileKind.PERSON_REQUEST):
        assert entries.filter(kind=kind, is_open=True).exists()
    assert entries.filter(kind=FileKind.RISK_RATING, due_on__lt=today()).exists()
    requests = entries.filter(kind=FileKind.PERSON_REQUEST, is_open=True)
    assert {one.due_on < today() for one in requests if one.due_on} == {True, False}
    assert not entries.filter(created_at__gt=timezone.now() - timedelta(hours=1)).exists()


def test_pending_users_show_each_risk_flag(seeded: Partner) -> None:
    waiting = User.objects.filter(partner=seeded, status=Status.PENDING_COMPLIANCE)
    assert {code for codes in risk_flag_codes(waiting).values() for code in codes} >= set(RISK_FLAGS) - {
        "previouslySuspended",
        # The conversions of the demo are those of active users.
        "inactiveConversion",
        "earlyConversion",
        "threshold",
    }
    assert User.objects.filter(partner=seeded, identity_changed_at__isnull=False).exists()


def test_documents_exist_and_none_is_dated_in_the_future(seeded: Partner) -> None:
    """The demo's walk downloads the first user's."""
    documents = Document.objects.filter(partner=seeded)
    assert not documents.filter(created_at__gt=timezone.now()).exists()
    assert all(storages[STORAGE].exists(one.storage_name) for one in documents)
    types = documents.filter(user__external_id=external_id(1)).values_list("type", flat=True)
    assert sorted(types) == sorted(DocumentType.values)


def test_the_times_are_spread_over_weeks_in_the_order_of_events(seeded: Partner) -> None:
    users = User.objects.filter(partner=seeded)
    assert len(set(users.dates("created_at", "week"))) > 10
    for user in users.exclude(status=Status.PENDING_COMPLIANCE):
        changes = list(user.status_changes.order_by("pk"))
        assert user.created_at < changes[0].created_at
        assert [one.created_at for one in changes] == sorted(one.created_at for one in changes)
        assert changes[-1].created_at == user.status_since < timezone.now() - timedelta(hours=20)
        assert user.events.latest("pgh_id").status_since == user.status_since
    recent = StatusChange.objects.filter(partner=seeded, created_at__gt=timezone.now() - timedelta(days=30))
    assert recent.count() > 5


def test_each_list_of_compliance_has_a_case(seeded: Partner) -> None:
    users, now = User.objects.filter(partner=seeded), timezone.now()
    waiting = users.filter(waiting_since__isnull=False)
    late = now - timedelta(hours=settings.COMPLIANCE_TARGET_HOURS)
    assert waiting.filter(waiting_since__lt=late).exists()
    assert waiting.filter(waiting_since__gt=late).exists()
    assert users.filter(open_requirements=1, requirements_due_at__gt=now).exists()
    assert users.filter(open_requirements=1, requirements_due_at__lt=now).exists()
    assert users.filter(ANSWERED).exists()
    due = {one.external_id: one.held for one in due_users(partner=seeded)}
    assert due == {external_id(DUE): False, external_id(HELD): True}
    soon = {one.external_id for one in due_users(partner=seeded, within_days=90)}
    assert soon - set(due) == {external_id(DUE_SOON)}


def test_somebody_can_approve_what_another_proposed(seeded: Partner) -> None:
    [proposal] = proposals.waiting().filter(user__partner=seeded)
    by = Staff.objects.get(username="demo-reviewer")
    with transaction.atomic():
        assert proposals.approve(proposal_id=proposal.pk, by=by).to_status == Status.ACTIVE
        transaction.set_rollback(True)


def test_the_other_lists_have_a_line(seeded: Partner) -> None:
    opened = AccessRecord.objects.filter(user__partner=seeded, kind="opened")
    assert len(set(opened.dates("created_at", "week"))) > 5
    assert Claim.objects.filter(user__partner=seeded).exists()
    [endpoint] = seeded.webhooks.all()
    assert not endpoint.is_active
    assert endpoint.deliveries.get().state == "failed"


def test_the_triggers_are_back(seeded: Partner) -> None:
    with connections[serving_role.OWNER].cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_trigger WHERE NOT tgisinternal AND tgenabled <> 'O'")
        assert cursor.fetchone() == (0,)
    connections[serving_role.OWNER].close()


# `manage.py demo`


@contextmanager
def demo(documents: Path) -> Iterator["subprocess.Popen[str]"]:
    """A demo on the test database; its standard output can be read."""
    environment = os.environ | {
        "DEBUG": "true",
        "DATABASE_URL": database_url(serving_role.SERVING),
        "OWNER_DATABASE_URL": database_url(serving_role.OWNER),
        "DOCUMENT_STORAGE_URL": documents.as_uri(),
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "PORT": str(free_port()),
    }
    process = subprocess.Popen(
        [sys.executable, "manage.py", "demo"],
        cwd=settings.BASE_DIR,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        preexec_fn=obey_all_signals,  # noqa: PLW1509 - it only sets what happens at signals
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            kill([*psutil.Process(process.pid).children(recursive=True), psutil.Process(process.pid)])
        process.communicate(timeout=WAIT_SECONDS)


def kill(processes: Iterable[psutil.Process]) -> None:
    """Ends those that are left."""
    for one in processes:
        with suppress(psutil.NoSuchProcess):
            one.kill()


def read_until(process: "subprocess.Popen[str]", text: str) -> str:
    """What the process printed up to a line with this text."""
    assert process.stdout is not None
    printed = ""
    for line in process.stdout:
        printed += line
        if text in line:
            return printed
    raise AssertionError(f"The demo ended before it said {text!r}:\n{printed}")


def test_a_signal_ends_the_service_too(seeded: Partner, documents: Path) -> None:
    with demo(documents) as process:
        printed = read_until(process, "The service's log")
        serving = re.search(r"Serving on http://\S+:(\d+) until Ctrl-C", printed)
        assert serving
        # create_staff prints invitations for it there.
        assert f"export PORT={serving[1]} " in printed
        # The service trusts a receiver with this certificate, as step 9 of /docs/go-live has it.
        certificate = Path(re.search(r"TLS_CERT=(\S+)", printed)[1])  # type: ignore[index]
        chain = [x509.load_pem_x509_certificate(certificate.with_name(name).read_bytes()) for name in CHAIN]
        chain[0].verify_directly_issued_by(chain[1])
        started = psutil.Process(process.pid).children(recursive=True)
        assert started
        process.send_signal(signal.SIGTERM)
        try:
            assert process.wait(timeout=WAIT_SECONDS) == 0
            assert not any(one.is_running() for one in started)
        finally:
            kill(started)


def test_before_it_serves_a_signal_is_a_failure(seeded: Partner, documents: Path) -> None:
    with demo(documents) as process:
        read_until(process, "Migrating the database")
        # As when the terminal is closed.
        process.send_signal(signal.SIGHUP)
        output, _ = process.communicate(timeout=WAIT_SECONDS)
        assert process.returncode == 130
        assert output.splitlines()[-1] == "CommandError: The demo was interrupted."
