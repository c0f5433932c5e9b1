"""Authentication failures are counted by cause and shown to support only."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from partners.authentication import keys
from partners.models import ApiKey, ApiUsage, Partner
from partners.usage import recording, reports
from partners.usage.failures import AuthenticationFailure
from tests.support.client import Headers, PartnerClient, Response, in_process
from tests.support.staff import client_as

KEY, TIMESTAMP, SIGNATURE = "X-Api-Key", "X-Request-Timestamp", "X-Request-Signature"
PING = "/v1/ping"


def ping(api: PartnerClient, *, without: str = "", timestamp: str | None = None, secret: str | None = None) -> Response:
    """A signed request, with something wrong with it."""
    headers: Headers = api.headers("GET", PING, b"", key=None, timestamp=timestamp, secret=secret)
    headers.pop(without, None)
    return in_process("GET", PING, headers, b"")


def ago(**span: int) -> str:
    return (datetime.now(UTC) - timedelta(**span)).isoformat()


def revoke(api: PartnerClient) -> Response:
    keys.revoke(keys.find(api.api_key))
    return ping(api)


def disable(api: PartnerClient) -> Response:
    Partner.objects.update(enabled=False)
    return ping(api)


Attempt = Callable[[PartnerClient], Response]
ATTEMPTS: dict[str, tuple[AuthenticationFailure, Attempt]] = {
    "no signature": (AuthenticationFailure.MISSING_HEADER, lambda api: ping(api, without=SIGNATURE)),
    "no timestamp": (AuthenticationFailure.MISSING_HEADER, lambda api: ping(api, without=TIMESTAMP)),
    "timestamp no date": (AuthenticationFailure.MALFORMED_TIMESTAMP, lambda api: ping(api, timestamp="yesterday")),
    "clock behind": (AuthenticationFailure.CLOCK_SKEW, lambda api: ping(api, timestamp=ago(hours=1))),
    "another secret": (AuthenticationFailure.BAD_SIGNATURE, lambda api: ping(api, secret="psi_secret_x")),
    "key revoked": (AuthenticationFailure.NOT_IN_FORCE, revoke),
    "partner disabled": (AuthenticationFailure.NOT_IN_FORCE, disable),
}


@pytest.mark.parametrize("name", ATTEMPTS)
def test_each_cause_is_counted_for_the_key_that_was_sent(name: str, api: PartnerClient, partner: Partner) -> None:
    failure, attempt = ATTEMPTS[name]
    assert [attempt(api).status for _ in range(3)] == [401] * 3
    recording.flush()
    [found] = reports.failures_of(partner.pk)
    assert (found.failure, found.prefix, found.requests) == (failure, keys.find(api.api_key).prefix, 3)


def test_an_update_sent_again_is_counted(
    api: PartnerClient, partner: Partner, create_user: Callable[..., Response]
) -> None:
    create_user(externalId="ada")
    body = b'{"city": "Ottawa"}'
    headers = api.headers("PATCH", "/v1/users/ada", body, key=None, timestamp=None, secret=None)
    assert [in_process("PATCH", "/v1/users/ada", headers, body).status for _ in range(2)] == [200, 401]
    recording.flush()
    assert [(one.failure, one.requests) for one in reports.failures_of(partner.pk)] == [
        (AuthenticationFailure.REPLAY, 1)
    ]


@pytest.mark.parametrize(
    ("sent", "failure"),
    [
        ("psi_key_" + "x" * 43, AuthenticationFailure.UNKNOWN_KEY),
        ("\xe9", AuthenticationFailure.MISSING_HEADER),
        (None, AuthenticationFailure.MISSING_HEADER),
    ],
)
def test_an_unknown_or_missing_key_is_counted_without_a_partner(
    sent: str | None, failure: AuthenticationFailure, api: PartnerClient, partner: Partner
) -> None:
    headers = api.headers("GET", PING, b"", key=None, timestamp=None, secret=None)
    headers.pop(KEY)
    assert in_process("GET", PING, headers | ({KEY: sent} if sent else {}), b"").status == 401
    recording.flush()
    assert not reports.failures_of(partner.pk)
    [found] = reports.failures_of(None)
    assert (found.failure, found.key_id) == (failure, None)


def test_a_request_that_passes_is_no_failure(api: PartnerClient, partner: Partner) -> None:
    assert ping(api).status == 200
    recording.flush()
    assert not reports.failures_of(partner.pk)


def test_another_partner_sees_none_of_it(api: PartnerClient, other_api: PartnerClient, partner: Partner) -> None:
    ping(other_api, secret="psi_secret_x")
    recording.flush()
    assert not reports.failures_of(partner.pk)


def test_counts_of_an_hour_add_up_in_one_row(api: PartnerClient, partner: Partner) -> None:
    for _ in range(3):
        ping(api, secret="psi_secret_x")
        recording.flush()
    [row] = ApiUsage.objects.filter(partner=partner)
    assert (row.count, row.partner, row.key, row.hour.minute) == (3, partner, keys.find(api.api_key), 0)


def test_the_widest_difference_of_clocks_is_kept(api: PartnerClient, partner: Partner) -> None:
    for minutes in (10, 40, -90, 20):
        ping(api, timestamp=ago(minutes=minutes))
        recording.flush()
    ping(api, timestamp=ago(minutes=-80))
    ping(api, timestamp=ago(minutes=60))
    recording.flush()
    [found] = reports.failures_of(partner.pk)
    assert found.requests == 6
    assert found.worst_skew_seconds == pytest.approx(90 * 60, abs=60)


@pytest.mark.parametrize("year", ["0001", "9999"])
def test_no_clock_is_too_wrong_to_be_counted(year: str, api: PartnerClient, partner: Partner) -> None:
    ping(api, timestamp=f"{year}-06-01T00:00:00Z")
    recording.flush()
    assert [(one.failure, one.requests) for one in reports.failures_of(partner.pk)] == [
        (AuthenticationFailure.CLOCK_SKEW, 1)
    ]


def test_only_a_wrong_clock_is_shown_with_its_difference(api: PartnerClient, partner: Partner) -> None:
    ping(api, secret="psi_secret_x", timestamp=ago(seconds=100))
    recording.flush()
    page = page_of(partner)
    assert "Wrong signature" in page
    assert "1 (up to" not in page


def test_a_day_is_looked_back_at(api: PartnerClient, partner: Partner) -> None:
    for hours in (2, 24, 26):
        ApiUsage.objects.create(
            partner=partner,
            status=401,
            failure=AuthenticationFailure.BAD_SIGNATURE,
            count=hours,
            hour=timezone.now() - timedelta(hours=hours),
        )
    assert [one.requests for one in reports.failures_of(partner.pk)] == [26]


# What support sees


def page_of(partner: Partner, role: str = "partner-manager") -> str:
    return client_as(role).get(f"/admin/partners/partner/{partner.pk}/change/").content.decode()


def test_the_partners_page_has_causes_and_advice(api: PartnerClient, partner: Partner) -> None:
    ping(api, timestamp=ago(minutes=47))
    ping(api, secret="psi_secret_x")
    recording.flush()
    page = page_of(partner)
    for text in ("Clock skew", "1 (up to 47 minutes behind)", "Wrong signature", "Their clock is wrong"):
        assert text in page
    assert api.api_key not in page


def test_unknown_keys_are_shown_with_every_partner(api: PartnerClient, partner: Partner) -> None:
    recording.record_failure(AuthenticationFailure.UNKNOWN_KEY, keys.digest("psi_key_nobodys"))
    recording.record_failure(AuthenticationFailure.MISSING_HEADER, keys.digest(""))
    recording.flush()
    page = page_of(partner)
    assert "of any caller" in page
    assert "Header missing" not in page


def test_the_page_says_if_there_were_no_failures(partner: Partner) -> None:
    assert "No request with one of this partner&#x27;s keys was refused." in page_of(partner)


@pytest.mark.parametrize("role", ["auditor", "superuser"])
def test_staff_who_may_view_keys_see_the_failures(role: str, api: PartnerClient, partner: Partner) -> None:
    ping(api, secret="psi_secret_x")
    recording.flush()
    assert "Wrong signature" in page_of(partner, role)


def test_a_key_that_never_was_is_not_made_up(api: PartnerClient) -> None:
    before = ApiKey.objects.count()
    recording.record_failure(AuthenticationFailure.UNKNOWN_KEY, keys.digest("psi_key_nobodys"))
    recording.flush()
    assert ApiKey.objects.count() == before
