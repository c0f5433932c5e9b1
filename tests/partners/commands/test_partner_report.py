"""`manage.py partner_report`: a partner's usage, for support."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from partners.authentication import keys
from partners.authentication.signing import parse_timestamp
from partners.models import ApiKey, ApiUsage, Partner
from partners.usage import recording
from tests import factories
from tests.support.client import PartnerClient
from tests.support.commands import outcome, printed, refusal, run

PING = "/v1/ping"


def busy(api: PartnerClient) -> str:
    """Some requests of each kind; the prefix of their key."""
    for seconds in (0, 0, -30):
        api.get(PING, timestamp=(datetime.now(UTC) + timedelta(seconds=seconds)).isoformat())
    api.get("/v1/users/nobody")
    api.get(PING, secret="psi_secret_x")
    api.get(PING, timestamp=(datetime.now(UTC) - timedelta(minutes=47)).isoformat())
    recording.flush()
    return keys.find(api.api_key).prefix


def earlier(partner: Partner, prefix: str, **span: int) -> None:
    """A hundred requests some time ago."""
    key, hour = ApiKey.objects.get(prefix=prefix), timezone.now() - timedelta(**span)
    ApiUsage.objects.create(partner=partner, key=key, hour=hour, status=200, replayed=True, count=100)


def test_a_period_has_its_requests_their_refusals_and_the_clock(api: PartnerClient, partner: Partner) -> None:
    prefix = busy(api)
    earlier(partner, prefix, days=3)
    report = outcome("partner_report", partner.slug)
    assert report.keys() == {"slug", "name", "mode", "enabled", "rateLimit", "last24Hours", "last7Days", "apiKeys"}
    day, week = report["last24Hours"], report["last7Days"]
    assert day.keys() == week.keys() == {"since", "requests", "unauthorized", "clock"}
    assert day["requests"]["byStatus"] == {"200": 3, "401": 2, "404": 1}
    assert (day["requests"]["total"], day["requests"]["replayed"]) == (6, 0)
    assert week["requests"]["byStatus"] == {"200": 103, "401": 2, "404": 1}
    assert week["requests"]["replayed"] == 100
    assert day["clock"].keys() == {"requests", "medianSeconds", "worstSeconds"}
    assert day["clock"]["worstSeconds"] == pytest.approx(-47 * 60, abs=60)


def test_failures_are_reported_by_cause_and_key(api: PartnerClient, partner: Partner) -> None:
    prefix = busy(api)
    told = {one.pop("cause"): one for one in outcome("partner_report", partner.slug)["last24Hours"]["unauthorized"]}
    hour = parse_timestamp(told["clock skew"].pop("latestHour"))
    assert timezone.now() - hour < timedelta(hours=1, minutes=1)
    assert told["clock skew"] == {"key": prefix, "requests": 1, "worstSkewSeconds": -2800}
    assert (told["bad signature"]["key"], told["bad signature"]["requests"]) == (prefix, 1)
    assert told.keys() == {"clock skew", "bad signature"}


@pytest.mark.parametrize(("period", "hours"), [("last24Hours", 24), ("last7Days", 7 * 24)])
def test_a_period_begins_with_a_whole_hour(period: str, hours: int, partner: Partner) -> None:
    since = parse_timestamp(outcome("partner_report", partner.slug)[period]["since"])
    assert (since.minute, since.second, since.microsecond) == (0, 0, 0)
    assert timedelta(hours=hours) <= timezone.now() - since < timedelta(hours=hours + 1, minutes=1)


def test_keys_are_reported_with_their_age(partner: Partner) -> None:
    in_nine_days = timezone.now() + timedelta(days=9, hours=1)
    expiring = factories.ApiKeyFactory.create(
        partner=partner, age=timedelta(days=200.1), label="old", expires_at=in_nine_days
    )
    revoked = keys.issue(partner=partner).record
    keys.revoke(revoked)
    told: dict[str, Any] = {key["prefix"]: key for key in outcome("partner_report", partner.slug)["apiKeys"]}
    key = told[expiring.prefix]
    assert (key["label"], key["state"], key["ageDays"]) == ("old", "active", 200)
    assert told[revoked.prefix]["state"] == "revoked"
    assert key.keys() == {*("prefix", "label", "state", "ageDays", "createdAt", "lastUsedAt", "expiresAt", "revokedAt")}


def test_a_partner_that_never_asked_has_an_empty_report(partner: Partner) -> None:
    day = outcome("partner_report", partner.slug)["last24Hours"]
    assert (day["requests"]["total"], day["unauthorized"], day["clock"]) == (0, [], None)
    text = printed("partner_report", partner.slug)
    for line in ("Requests: none", "Unauthorized: none", "Clock skew: none", "API keys: none"):
        assert line in text.splitlines()


def test_the_output_for_people_has_both_periods_and_advice(api: PartnerClient, partner: Partner) -> None:
    prefix = busy(api)
    earlier(partner, prefix, days=3)
    Partner.objects.filter(pk=partner.pk).update(rate_limit="50/minute")
    lines = [line.split() for line in printed("partner_report", partner.slug).splitlines()]
    assert lines[0][-6:] == [f"({partner.slug}),", "live,", "enabled,", "rate", "limit", "50/minute"]
    for row in (
        ["200", "3", "103"],
        ["404", "1", "1"],
        ["total", "6", "106"],
        ["bad", "signature", prefix, "1", "1", "-"],
        ["clock", "skew", prefix, "1", "1", "up", "to", "47", "minutes", "behind"],
        ["clock", "skew:", "Their", "clock", "is", "wrong,"],
        ["worst", "47", "minutes", "behind", "47", "minutes", "behind"],
    ):
        assert any(line[: len(row)] == row for line in lines), row


def test_another_partners_requests_are_in_no_report(
    api: PartnerClient, other_api: PartnerClient, partner: Partner
) -> None:
    busy(other_api)
    assert outcome("partner_report", partner.slug)["last7Days"]["requests"]["total"] == 0


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_no_report_shows_a_key_or_a_secret(form: tuple[str, ...], api: PartnerClient, partner: Partner) -> None:
    assert busy(api) in (text := printed("partner_report", partner.slug, *form))
    assert not [hidden for hidden in (api.api_key, api.secret, keys.digest(api.api_key).hex()) if hidden in text]


@pytest.mark.django_db
def test_an_unknown_partner_is_one_line() -> None:
    assert refusal("partner_report", "nobody") == "Partner 'nobody' not found."


def test_without_a_partner_it_is_a_wrong_use() -> None:
    assert run("partner_report").status == 2
