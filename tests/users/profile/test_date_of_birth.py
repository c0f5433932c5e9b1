"""A date of birth, and the age of 18 where compliance is: contract, section 2."""

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from types import SimpleNamespace

import pytest
from pytest_django.fixtures import Settings
from rest_framework.exceptions import ValidationError

from partners.api.errors import UnprocessableEntityError
from tests import factories
from tests.support.client import PartnerClient
from tests.support.responses import assert_error
from tests.users.sending import field_errors, invalid_fields, stored
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


BORN = [
    (LATE_FEBRUARY, "2008-02-28", 201),
    (LATE_FEBRUARY, "2008-02-27", 201),
    (LATE_FEBRUARY, "2008-02-29", 422),
    (LATE_FEBRUARY, "2008-03-01", 422),
    (FIRST_OF_MARCH, "2008-02-29", 201),
    (FIRST_OF_MARCH, "2008-03-01", 201),
    (FIRST_OF_MARCH, "2008-03-02", 422),
    ("2025-12-31T12:00:00Z", "2007-12-31", 201),
    ("2026-01-01T12:00:00Z", "2008-12-31", 422),
    ("2028-02-29T12:00:00Z", "2010-02-28", 201),
    ("2028-02-29T12:00:00Z", "2010-03-01", 422),
    (LATE_FEBRUARY, "2026-02-28", 422),
    (LATE_FEBRUARY, "2026-03-01", 400),
    (FIRST_OF_MARCH, "2026-03-01", 422),
    (FIRST_OF_MARCH, "2026-03-02", 400),
    (FIRST_OF_MARCH, "9999-12-31", 400),
    (FIRST_OF_MARCH, "1900-01-01", 201),
    (FIRST_OF_MARCH, "1899-12-31", 400),
    (FIRST_OF_MARCH, " 1990-12-10 ", 201),
]


def status_of(born: str) -> int:
    """The status of a create."""
    try:
        assert stored("dateOfBirth", born) == date.fromisoformat(born.strip())
    except UnprocessableEntityError:
        return 422
    except ValidationError:
        assert field_errors(dateOfBirth=born) == {"dateOfBirth": "range"}
        return 400
    return 201


def test_a_user_is_18_on_the_birthday_in_toronto(at: Callable[[str], None]) -> None:
    found = []
    for now, born, _status in BORN:
        at(now)
        found.append((now, born, status_of(born)))
    assert found == BORN


def test_the_time_zone_of_compliance_can_be_set(at: Callable[[str], None], settings: Settings) -> None:
    at(LATE_FEBRUARY)
    found = {}
    for zone in ("UTC", "America/Toronto", "Asia/Tokyo"):
        settings.COMPLIANCE_TIME_ZONE = zone
        found[zone] = status_of("2008-03-01")
    assert found == {"UTC": 201, "America/Toronto": 422, "Asia/Tokyo": 201}


def test_what_is_no_calendar_date_is_refused() -> None:
    assert field_errors(dateOfBirth="") == {"dateOfBirth": "length"}
    for sent in (
        *("1990", "1990-12", "1990-2-1", "90-12-10", "19901210", "1990/12/10", "10-12-1990"),
        *("1990-13-01", "1990-00-01", "1990-12-00", "1990-02-29", "1990-W50-1", "1990-344", "0000-01-01"),
        *(
            "01990-12-10",
            "+1990-12-10",
            "1990-12-10Z",
            "1990-12-10T00:00:00Z",
            "١٩٩٠-١٢-١٠",
            "１９９０-12-10",
            "1990−12−10",
        ),
    ):
        assert field_errors(dateOfBirth=sent) == {"dateOfBirth": "format"}, sent


def test_under_18_is_said_only_where_nothing_else_fails(api: PartnerClient) -> None:
    for other in ({"email": "nobody"}, {"nickname": "Ada"}, {"postalCode": "12345"}):
        assert invalid_fields(dateOfBirth="2020-01-01", **other) == [*other]
    response = api.post("/v1/users", factories.user_body(dateOfBirth="2020-01-01"))
    refusal = assert_error(response, 422)
    assert (refusal["error"], "18" in refusal["message"]) == ("unprocessable_entity", True)
    assert not User.objects.exists()


@pytest.mark.parametrize(
    ("born", "adult"),
    [
        (date(2000, 5, 17), date(2018, 5, 17)),
        (date(2000, 2, 28), date(2018, 2, 28)),
        # As the contract has it: section 2.
        (date(2004, 2, 29), date(2022, 3, 1)),
        (date(1982, 2, 28), date(2000, 2, 28)),
    ],
)
def test_the_18th_birthday(born: date, adult: date) -> None:
    assert field_rules.adult_on(born) == adult
    assert field_rules.age_in_years(born, on=adult) == 18
    assert field_rules.age_in_years(born, on=adult - timedelta(days=1)) == 17
