"""`manage.py purge_expired`: what has served its time goes, the rest stays."""

import uuid
from datetime import timedelta

import pytest
from django.db import connections, transaction
from django.utils import timezone

from partners import keys, roles
from partners.api import idempotency
from partners.models import (
    AuthenticationTrouble,
    ClockSkew,
    IdempotencyRecord,
    Partner,
    RequestCount,
    UsedSignature,
)
from partners.troubles import Cause
from tests import factories
from tests.client import PartnerClient
from tests.commands import outcome, printed, run

LONG_AGO = timedelta(days=30)


def remember_key(partner: Partner, age: timedelta) -> IdempotencyRecord:
    return IdempotencyRecord.objects.create(
        partner=partner, key=uuid.uuid4(), fingerprint=bytes(32), status=200, created_at=timezone.now() - age
    )


def remember_signature(partner: Partner, age: timedelta) -> UsedSignature:
    return UsedSignature.objects.create(
        partner=partner, signature=uuid.uuid4().bytes * 2, signed_at=timezone.now() - age
    )


def remember_trouble(partner: Partner, cause: Cause, age: timedelta) -> AuthenticationTrouble:
    return AuthenticationTrouble.objects.create(partner=partner, cause=cause, count=1, hour=timezone.now() - age)


def purged(**removed: int) -> dict[str, int]:
    """What the command says it removed: nothing, but for these."""
    counts = {"authenticationTroubles": 0, "requestCounts": 0, "clockSkews": 0}
    return {"idempotencyRecords": 0, "usedSignatures": 0} | counts | removed


def test_only_records_past_their_window_go(partner: Partner) -> None:
    remember_key(partner, idempotency.WINDOW + timedelta(minutes=1))
    kept = remember_key(partner, idempotency.WINDOW - timedelta(minutes=1))
    assert outcome("purge_expired") == purged(idempotencyRecords=1)
    assert [record.key for record in IdempotencyRecord.objects.filter(partner=partner)] == [kept.key]


def test_only_signatures_that_no_request_can_repeat_go(partner: Partner) -> None:
    remember_signature(partner, timedelta(hours=2, minutes=1))
    # Whatever CLOCK_SKEW_SECONDS is, or becomes: 3600 at most.
    kept = remember_signature(partner, timedelta(hours=1, minutes=59))
    remember_signature(partner, -timedelta(hours=1))
    assert outcome("purge_expired") == purged(usedSignatures=1)
    assert UsedSignature.objects.filter(partner=partner).count() == 2
    assert UsedSignature.objects.filter(partner=partner, signature=kept.signature).exists()


def test_only_counts_of_refusals_that_nobody_looks_at_go(partner: Partner) -> None:
    remember_trouble(partner, Cause.CLOCK_SKEW, timedelta(days=8, minutes=1))
    kept = remember_trouble(partner, Cause.REPLAY, timedelta(days=7, hours=23))
    assert outcome("purge_expired") == purged(authenticationTroubles=1)
    assert list(AuthenticationTrouble.objects.filter(partner=partner)) == [kept]


def test_only_counts_of_requests_that_no_report_shows_go(partner: Partner) -> None:
    key, now = keys.issue(partner=partner).record, timezone.now()
    for hour in (now - timedelta(days=8, minutes=1), now - timedelta(days=7, hours=23)):
        RequestCount.objects.create(partner=partner, key=key, hour=hour, status=200, replayed=False, count=1)
        ClockSkew.objects.create(partner=partner, key=key, hour=hour, skew_tenths=-3, count=1)
    assert outcome("purge_expired") == purged(requestCounts=1, clockSkews=1)
    left = (RequestCount.objects.get(partner=partner), ClockSkew.objects.get(partner=partner))
    assert [row.hour for row in left] == [hour] * 2


def test_all_batches_are_purged(partner: Partner) -> None:
    for _ in range(5):
        remember_key(partner, LONG_AGO)
        remember_signature(partner, LONG_AGO)
    for cause in Cause:
        remember_trouble(partner, cause, LONG_AGO)
    everything = purged(idempotencyRecords=5, usedSignatures=5, authenticationTroubles=len(Cause))
    assert outcome("purge_expired", "--batch-size", "2") == everything
    assert outcome("purge_expired") == purged()


def test_a_key_of_today_is_still_answered_from_memory_after_a_purge(api: PartnerClient) -> None:
    key, body = str(uuid.uuid4()), factories.user_body()
    first = api.post("/v1/users", body, key=key)
    outcome("purge_expired")
    again = api.post("/v1/users", body, key=key)
    assert (again.body, again.header("Idempotent-Replayed")) == (first.body, "true")


def test_a_record_that_a_request_holds_is_skipped_and_not_waited_for(committed_partner: Partner) -> None:
    held = remember_key(committed_partner, LONG_AGO)
    remember_key(committed_partner, LONG_AGO)
    with transaction.atomic(using=roles.OWNER):
        IdempotencyRecord.objects.using(roles.OWNER).select_for_update().get(pk=held.pk)
        assert outcome("purge_expired")["idempotencyRecords"] == 1
    assert outcome("purge_expired")["idempotencyRecords"] == 1
    connections[roles.OWNER].close()


@pytest.mark.parametrize("size", ["0", "-5", "ten"])
def test_a_batch_of_no_size_is_a_wrong_use(size: str) -> None:
    assert run("purge_expired", f"--batch-size={size}").status == 2


def test_people_are_told_how_much_went(partner: Partner) -> None:
    remember_key(partner, LONG_AGO)
    assert printed("purge_expired") == (
        "Removed 1 idempotency records, 0 used signatures, 0 counts of refusals, 0 of requests and 0 of clocks.\n"
    )
