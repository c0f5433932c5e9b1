"""What code in the service can do to feeds and to what the database sets: the serving role's own statements."""

import pytest
from django.db import DatabaseError, IntegrityError, ProgrammingError, connection, transaction

from partners.models import Partner, WebhookEndpoint
from tests import factories

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM partners_outboxentry",
        "UPDATE partners_outboxentry SET data = '{}'",
        "INSERT INTO partners_event (partner_id, position) VALUES (1, 1)",
        "DELETE FROM partners_event",
        "UPDATE partners_eventfeed SET purged_position = 1",
        "INSERT INTO transactions_conversion (id) VALUES (1)",
        "INSERT INTO transactions_conversion (recorded_at) VALUES (now())",
        "INSERT INTO users_statuschange (id) VALUES (1)",
    ],
)
def test_it_is_refused(statement: str) -> None:
    with pytest.raises(ProgrammingError, match="permission denied"):
        connection.cursor().execute(statement)


def test_an_event_that_is_kept_cannot_be_purged(partner: Partner) -> None:
    factories.EventFactory.create(partner=partner, user=factories.UserFactory.create(partner=partner, status="active"))
    with connection.cursor() as cursor:
        cursor.execute("SELECT purged FROM partners_purge_events(%s, 1000)", [partner.pk])
        assert cursor.fetchone() == (0,)


@pytest.mark.parametrize("url", ["http://hooks.example.com/", "https://a@hooks.example.com/", "ftp://example.com", ""])
def test_a_webhook_has_a_url_of_https(partner: Partner, url: str) -> None:
    with pytest.raises(IntegrityError, match="webhook_url_https"), transaction.atomic():
        WebhookEndpoint.objects.create(partner=partner, url=url)


def test_a_decision_has_a_reason_that_is_not_blank() -> None:
    user, staff = factories.UserFactory.create(), factories.StaffFactory.create()
    with pytest.raises(DatabaseError, match="status_change_reason_given"):
        connection.cursor().execute(
            "INSERT INTO users_statuschange (user_id, from_status, to_status, by_id, reason)"
            " VALUES (%s, 'pendingCompliance', 'active', %s, E' \t\n')",
            [user.pk, staff.pk],
        )
