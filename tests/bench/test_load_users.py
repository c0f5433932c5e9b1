"""Generated users are as consistent as those that the service creates."""

from typing import Any

import pytest
from django.db import IntegrityError, connection, connections, transaction
from django.db.models import Max, OuterRef, Subquery

from bench.load import users
from partners.db import serving_role
from partners.models import Partner
from users.models import StatusChange, User, UserEvent
from users.models.statuses import TRANSITIONS, Status

USERS = 400


@pytest.fixture
def loaded(committed_partner: Partner) -> Any:
    if not User.objects.filter(external_id="load-00000001").exists():
        users.fill(users=USERS)
    return User.objects.filter(external_id__startswith="load-")


def test_it_makes_users_in_every_status(loaded: Any) -> None:
    assert loaded.count() == USERS
    assert set(loaded.values_list("status", flat=True)) == set(Status.values)
    assert loaded.values("partner").distinct().count() > 1


def test_the_status_is_that_of_the_last_decision(loaded: Any) -> None:
    last = StatusChange.objects.filter(user=OuterRef("pk")).order_by("-created_at")
    rows = loaded.annotate(to=Subquery(last.values("to_status")[:1]), at=Subquery(last.values("created_at")[:1]))
    for user in rows:
        assert user.status == (user.to or Status.PENDING_COMPLIANCE)
        assert user.status_since == (user.at or user.created_at)
        assert user.created_at <= user.status_since <= user.updated_at


def test_each_decision_is_an_allowed_transition(loaded: Any) -> None:
    for user in loaded.prefetch_related("status_changes"):
        status, began = Status.PENDING_COMPLIANCE, user.created_at
        for change in user.status_changes.all():
            assert (change.from_status, change.waiting_since, change.partner_id) == (status, began, user.partner_id)
            assert change.to_status in TRANSITIONS[status]
            status = Status(change.to_status)
            began = change.created_at if status == Status.PENDING_COMPLIANCE else None


def test_the_history_ends_with_the_present_user(loaded: Any) -> None:
    latest = UserEvent.objects.filter(pgh_obj__in=loaded).values("pgh_obj").annotate(last=Max("pgh_id")).values("last")
    events = {event.pgh_obj_id: event for event in UserEvent.objects.filter(pgh_id__in=latest)}
    for user in loaded:
        assert (events[user.pk].status, events[user.pk].updated_at) == (user.status, user.updated_at)


def test_the_triggers_are_enabled_again(loaded: Any) -> None:
    columns = "user_id, from_status, to_status, by_id, reason_code, reason"
    with pytest.raises(IntegrityError), transaction.atomic():
        connection.cursor().execute(
            f"INSERT INTO users_statuschange ({columns}) SELECT {columns} FROM users_statuschange LIMIT 1"
        )
    owner = connections[serving_role.OWNER]
    with owner.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_trigger WHERE NOT tgisinternal AND tgenabled <> 'O'")
        assert cursor.fetchone() == (0,)
    owner.close()


def test_a_second_run_is_refused(loaded: Any) -> None:
    with pytest.raises(IntegrityError):
        users.fill(users=10)
    assert loaded.count() == USERS
    connections[serving_role.OWNER].close()
