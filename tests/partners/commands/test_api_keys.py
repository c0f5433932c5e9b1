"""Commands that issue, rotate, revoke and list API keys: docs/operations.md."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from core.formats.rfc_3339 import parse_timestamp
from partners.authentication import keys
from partners.authentication.signature_authentication import digest
from partners.models import ApiKey, Partner
from tests.support.client import PartnerClient, in_process
from tests.support.commands import outcome, printed, refusal, run


def status_of(issued: dict[str, Any]) -> int:
    """What a request signed with a key is answered."""
    return PartnerClient(issued["apiKey"], issued["secret"], in_process).get("/v1/ping").status


def test_an_issued_key_signs_requests(partner: Partner) -> None:
    ending = outcome("issue_api_key", partner.slug, "--expires-in-days", "30")
    left = parse_timestamp(ending["expiresAt"]) - timezone.now()
    assert timedelta(days=29, hours=23) < left <= timedelta(days=30)
    issued = outcome("issue_api_key", partner.slug, "--label", "production")
    assert issued.keys() == {"apiKey", "secret", "label", "expiresAt"}
    assert (issued["label"], issued["expiresAt"]) == ("production", None)
    assert status_of(issued) == 200


@pytest.mark.parametrize("days", ["0", "many", "99999999"])
def test_a_number_of_days_that_is_none_is_a_wrong_use(partner: Partner, days: str) -> None:
    end = run("issue_api_key", partner.slug, f"--expires-in-days={days}")
    assert (end.status, end.output) == (2, "")
    assert "whole number from 1" in end.errors
    assert not partner.api_keys.exists()


def test_the_output_for_people_says_that_the_secret_is_shown_once(partner: Partner) -> None:
    text = printed("issue_api_key", partner.slug)
    assert "psi_secret_" in text
    assert "shown this once" in text


def test_the_output_for_people_says_that_the_partner_is_disabled(partner: Partner) -> None:
    assert "disabled" not in printed("issue_api_key", partner.slug)
    outcome("set_partner", partner.slug, "--disable")
    assert "is disabled" in printed("issue_api_key", partner.slug)


def test_a_label_that_is_too_long_is_one_line(partner: Partner) -> None:
    assert refusal("issue_api_key", partner.slug, "--label", "x" * 101).startswith("label: ")
    assert not partner.api_keys.exists()


@pytest.mark.parametrize("length", [None, 16])
def test_a_revoked_key_is_refused(partner: Partner, length: int | None) -> None:
    issued = outcome("issue_api_key", partner.slug)
    assert status_of(issued) == 200
    revoked = outcome("revoke_api_key", issued["apiKey"][:length])
    assert revoked.keys() == {"prefix", "revokedAt"}
    assert issued["apiKey"].startswith(revoked["prefix"])
    assert status_of(issued) == 401


def test_revoking_a_revoked_key_changes_nothing_and_says_so(partner: Partner) -> None:
    prefix = keys.issue(partner=partner).record.prefix
    first = outcome("revoke_api_key", prefix)
    assert outcome("revoke_api_key", prefix) == first
    assert "already revoked" in printed("revoke_api_key", prefix)


@pytest.mark.django_db
@pytest.mark.parametrize("command", ["revoke_api_key", "rotate_api_key"])
@pytest.mark.parametrize("key", ["psi_key_", "psi_key_unknown_", "", "%"])
def test_an_unknown_key_is_one_line(command: str, key: str) -> None:
    assert refusal(command, key) == "API key not found."


def test_after_a_rotation_both_keys_work_until_the_overlap_ends(partner: Partner) -> None:
    old = outcome("issue_api_key", partner.slug, "--label", "production")
    new = outcome("rotate_api_key", old["apiKey"], "--overlap-hours", "2")
    assert (new["label"], new["expiresAt"]) == ("production", None)
    assert (status_of(old), status_of(new)) == (200, 200)
    ApiKey.objects.filter(digest=digest(old["apiKey"])).update(expires_at=timezone.now() - timedelta(days=1))
    assert (status_of(old), status_of(new)) == (401, 200)


def test_the_overlap_is_a_day_unless_asked_otherwise(partner: Partner) -> None:
    old = keys.issue(partner=partner).record
    outcome("rotate_api_key", old.prefix)
    old.refresh_from_db()
    assert old.expires_at is not None
    assert abs(old.expires_at - timezone.now() - timedelta(hours=24)) < timedelta(minutes=1)


@pytest.mark.parametrize("hours", ["-1", "721"])
def test_an_overlap_is_at_most_30_days(partner: Partner, hours: str) -> None:
    record = keys.issue(partner=partner).record
    end = run("rotate_api_key", record.prefix, f"--overlap-hours={hours}")
    assert (end.status, "whole number from 0 to 720" in end.errors) == (2, True)
    with pytest.raises(ValueError, match="from 0 to 720 hours"):
        keys.rotate(record, overlap=timedelta(hours=int(hours)))
    assert partner.api_keys.count() == 1


def test_a_key_that_is_not_in_force_is_not_rotated(partner: Partner) -> None:
    prefix = keys.issue(partner=partner).record.prefix
    outcome("revoke_api_key", prefix)
    assert "no longer in force" in refusal("rotate_api_key", prefix)
    assert partner.api_keys.count() == 1


def test_keys_are_listed_newest_first_with_their_state(partner: Partner) -> None:
    active = keys.issue(partner=partner, label="active").record
    expired = keys.issue(partner=partner, expires_at=timezone.now() - timedelta(days=1)).record
    revoked = keys.issue(partner=partner).record
    keys.revoke(revoked)
    listed = outcome("list_api_keys", partner.slug)["apiKeys"]
    assert [(row["prefix"], row["state"]) for row in listed] == [
        (revoked.prefix, "revoked"),
        (expired.prefix, "expired"),
        (active.prefix, "active"),
    ]


def test_the_use_of_a_key_is_listed(partner: Partner) -> None:
    issued = outcome("issue_api_key", partner.slug)
    (unused,) = outcome("list_api_keys", partner.slug)["apiKeys"]
    status_of(issued)
    (used,) = outcome("list_api_keys", partner.slug)["apiKeys"]
    assert unused.keys() == {"prefix", "label", "state", "createdAt", "lastUsedAt", "expiresAt", "revokedAt"}
    assert unused["lastUsedAt"] is None
    assert used["lastUsedAt"].endswith("Z")


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_no_list_shows_a_key_or_a_secret_again(partner: Partner, form: tuple[str, ...]) -> None:
    issued = keys.issue(partner=partner)
    text = printed("list_api_keys", partner.slug, *form) + printed("list_partners", *form)
    assert issued.record.prefix in text
    hidden = (issued.api_key, issued.secret, issued.record.encrypted_secret, digest(issued.api_key).hex())
    assert not [value for value in hidden if value in text]
