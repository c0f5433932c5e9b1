"""The dashboard's period: days of one's own, and the period before beside them."""

import re
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from django.db import OperationalError
from django.utils import timezone
from psycopg.errors import QueryCanceled

from backoffice.dashboard import board as boards
from backoffice.dashboard.period import MAX_DAYS, Period
from tests.support.staff import client_as, words

DASHBOARD = "/admin/dashboard/"


def test_a_period_has_whole_days_and_one_of_the_same_length_before() -> None:
    # Clocks are set back on the first of November: it has 25 hours.
    period = Period(date(2026, 10, 30), date(2026, 11, 2))
    assert len(period.days) == 4
    assert (period.ends.astimezone(UTC) - period.begins.astimezone(UTC)) == timedelta(days=4, hours=1)
    assert period.before == Period(date(2026, 10, 26), date(2026, 10, 29))


@pytest.mark.django_db
def test_a_period_of_ones_own_is_shown_with_the_one_before() -> None:
    text = client_as("auditor").get(DASHBOARD, {"since": "2026-02-01", "until": "2026-02-28"}).content.decode()
    assert "Feb. 1, 2026 to Feb. 28, 2026 Before: Jan. 4, 2026 to Jan. 31, 2026." in words(text)
    assert 'value="2026-02-01"' in text
    assert 'value="2026-02-28"' in text
    assert 'aria-current="page">30 days' not in text
    # Figures and files are of the period.
    assert "/statuschange/?since=2026-02-01&amp;until=2026-02-28" in text


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("since", "until", "said"),
    [
        ("2026-02-02", "2026-02-01", "This is before the first day."),
        ("2026-02-30", "2026-03-01", "Enter a valid date."),
        ("\0", "2026-03-01", "Enter a valid date."),
        ("", "2026-03-01", "This field is required."),
        ("2026-03-01", "", "This field is required."),
        ("0001-01-01", "0001-01-02", "Ensure this value is greater than or equal to 2000-01-01."),
        ("9999-12-31", "9999-12-31", "This is after today."),
        ("2025-01-01", "2026-01-02", f"A period has at most {MAX_DAYS} days."),
        ("2000-01-01", "9999-12-31", "This is after today."),
    ],
)
def test_a_bad_period_is_refused_beside_the_last_thirty_days(since: str, until: str, said: str) -> None:
    client = client_as("auditor")
    response = client.get(DASHBOARD, {"since": since, "until": until})
    assert response.status_code == 200
    assert said in words(response.content.decode())
    assert response.context["period"] == Period.of_last(30)
    # The file of such a period leads to the message.
    led = client.get("/admin/dashboard/backlog.csv", {"since": since, "until": until})
    assert led.status_code == 302
    assert said in words(client.get(led["Location"]).content.decode())


@pytest.mark.django_db
@pytest.mark.parametrize("days", [1, MAX_DAYS])
def test_the_shortest_and_the_longest_period_are_shown(days: int) -> None:
    today = timezone.localdate()
    query = {"since": str(today - timedelta(days=days - 1)), "until": str(today)}
    response = client_as("auditor").get(DASHBOARD, query)
    assert len(response.context["charts"]["decisions"]["labels"]) == days
    assert not re.search("errorlist", response.content.decode())


@pytest.mark.django_db
def test_the_last_month_is_a_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    march = datetime(2026, 3, 31, 23, tzinfo=ZoneInfo("America/Toronto"))
    assert Period.of_last_month().last == timezone.localdate().replace(day=1) - timedelta(days=1)
    client = client_as("auditor")
    monkeypatch.setattr(timezone, "now", lambda: march)
    assert Period.of_last_month() == Period(date(2026, 2, 1), date(2026, 2, 28))
    query = {"since": "2026-02-01", "until": "2026-02-28"}
    assert 'aria-current="page">February 2026' in client.get(DASHBOARD, query).content.decode()


@pytest.mark.django_db
@pytest.mark.parametrize("path", [DASHBOARD, f"{DASHBOARD}backlog.csv"])
def test_figures_that_take_too_long_lead_to_the_default_period(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_given: object) -> None:
        raise OperationalError from QueryCanceled()

    client = client_as("auditor")
    with monkeypatch.context() as patched:
        patched.setattr(boards, "gather", fail)
        led = client.get(path, {"days": "90"})
        assert (led.status_code, led["Location"]) == (302, DASHBOARD)
    assert "Choose a shorter one." in client.get(DASHBOARD).content.decode()
