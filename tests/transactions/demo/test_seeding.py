"""The demo's data: users with weeks of history."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.core.files.storage import storages
from django.db import DatabaseError, connection, connections, transaction
from django.db.models import F
from django.test import override_settings
from django.utils import timezone

from partners.db import serving_role
from partners.models import KEY_PREFIXES, Mode, Partner
from tests.support.documents import stored_at
from transactions.demo.conversions import CURRENCIES, line
from transactions.demo.document_files import papers_of
from transactions.demo.people import plan
from transactions.demo.seeding import PARTNER, seed
from transactions.documents.downloads import STORAGE
from transactions.models import Conversion, Document, DocumentType
from users.models import Status, StatusChange, User, UserEvent
from users.services.reasons import reasons_for
from users.services.risk_flags import FlagCode, risk_flags_for

USERS, CONVERSIONS = 40, 300


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with override_settings(STORAGES=stored_at(tmp_path_factory.mktemp("documents").as_uri())):
        yield


@pytest.fixture
def seeded(documents: None, committed_partner: Partner) -> Iterator[Partner]:
    """Committed, for the owner's connection. Seeded again in each test."""
    yield seed(users=USERS, conversions=CONVERSIONS).partner
    connections[serving_role.OWNER].close()


def counts(partner: Partner) -> list[int]:
    history = UserEvent.objects.filter(partner=partner), StatusChange.objects.filter(partner=partner)
    rows = User.objects.filter(partner=partner), Conversion.objects.filter(partner=partner)
    return [queryset.count() for queryset in (*history, *rows, Document.objects.filter(partner=partner))]


def test_seeding_again_adds_and_moves_nothing(seeded: Partner) -> None:
    before = counts(seeded), list(UserEvent.objects.order_by("pk").values_list("pgh_created_at", flat=True))
    seed(users=USERS, conversions=CONVERSIONS)
    assert (counts(seeded), list(UserEvent.objects.order_by("pk").values_list("pgh_created_at", flat=True))) == before


def test_each_seeding_gives_a_new_key_of_the_sandbox_partner(documents: None, committed_partner: Partner) -> None:
    first, second = (seed(users=0, conversions=0).sandbox_key for _ in range(2))
    connections[serving_role.OWNER].close()
    assert first.api_key.startswith(KEY_PREFIXES[Mode.SANDBOX])
    first.record.refresh_from_db()
    assert (first.record.revoked_at is None, second.record.revoked_at) == (False, None)
    assert (first.record.partner, first.record.partner.mode) == (second.record.partner, Mode.SANDBOX)


def test_there_are_users_in_every_status_and_some_wait_longer_than_others(seeded: Partner) -> None:
    users = User.objects.filter(partner=seeded)
    assert set(users.values_list("status", flat=True)) == set(Status.values)
    waiting = users.filter(status=Status.PENDING_COMPLIANCE).values_list("status_since", flat=True)
    hours = sorted((timezone.now() - since) / timedelta(hours=1) for since in waiting)
    assert len(hours) == 12
    assert hours[0] < 2
    assert hours[-1] > 150


def test_decisions_are_spread_over_weeks_and_agree_with_the_history(seeded: Partner) -> None:
    changes = StatusChange.objects.filter(partner=seeded)
    assert len({change.created_at.isocalendar()[:2] for change in changes}) > 8
    for user in User.objects.filter(partner=seeded).prefetch_related("status_changes", "events"):
        moves, events = list(user.status_changes.all()), sorted(user.events.all(), key=lambda one: one.pk)
        instants = [user.created_at, *(change.created_at for change in moves)]
        assert [change.since for change in moves] == instants[:-1]
        assert instants == sorted(instants)
        assert user.status_since == instants[-1]
        assert user.updated_at <= timezone.now()
        times = [event.pgh_created_at for event in events]
        assert times == sorted(times)
        assert (times[0], times[-1]) == (user.created_at, user.updated_at)
        assert [event.updated_at for event in events] == times


def test_later_decisions_and_events_have_higher_ids(seeded: Partner) -> None:
    """The back office lists them by id, newest first."""
    for times in (
        StatusChange.objects.filter(partner=seeded).order_by("pk").values_list("created_at", flat=True),
        UserEvent.objects.filter(partner=seeded).order_by("pk").values_list("pgh_created_at", flat=True),
    ):
        assert len(times) > USERS / 2
        assert list(times) == sorted(times)


def test_several_reviewers_decided_for_reasons_that_the_case_page_offers(seeded: Partner) -> None:
    changes = StatusChange.objects.filter(partner=seeded)
    assert len({change.by_id for change in changes}) > 1
    assert len({change.reason for change in changes}) > 10
    for change in changes:
        offered = reasons_for(Status(change.from_status), Status(change.to_status))
        assert change.reason_code in {reason.code for reason in offered}


def test_the_history_cannot_be_changed_after_seeding(seeded: Partner) -> None:
    for statement in (
        "UPDATE users_statuschange SET created_at = now()",
        "UPDATE users_userevent SET pgh_created_at = now()",
        "UPDATE transactions_conversion SET recorded_at = now()",
    ):
        for alias, why in ((serving_role.OWNER, "kept for good"), (serving_role.SERVING, "permission denied")):
            with pytest.raises(DatabaseError, match=why), transaction.atomic(using=alias):
                connections[alias].cursor().execute(statement)
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_trigger WHERE NOT tgisinternal AND tgenabled <> 'O'")
        assert cursor.fetchone() == (0,)


def test_pending_users_show_each_risk_flag(seeded: Partner) -> None:
    waiting = User.objects.filter(partner=seeded, status=Status.PENDING_COMPLIANCE)
    assert {flag.code for user in waiting for flag in risk_flags_for(user)} >= set(FlagCode) - {FlagCode.CHANGED}
    assert User.objects.filter(partner=seeded, identity_changed_at__isnull=False).exists()


def test_conversions_were_made_while_their_user_was_active(seeded: Partner) -> None:
    conversions = Conversion.objects.filter(partner=seeded)
    assert conversions.count() == CONVERSIONS
    for one in conversions.select_related("user").prefetch_related("user__status_changes"):
        activated = next(c.created_at for c in one.user.status_changes.all() if c.to_status == Status.ACTIVE)
        assert activated <= one.created_at < one.recorded_at
    assert not conversions.filter(recorded_at__gt=F("created_at") + timedelta(hours=1)).exists()


def test_amounts_agree_with_their_rates(seeded: Partner) -> None:
    for one in Conversion.objects.filter(partner=seeded):
        unit = Decimal(1).scaleb(-CURRENCIES[one.to_currency].decimals)
        assert abs(one.to_amount - one.from_amount * one.rate) <= unit / 2
        value = CURRENCIES[one.from_currency].value / CURRENCIES[one.to_currency].value
        assert abs(one.rate / value - 1) < Decimal("0.06")


def test_documents_exist_and_none_is_dated_in_the_future(seeded: Partner) -> None:
    documents = Document.objects.filter(partner=seeded)
    assert set(documents.values_list("type", flat=True)) == set(DocumentType.values)
    assert not documents.filter(created_at__gt=timezone.now()).exists()
    assert all(storages[STORAGE].exists(one.storage_name) for one in documents)


@pytest.mark.parametrize("day", range(0, 366, 5))
def test_the_first_user_has_a_document_of_each_type_whatever_the_day(day: int) -> None:
    """The demo's walk downloads them."""
    now = datetime(2026, 1, 1, 0, 1, tzinfo=UTC) + timedelta(days=day)
    active = [person for person in plan(10, now=now) if person.active_from]
    numbers = range(len(active), 151, len(active))
    conversions = [_conversion(line(Partner(slug=PARTNER), active[0], number)) for number in numbers]
    papers = list(papers_of(active[0], sorted(conversions, key=lambda one: one.created_at)))
    assert {paper.kind for paper in papers} == set(DocumentType)
    assert all(paper.created_at <= now for paper in papers)


def _conversion(fields: dict[str, Any]) -> Conversion:
    return Conversion(
        conversion_id=fields["conversionId"],
        created_at=datetime.fromisoformat(fields["createdAt"]),
        from_currency=fields["from"]["currency"],
        from_amount=Decimal(fields["from"]["amount"]),
        to_currency=fields["to"]["currency"],
        to_amount=Decimal(fields["to"]["amount"]),
        rate=Decimal(fields["rate"]),
    )
