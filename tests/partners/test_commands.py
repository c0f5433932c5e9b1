"""Commands about partners and their API keys: docs/operations.md."""

from datetime import timedelta
from itertools import product
from typing import Any

import pytest
from django.db import OperationalError
from django.utils import timezone

from core.formats import parse_timestamp
from partners.authentication import keys
from partners.authentication.signature_authentication import digest
from partners.management.commands import list_partners
from partners.models import ApiKey, Partner
from tests.support.client import PartnerClient, in_process
from tests.support.commands import outcome, printed, refusal, run


@pytest.mark.django_db
def test_a_partner_is_created() -> None:
    created = outcome("create_partner", "acme", "--name", "Acme Inc.")
    assert created == {"slug": "acme", "name": "Acme Inc.", "mode": "live"}
    assert Partner.objects.get(slug="acme").enabled


def test_a_slug_that_is_taken_is_one_line_naming_the_field(partner: Partner) -> None:
    line = refusal("create_partner", partner.slug, "--name", "Another")
    assert line == "slug: Partner with this Slug already exists."


@pytest.mark.django_db
def test_all_fields_that_are_wrong_are_named_in_one_line() -> None:
    line = refusal("create_partner", "No Slug", "--name", "", "--rate-limit", "fast")
    assert all(f"{field}: " in line for field in ("slug", "name", "rate_limit"))


def test_a_disabled_partner_is_refused_and_an_enabled_one_served_again(partner: Partner, api: PartnerClient) -> None:
    assert outcome("set_partner", partner.slug, "--disable")["enabled"] is False
    assert api.get("/v1/ping").status == 401
    assert outcome("set_partner", partner.slug, "--enable")["enabled"] is True
    assert api.get("/v1/ping").status == 200


def test_a_rate_limit_is_set_and_given_back_to_the_service(partner: Partner) -> None:
    limited = {"slug": partner.slug, "name": partner.name, "enabled": True, "rateLimit": "7/hour"}
    assert outcome("set_partner", partner.slug, "--rate-limit", "7/hour") == limited
    # What is not named does not change.
    assert outcome("set_partner", partner.slug, "--disable")["rateLimit"] == "7/hour"
    assert outcome("set_partner", partner.slug, "--rate-limit", "8/hour")["enabled"] is False
    assert outcome("set_partner", partner.slug, "--rate-limit", "default")["rateLimit"] == "1000000/minute"
    assert Partner.objects.get(pk=partner.pk).rate_limit == ""


def test_a_rate_limit_of_another_form_changes_nothing(partner: Partner) -> None:
    for rate in ("fast", "0/minute", "600", "600/week", ""):
        assert "600/minute" in refusal("set_partner", partner.slug, "--disable", "--rate-limit", rate)
    unchanged = Partner.objects.get(pk=partner.pk)
    assert (unchanged.enabled, unchanged.rate_limit) == (True, "")


def test_nothing_to_change_and_a_contradiction_are_errors(partner: Partner) -> None:
    assert refusal("set_partner", partner.slug).startswith("Nothing to change")
    assert run("set_partner", partner.slug, "--enable", "--disable").status == 2


@pytest.mark.django_db
def test_an_unknown_partner_is_one_line() -> None:
    for command in (("set_partner", "nobody", "--enable"), ("issue_api_key", "nobody"), ("list_api_keys", "nobody")):
        assert refusal(*command) == "Partner 'nobody' not found."


@pytest.mark.django_db
@pytest.mark.parametrize("slug", ["\udcff", "a\0b"])
def test_bytes_that_are_no_text_are_one_line(slug: str) -> None:
    assert refusal("set_partner", slug, "--enable") == "partner is not text in UTF-8."


def test_partners_are_listed_with_their_keys_in_force(partner: Partner) -> None:
    keys.issue(partner=partner)
    keys.revoke(keys.issue(partner=partner).record)
    outcome("set_partner", partner.slug, "--disable", "--rate-limit", "5/day")
    (row,) = [row for row in outcome("list_partners")["partners"] if row["slug"] == partner.slug]
    assert row.pop("createdAt").endswith("Z")
    values = {"name": partner.name, "mode": "live", "enabled": False, "rateLimit": "5/day", "keys": 1}
    assert row == {"slug": partner.slug, **values}
    # For people in aligned columns.
    heading, *lines = printed("list_partners").splitlines()
    (line,) = [line for line in lines if line.startswith(partner.slug)]
    assert line[heading.index("RATE LIMIT") :].startswith("5/day")


def test_a_database_that_does_not_answer_is_one_line(partner: Partner, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OperationalError("connection refused\nIs the server running?")

    monkeypatch.setattr("partners.management.Partner.objects.get", fail)
    assert refusal("set_partner", partner.slug, "--enable").startswith("The database cannot be reached")


def test_a_database_that_was_not_migrated_is_one_line(partner: Partner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Partner._meta, "db_table", "not_migrated")
    assert "run `migrate` first" in refusal("list_partners")


def test_a_defect_is_not_passed_off_as_a_wrong_argument(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise KeyError("a defect")

    monkeypatch.setattr(list_partners.Command, "perform", fail)
    with pytest.raises(KeyError):
        printed("list_partners")


@pytest.mark.django_db
def test_a_name_or_label_has_no_control_characters() -> None:
    assert refusal("create_partner", "acme", "--name", "Acme\x1b[31m") == "name: Must not contain control characters."
    outcome("create_partner", "acme", "--name", "Acmé")
    assert refusal("issue_api_key", "acme", "--label", "a\nb") == "label: Must not contain control characters."
    assert not Partner.objects.get().api_keys.exists()


# API keys


def status_of(issued: dict[str, Any]) -> int:
    """What a request signed with a key is answered."""
    return PartnerClient(issued["apiKey"], issued["secret"], in_process).get("/v1/ping").status


def test_an_issued_key_signs_requests(partner: Partner) -> None:
    ending = outcome("issue_api_key", partner.slug, "--expires-in-days", "30")
    left = parse_timestamp(ending["expiresAt"]) - timezone.now()
    assert timedelta(days=29, hours=23) < left <= timedelta(days=30)
    assert outcome("issue_api_key", partner.slug, "--expires-in-days", "36500")["expiresAt"]
    issued = outcome("issue_api_key", partner.slug, "--label", "production")
    assert issued.keys() == {"apiKey", "secret", "label", "expiresAt"}
    assert (issued["label"], issued["expiresAt"]) == ("production", None)
    assert status_of(issued) == 200


@pytest.mark.parametrize("days", ["0", "many", "36501"])
def test_a_number_of_days_that_is_none_is_a_wrong_use(partner: Partner, days: str) -> None:
    end = run("issue_api_key", partner.slug, f"--expires-in-days={days}")
    assert (end.status, end.output) == (2, "")
    assert "whole number from 1" in end.errors
    assert not partner.api_keys.exists()


def test_a_new_key_in_a_log_or_traceback_has_neither_value_nor_secret(partner: Partner) -> None:
    issued = keys.issue(partner=partner)
    assert not any(one in repr(issued) for one in (issued.api_key, issued.secret))


def test_a_label_that_is_too_long_is_one_line(partner: Partner) -> None:
    assert refusal("issue_api_key", partner.slug, "--label", "x" * 101).startswith("label: ")
    assert not partner.api_keys.exists()


def test_people_are_told_that_a_secret_is_shown_once_and_of_a_disabled_partner(partner: Partner) -> None:
    text = printed("issue_api_key", partner.slug)
    assert "psi_secret_" in text
    assert "shown this once" in text
    assert "disabled" not in text
    outcome("set_partner", partner.slug, "--disable")
    assert "is disabled" in printed("issue_api_key", partner.slug)


@pytest.mark.parametrize("length", [None, 16])
def test_a_revoked_key_is_refused(partner: Partner, length: int | None) -> None:
    issued = outcome("issue_api_key", partner.slug)
    assert status_of(issued) == 200
    revoked = outcome("revoke_api_key", issued["apiKey"][:length])
    assert revoked.keys() == {"prefix", "revokedAt"}
    assert issued["apiKey"].startswith(revoked["prefix"])
    assert status_of(issued) == 401
    # Once more it changes nothing, and says so.
    assert outcome("revoke_api_key", revoked["prefix"]) == revoked
    assert "already revoked" in printed("revoke_api_key", revoked["prefix"])


@pytest.mark.django_db
def test_an_unknown_key_is_one_line() -> None:
    for command, key in product(("revoke_api_key", "rotate_api_key"), ("psi_key_", "psi_key_unknown_", "", "%")):
        assert refusal(command, key) == "API key not found.", (command, key)


@pytest.mark.parametrize(("options", "hours"), [((), 24), (("--overlap-hours", "2"), 2)])
def test_after_a_rotation_both_keys_work_until_the_overlap_ends(
    partner: Partner, options: tuple[str, ...], hours: int
) -> None:
    old = outcome("issue_api_key", partner.slug, "--label", "production")
    new = outcome("rotate_api_key", old["apiKey"], *options)
    assert (new["label"], new["expiresAt"]) == ("production", None)
    assert (status_of(old), status_of(new)) == (200, 200)
    record = keys.find(old["apiKey"])
    assert record.expires_at
    assert abs(record.expires_at - timezone.now() - timedelta(hours=hours)) < timedelta(minutes=1)
    ApiKey.objects.filter(pk=record.pk).update(expires_at=timezone.now() - timedelta(days=1))
    assert (status_of(old), status_of(new)) == (401, 200)


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
