"""Generated conversions are like imported ones."""

import sys
from typing import Any

import pytest
from django.db import IntegrityError, connections
from django.db.models import Count

from bench.load import conversions, users
from bench.load.__main__ import main
from partners.db import serving_role
from partners.models import Partner
from tests import factories
from tests.support.client import in_process
from transactions.models import Conversion
from users.models import User

CONVERSIONS = 2000


@pytest.fixture
def loaded(committed_partner: Partner) -> Any:
    if not User.objects.filter(external_id="load-00000001").exists():
        users.fill(users=400)
    if not Conversion.objects.filter(conversion_id="load-1").exists():
        conversions.fill(conversions=CONVERSIONS)
    return Conversion.objects.filter(conversion_id__startswith="load-")


def test_it_creates_the_requested_number_and_some_users_have_many(loaded: Any) -> None:
    assert loaded.count() == CONVERSIONS
    counts = sorted(row["number"] for row in loaded.values("user").annotate(number=Count("pk")))
    assert counts[-1] > 5 * CONVERSIONS / 400


def test_a_partner_can_list_them(loaded: Any) -> None:
    conversion = loaded.select_related("user__partner").latest("created_at")
    api = factories.client_of(conversion.user.partner, in_process)
    newest = api.get(f"/v1/users/{conversion.user.external_id}/transactions").json()["items"][0]
    assert newest["conversionId"] == conversion.conversion_id


def test_a_second_run_is_refused_and_adds_nothing(loaded: Any) -> None:
    with pytest.raises(IntegrityError):
        conversions.fill(conversions=CONVERSIONS)
    assert loaded.count() == CONVERSIONS
    connections[serving_role.OWNER].close()


def test_it_runs_in_development_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["bench.load"])
    with pytest.raises(SystemExit, match="DEBUG=true"):
        main()
