"""A partner's requests and clock skew, reported from usage counters."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import OperationalError
from django.utils import timezone

from partners.api import throttling
from partners.authentication import keys
from partners.models import ApiUsage, Partner
from partners.usage import recording, reports
from partners.usage.failures import AuthenticationFailure
from partners.usage.reports import Requests, Skew
from tests import factories
from tests.support.client import PartnerClient, Response, in_process
from tests.support.staff import client_as
from users.api.views import UserView

PING = "/v1/ping"


def of_day(partner: Partner) -> Requests:
    """What is told of the last day, once everything is written."""
    recording.flush()
    return reports.requests_of(partner.pk, period=reports.DAY)


def clock_skew(partner: Partner) -> Skew | None:
    recording.flush()
    return reports.clock_skew_of(partner.pk, period=reports.DAY)


def ping_off_by(api: PartnerClient, seconds: float) -> Response:
    """A request of a clock that is ahead by so much."""
    return api.get(PING, timestamp=(datetime.now(UTC) + timedelta(seconds=seconds)).isoformat())


def create_twice(api: PartnerClient) -> Response:
    body = factories.user_body()
    api.post("/v1/users", body)
    return api.post("/v1/users", body)


def too_young(api: PartnerClient) -> Response:
    return api.post("/v1/users", factories.user_body(dateOfBirth=f"{timezone.now().year - 1}-01-01"))


ANSWERS: dict[int, Callable[[PartnerClient], Response]] = {
    200: lambda api: api.get(PING),
    201: lambda api: api.post("/v1/users", factories.user_body()),
    400: lambda api: api.post("/v1/users", {}),
    401: lambda api: api.get(PING, secret="psi_secret_x"),
    404: lambda api: api.get("/v1/users/nobody"),
    409: create_twice,
    415: lambda api: api.post("/v1/users", {}, headers={"Content-Type": "text/plain"}),
    422: too_young,
}


@pytest.mark.parametrize("status", ANSWERS)
def test_each_answer_is_counted_by_its_status(status: int, api: PartnerClient, partner: Partner) -> None:
    assert [ANSWERS[status](api).status for _ in range(3)] == [status] * 3
    assert of_day(partner).by_status == ({201: 3} if status == 409 else {}) | {status: 3}


@pytest.mark.parametrize(("failure", "status"), [(RuntimeError, 500), (OperationalError, 503)])
def test_failures_of_ours_are_counted(
    failure: type[Exception], status: int, api: PartnerClient, partner: Partner, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise failure

    monkeypatch.setattr(UserView, "get_user", fail)
    assert api.get("/v1/users/ada").status == status
    assert of_day(partner).by_status == {status: 1}


def test_requests_over_the_limit_are_counted(api: PartnerClient, partner: Partner) -> None:
    throttling._counter.cache_clear()
    Partner.objects.filter(pk=partner.pk).update(rate_limit="2/day")
    assert [api.get(PING).status for _ in range(5)] == [200, 200, 429, 429, 429]
    assert of_day(partner).by_status == {200: 2, 429: 3}


def test_a_response_before_authentication_is_not_counted(api: PartnerClient, partner: Partner) -> None:
    assert [api.get("/v1/nowhere").status, api.send("PATCH", PING, {}).status] == [404, 405]
    assert of_day(partner) == Requests({}, 0)


def test_an_answer_from_memory_is_counted_as_such(api: PartnerClient, partner: Partner) -> None:
    key, body = str(uuid4()), factories.user_body()
    assert [api.post("/v1/users", body, key=key).status for _ in range(3)] == [201] * 3
    found = of_day(partner)
    assert (found.by_status, found.replayed) == ({201: 3}, 2)


def test_an_update_that_is_sent_again_is_one_answer_and_one_refusal(
    api: PartnerClient, partner: Partner, create_user: Callable[..., Response]
) -> None:
    create_user(externalId="ada")
    body = b'{"city": "Ottawa"}'
    headers = api.headers("PATCH", "/v1/users/ada", body, key=None, timestamp=None, secret=None)
    for _ in range(2):
        in_process("PATCH", "/v1/users/ada", headers, body)
    assert of_day(partner).by_status == {200: 1, 201: 1, 401: 1}


def test_another_partner_sees_none_of_it(api: PartnerClient, other_api: PartnerClient, partner: Partner) -> None:
    other_api.get(PING)
    assert of_day(partner).total == 0
    assert not clock_skew(partner)


def test_periods_are_whole_hours(api: PartnerClient, partner: Partner) -> None:
    key = keys.find(api.api_key)
    this_hour = reports.first_hour(timedelta())
    for hours, count in ((0, 5), (24, 7), (25, 11), (7 * 24, 3), (7 * 24 + 1, 13)):
        hour = this_hour - timedelta(hours=hours)
        ApiUsage.objects.create(partner=partner, key=key, hour=hour, status=200, count=count)
    ApiUsage.objects.create(
        partner=partner, key=key, hour=this_hour, status=401, failure=AuthenticationFailure.REPLAY, count=3
    )
    day, week = (reports.requests_of(partner.pk, period=period) for period in (reports.DAY, reports.WEEK))
    assert day.by_status == {200: 12, 401: 3}
    assert week.by_status == {200: 26, 401: 3}


# Clocks


def test_clock_skew_has_a_median_and_a_worst_value(api: PartnerClient, partner: Partner) -> None:
    assert [ping_off_by(api, seconds).status for seconds in (-50, 3, -70, 3, 200)] == [200] * 5
    found = clock_skew(partner)
    assert found is not None
    assert found.requests == 5
    assert found.worst_seconds == pytest.approx(200, abs=20)
    assert found.median_seconds == pytest.approx(3, abs=15)


def test_of_two_in_the_middle_the_median_is_the_lower(api: PartnerClient, partner: Partner) -> None:
    for seconds in (-90, -40, 40, 90):
        ping_off_by(api, seconds)
    found = clock_skew(partner)
    assert found is not None
    assert found.median_seconds == pytest.approx(-40, abs=15)


def test_clock_skew_includes_requests_refused_for_it(api: PartnerClient, partner: Partner) -> None:
    assert [ping_off_by(api, seconds).status for seconds in (0, -5400)] == [200, 401]
    found = clock_skew(partner)
    assert found is not None
    assert found.worst_seconds == -5400


def test_requests_without_a_time_tell_no_clock(api: PartnerClient, partner: Partner) -> None:
    assert api.get(PING, timestamp="yesterday").status == 401
    assert not clock_skew(partner)


# What staff see


def page_of(partner: Partner, role: str = "partner-manager") -> str:
    recording.flush()
    return client_as(role).get(f"/admin/partners/partner/{partner.pk}/change/").content.decode()


@pytest.mark.parametrize("role", ["partner-manager", "auditor", "superuser"])
def test_the_partners_page_shows_requests_by_status_and_the_clock(
    role: str, api: PartnerClient, partner: Partner
) -> None:
    for answer in (ANSWERS[200], ANSWERS[200], ANSWERS[404]):
        answer(api)
    ping_off_by(api, -5400)
    page = " ".join(page_of(partner, role).split())
    for cells in (("200", 2, 2), ("404", 1, 1), ("401", 1, 1), ("all", 4, 4), ("of these replayed", 0, 0)):
        assert "".join(f"<td>{cell}</td>" for cell in cells) in page
    assert "<td>clock skew, worst</td><td>90 minutes behind</td><td>90 minutes behind</td>" in page


@pytest.mark.parametrize("role", ["viewer", "reviewer", "administrator", "nobody"])
def test_staff_who_may_not_view_keys_see_no_usage(role: str, api: PartnerClient, partner: Partner) -> None:
    ANSWERS[200](api)
    assert "clock skew, worst" not in page_of(partner, role)


def test_the_page_says_if_nothing_was_counted(partner: Partner) -> None:
    assert "No request with one of this partner&#x27;s keys was counted." in page_of(partner)
