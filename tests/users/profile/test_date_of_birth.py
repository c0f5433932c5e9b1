"""A date of birth, and the age of 18 where compliance is: contract, section 2."""

from collections.abc import Callable
from datetime import UTC, date, datetime
from types import SimpleNamespace

import pytest
from pytest_django.fixtures import Settings

from tests import factories
from tests.support.client import PartnerClient
from tests.support.responses import assert_error, failing_fields
from tests.users.sending import Send, kept, refused
from users.models import User
from users.profile import field_rules


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Stops the clock of the field rules at an instant."""

    def stop(instant: str) -> None:
        moment = datetime.fromisoformat(instant).astimezone(UTC)
        monkeypatch.setattr(field_rules, "datetime", SimpleNamespace(now=moment.astimezone))

    return stop


# The last day of February 2026 in Toronto, the first of March in UTC.
LATE_FEBRUARY = "2026-03-01T04:30:00Z"
FIRST_OF_MARCH = "2026-03-01T05:30:00Z"


@pytest.mark.parametrize(
    ("now", "born", "status"),
    [
        (LATE_FEBRUARY, "2008-02-28", 200),
        (LATE_FEBRUARY, "2008-02-27", 200),
        (LATE_FEBRUARY, "2008-02-29", 422),
        (LATE_FEBRUARY, "2008-03-01", 422),
        (FIRST_OF_MARCH, "2008-02-29", 200),
        (FIRST_OF_MARCH, "2008-03-01", 200),
        (FIRST_OF_MARCH, "2008-03-02", 422),
        ("2025-12-31T12:00:00Z", "2007-12-31", 200),
        ("2026-01-01T12:00:00Z", "2008-12-31", 422),
        ("2028-02-29T12:00:00Z", "2010-02-28", 200),
        ("2028-02-29T12:00:00Z", "2010-03-01", 422),
        (LATE_FEBRUARY, "2026-02-28", 422),
        (LATE_FEBRUARY, "2026-03-01", 400),
        (FIRST_OF_MARCH, "2026-03-01", 422),
        (FIRST_OF_MARCH, "2026-03-02", 400),
        (FIRST_OF_MARCH, "9999-12-31", 400),
        (FIRST_OF_MARCH, "1900-01-01", 200),
        (FIRST_OF_MARCH, "1899-12-31", 400),
        (FIRST_OF_MARCH, " 1990-12-10 ", 200),
    ],
)
def test_a_user_is_18_on_the_birthday_in_toronto(
    send: Send, at: Callable[[str], None], now: str, born: str, status: int
) -> None:
    at(now)
    response = send(dateOfBirth=born)
    if status == 200:
        assert response.status in {200, 201}
        assert kept("dateOfBirth") == date.fromisoformat(born.strip())
    elif status == 422:
        assert assert_error(response, 422)["error"] == "unprocessable_entity"
        assert "18" in response.json()["message"]
    else:
        assert failing_fields(response) == ["dateOfBirth"]


@pytest.mark.parametrize(("zone", "status"), [("UTC", 201), ("America/Toronto", 422), ("Asia/Tokyo", 201)])
def test_the_time_zone_of_compliance_can_be_set(
    api: PartnerClient, at: Callable[[str], None], settings: Settings, zone: str, status: int
) -> None:
    at(LATE_FEBRUARY)
    settings.COMPLIANCE_TIME_ZONE = zone
    assert api.post("/v1/users", factories.user_body(dateOfBirth="2008-03-01")).status == status


@pytest.mark.parametrize(
    "sent",
    [
        "",
        "1990",
        "1990-12",
        "1990-2-1",
        "90-12-10",
        "19901210",
        "1990/12/10",
        "10-12-1990",
        "1990-13-01",
        "1990-00-01",
        "1990-12-00",
        "1990-02-29",
        "1990-W50-1",
        "1990-344",
        "0000-01-01",
        "01990-12-10",
        "+1990-12-10",
        "1990-12-10Z",
        "1990-12-10T00:00:00Z",
        "١٩٩٠-١٢-١٠",
        "１９９０-12-10",
        "1990−12−10",
    ],
)
def test_what_is_no_calendar_date_is_refused(send: Send, sent: str) -> None:
    assert refused(send(dateOfBirth=sent)) == ["dateOfBirth"]


def test_under_18_is_said_only_where_nothing_else_fails(send: Send) -> None:
    assert refused(send(dateOfBirth="2020-01-01", email="nobody")) == ["email"]
    assert refused(send(dateOfBirth="2020-01-01", nickname="Ada")) == ["nickname"]
    assert refused(send(dateOfBirth="2020-01-01", postalCode="12345")) == ["postalCode"]
    assert assert_error(send(dateOfBirth="2020-01-01"), 422)["error"] == "unprocessable_entity"
    assert not User.objects.filter(date_of_birth="2020-01-01").exists()
