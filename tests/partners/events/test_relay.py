"""The relay gives committed events their positions in the feeds of their partners."""

import pytest

from partners.events.relay import Relay
from partners.models import Event, EventFeed
from tests.factories import PartnerFactory, UserFactory
from users.models import Status

pytestmark = pytest.mark.django_db


def test_each_partner_has_positions_of_its_own() -> None:
    one, other = PartnerFactory.create(), PartnerFactory.create()
    for partner in (one, other, one):
        UserFactory.create(partner=partner, status=Status.ACTIVE)

    assert Relay().place() == 3
    assert list(Event.objects.filter(partner=one).order_by("id").values_list("position", flat=True)) == [1, 2]
    assert list(Event.objects.filter(partner=other).values_list("position", flat=True)) == [1]


def test_positions_go_on_after_the_last() -> None:
    partner = PartnerFactory.create()
    UserFactory.create(partner=partner, status=Status.SUSPENDED)
    Relay().place()
    UserFactory.create(partner=partner, status=Status.ACTIVE)
    Relay().place()

    assert list(Event.objects.order_by("id").values_list("position", flat=True)) == [1, 2, 3]
    assert EventFeed.objects.get().last_position == 3


def test_without_events_nothing_is_done() -> None:
    assert Relay().place() == 0
