"""`manage.py purge_expired`: expired rows are removed, others stay."""

import re
import uuid
from datetime import timedelta
from typing import Any

import pytest
from django.apps import apps
from django.db import IntegrityError, connection, connections, transaction
from django.utils import timezone

from core.database import serving_role
from core.models import AuditEntry
from events.management.commands import purge_expired
from events.management.commands.purge_expired import EVENTS_KEPT
from events.models import Event, EventFeed, OutboxEntry, WebhookDelivery, WebhookEndpoint
from events.webhooks import endpoints
from partners.api import idempotency
from partners.models import ApiKey, IdempotencyRecord, Partner, UsedSignature
from tests import factories
from tests.support.client import PartnerClient
from tests.support.commands import outcome, printed, run
from tests.support.events import add_events, make_older, place_events
from tests.support.plans import planning_without
from users.models import Status

LONG_AGO = timedelta(days=30)


def remember_key(partner: Partner, age: timedelta) -> IdempotencyRecord:
    return IdempotencyRecord.objects.create(
        partner=partner, key=uuid.uuid4(), fingerprint=bytes(32), status=200, completed_at=timezone.now() - age
    )


def remember_signature(partner: Partner, age: timedelta) -> UsedSignature:
    return UsedSignature.objects.create(
        partner=partner, signature=uuid.uuid4().bytes * 2, signed_at=timezone.now() - age
    )


def purged(**removed: int) -> dict[str, int]:
    """What the command says it removed: nothing, but for these."""
    names = (
        *("idempotencyRecords", "usedSignatures", "webhookDeliveries", "sandboxRequests", "auditEntries", "apiKeys"),
        "events",
    )
    return dict.fromkeys(names, 0) | removed


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


def test_all_batches_are_purged(partner: Partner) -> None:
    for _ in range(5):
        remember_key(partner, LONG_AGO)
        remember_signature(partner, LONG_AGO)
    assert outcome("purge_expired", "--batch-size", "2") == purged(idempotencyRecords=5, usedSignatures=5)
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
    with transaction.atomic(using=serving_role.OWNER):
        IdempotencyRecord.objects.using(serving_role.OWNER).select_for_update().get(pk=held.pk)
        assert outcome("purge_expired")["idempotencyRecords"] == 1
    assert outcome("purge_expired")["idempotencyRecords"] == 1
    connections[serving_role.OWNER].close()


@pytest.mark.parametrize("size", ["0", "-5", "ten"])
def test_a_batch_of_no_size_is_a_wrong_use(size: str) -> None:
    assert run("purge_expired", f"--batch-size={size}").status == 2


def test_the_output_for_people_has_the_counts(partner: Partner) -> None:
    remember_key(partner, LONG_AGO)
    assert printed("purge_expired") == (
        "Removed 1 idempotency records, 0 used signatures, 0 webhook deliveries, 0 sandbox requests, 0 audit entries,"
        " 0 API keys and 0 events.\n"
    )


def test_deliveries_go_after_30_days_and_removed_webhooks_when_they_are_empty(partner: Partner) -> None:
    empty, removed, active = factories.WebhookEndpointFactory.create_batch(3, partner=partner)
    ages = {active: timedelta(days=31), empty: timedelta(days=31), removed: timedelta(days=29)}
    for endpoint, age in ages.items():
        created_at = timezone.now() - age
        WebhookDelivery.objects.create(endpoint=endpoint, type="webhook.test", created_at=created_at)
    for endpoint in (empty, removed):
        endpoints.remove(endpoint)
    assert outcome("purge_expired") == purged(webhookDeliveries=2)
    assert {*WebhookEndpoint.objects.all()} == {removed, active}
    # What is left of one that is gone is in the audit log.
    for name in ("WebhookEndpointEvent", "WebhookSecretEvent"):
        history: Any = apps.get_model("events", name)
        key = "pgh_obj_id" if name == "WebhookEndpointEvent" else "endpoint_id"
        assert {*history.objects.values_list(key, flat=True)} == {removed.pk, active.pk}
    actions = AuditEntry.objects.filter(object=str(empty.pk)).values_list("action", flat=True)
    assert {*actions} == {"webhook.created", "webhookSecret.created", "webhook.changed"}
    assert [one.endpoint for one in WebhookDelivery.objects.all()] == [removed]


def test_keys_go_a_year_after_their_end_and_leave_their_audit_entries(partner: Partner) -> None:
    ends = {"revoked_at": (366, 364), "expires_at": (366, 364, -1)}
    made = {
        (name, days): factories.ApiKeyFactory.create(
            partner=partner, age=timedelta(days=500), **{name: timezone.now() - timedelta(days=days)}
        )
        for name, all_days in ends.items()
        for days in all_days
    }
    gone = [key for (_, days), key in made.items() if days == 366]
    assert outcome("purge_expired", "--batch-size", "1") == purged(apiKeys=2)
    assert not ApiKey.objects.filter(pk__in=[key.pk for key in gone]).exists()
    assert ApiKey.objects.filter(pk__in=[key.pk for key in made.values()]).count() == 3
    history: Any = apps.get_model("partners", "ApiKeyEvent")
    assert not history.objects.filter(pgh_obj__in=[key.pk for key in gone]).exists()
    assert AuditEntry.objects.filter(action="apiKey.created", object__in=[key.prefix for key in gone]).count() == 2


def test_keys_of_sandbox_partners_go_after_a_month(db: None) -> None:
    sandbox = factories.PartnerFactory.create(mode="sandbox")
    for days in (31, 29):
        ended = timezone.now() - timedelta(days=days)
        factories.ApiKeyFactory.create(partner=sandbox, age=timedelta(days=40), revoked_at=ended)
    factories.ApiKeyFactory.create(age=timedelta(days=40), revoked_at=timezone.now() - timedelta(days=31))
    assert outcome("purge_expired") == purged(apiKeys=1)
    assert ApiKey.objects.filter(partner=sandbox).exclude(revoked_at=None).count() == 1


@pytest.mark.parametrize("table", ["partners_apikey", "core_auditentry"])
def test_what_has_not_served_its_time_cannot_be_removed(partner: Partner, table: str) -> None:
    factories.ApiKeyFactory.create(partner=partner)
    with pytest.raises(IntegrityError, match="kept for good"), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"DELETE FROM {table}")


def test_what_sandbox_partners_did_by_themselves_is_kept_90_days(committed_partner: Partner) -> None:
    live, slug = committed_partner.slug, f"purged-{uuid.uuid4()}"
    kept = []
    with transaction.atomic(using=serving_role.OWNER):
        Partner.objects.using(serving_role.OWNER).create(slug=slug, name=slug, mode="sandbox")
        for actor, days in ((slug, 91), (slug, 89), (live, 91)):
            values = {"actor": actor, "actor_kind": "partner", "action": "apiKey.changed", "detail": {}}
            one = AuditEntry.objects.using(serving_role.OWNER).create(
                at=timezone.now() - timedelta(days=days), object="psi_test_key_12345678", **values
            )
            kept.append(one.pk)
    connections[serving_role.OWNER].close()
    assert outcome("purge_expired")["auditEntries"] == 1
    found = AuditEntry.objects.filter(actor__in=(slug, live), object="psi_test_key_12345678")
    assert sorted(found.values_list("pk", flat=True)) == kept[1:]


def test_old_entries_of_live_partners_are_not_read(db: None) -> None:
    table, time, _age, rows, lock = purge_expired._EXPIRED["auditEntries"]
    statement = purge_expired._DELETE.format(table=table, time=time, rows=rows, lock=lock)
    with planning_without("seqscan", "bitmapscan") as cursor:
        cursor.execute(f"EXPLAIN {statement}", ["-infinity", "90 days", 1000])
        plan = "\n".join(row[0] for row in cursor)
    [found] = re.findall("Scan using audit_.*", plan)
    assert "audit_of_actor" in found
    assert "Index Cond: (((actor)::text = (partners_partner.slug)::text) AND (at <" in plan


# Events go after 30 days, from the beginning of their feed: contract, section 10

EXPIRED, KEPT = EVENTS_KEPT + timedelta(minutes=1), EVENTS_KEPT - timedelta(days=1)


@pytest.fixture
def nothing_expired(committed_partner: Partner) -> None:
    """Purge the committed events of other tests."""
    place_events()
    outcome("purge_expired")


def make_events(partner: Partner, *ages: timedelta) -> list[Event]:
    """Events of these ages, at the end of the feed."""
    user = add_events(partner, len(ages))
    events = list(Event.objects.filter(user_id=user.pk).order_by("position"))
    for event, age in zip(events, ages, strict=True):
        make_older(event, age)
    return events


def positions(partner: Partner) -> list[int]:
    return list(Event.objects.filter(partner=partner).order_by("id").values_list("position", flat=True))


def purged_position(partner: Partner) -> int:
    return EventFeed.objects.get(partner=partner).purged_position


@pytest.mark.usefixtures("nothing_expired")
@pytest.mark.parametrize("batch_size", ["2", "3"])
def test_only_events_past_30_days_go(committed_partner: Partner, batch_size: str) -> None:
    make_events(committed_partner, EXPIRED, EXPIRED, EXPIRED, KEPT, KEPT)
    assert outcome("purge_expired", "--batch-size", batch_size)["events"] == 3
    assert (positions(committed_partner), purged_position(committed_partner)) == ([4, 5], 3)
    assert outcome("purge_expired", "--batch-size", batch_size)["events"] == 0


@pytest.mark.usefixtures("nothing_expired")
@pytest.mark.parametrize("batch_size", ["1", "100"])
def test_an_old_event_behind_one_that_is_kept_stays(committed_partner: Partner, batch_size: str) -> None:
    make_events(committed_partner, EXPIRED, KEPT, EXPIRED)
    assert outcome("purge_expired", "--batch-size", batch_size)["events"] == 1
    assert (positions(committed_partner), purged_position(committed_partner)) == ([2, 3], 1)


@pytest.mark.usefixtures("nothing_expired")
def test_what_is_in_no_feed_yet_stays(committed_partner: Partner) -> None:
    make_events(committed_partner, EXPIRED)
    factories.UserFactory.create(partner=committed_partner, status=Status.ACTIVE)
    make_older(OutboxEntry.objects.get(), EXPIRED)
    assert outcome("purge_expired")["events"] == 1
    assert positions(committed_partner) == []
    place_events()
    assert positions(committed_partner) == [2]
    assert outcome("purge_expired")["events"] == 1


@pytest.mark.usefixtures("nothing_expired")
def test_each_partners_feed_is_purged_by_itself(committed_partner: Partner) -> None:
    other = factories.PartnerFactory.create(slug=f"{committed_partner.slug}-other")
    make_events(committed_partner, EXPIRED, EXPIRED)
    make_events(other, KEPT, EXPIRED)
    outcome("purge_expired")
    assert (positions(committed_partner), purged_position(committed_partner)) == ([], 2)
    assert (positions(other), purged_position(other)) == ([1, 2], 0)


@pytest.mark.usefixtures("nothing_expired")
def test_deliveries_go_with_their_event(committed_partner: Partner) -> None:
    endpoint = WebhookEndpoint.objects.create(partner=committed_partner, url="https://hooks.example/")
    make_events(committed_partner, EXPIRED, KEPT)
    assert endpoint.deliveries.count() == 2
    assert outcome("purge_expired")["events"] == 1
    assert [delivery.event.position for delivery in endpoint.deliveries.all() if delivery.event] == [2]
