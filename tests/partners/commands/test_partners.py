"""Commands that create, change and list partners: docs/operations.md."""

import pytest
from django.db import OperationalError

from partners.authentication import keys
from partners.management.commands import list_partners
from partners.models import Partner
from tests.support.client import PartnerClient
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


def test_a_rate_limit_holds_from_the_next_request_on(partner: Partner, api: PartnerClient) -> None:
    assert outcome("set_partner", partner.slug, "--rate-limit", "7/hour") == {
        "slug": partner.slug,
        "name": partner.name,
        "enabled": True,
        "rateLimit": "7/hour",
    }
    assert api.get("/v1/ping").header("RateLimit-Policy") == '"default";q=7;w=3600'


def test_default_gives_the_rate_limit_back_to_the_service(partner: Partner) -> None:
    outcome("set_partner", partner.slug, "--rate-limit", "7/hour")
    assert outcome("set_partner", partner.slug, "--rate-limit", "default")["rateLimit"] == "1000000/minute"
    assert Partner.objects.get(pk=partner.pk).rate_limit == ""


def test_omitted_options_change_nothing(partner: Partner) -> None:
    outcome("set_partner", partner.slug, "--rate-limit", "7/hour")
    assert outcome("set_partner", partner.slug, "--disable")["rateLimit"] == "7/hour"
    assert outcome("set_partner", partner.slug, "--rate-limit", "8/hour")["enabled"] is False


@pytest.mark.parametrize("rate", ["fast", "0/minute", "600", "600/week", ""])
def test_a_rate_limit_of_another_form_changes_nothing(partner: Partner, rate: str) -> None:
    assert "600/minute" in refusal("set_partner", partner.slug, "--disable", "--rate-limit", rate)
    unchanged = Partner.objects.get(pk=partner.pk)
    assert (unchanged.enabled, unchanged.rate_limit) == (True, "")


def test_nothing_to_change_is_an_error(partner: Partner) -> None:
    assert refusal("set_partner", partner.slug).startswith("Nothing to change")


def test_enabling_and_disabling_at_once_is_a_wrong_use(partner: Partner) -> None:
    assert run("set_partner", partner.slug, "--enable", "--disable").status == 2


@pytest.mark.django_db
@pytest.mark.parametrize(
    "command", [("set_partner", "nobody", "--enable"), ("issue_api_key", "nobody"), ("list_api_keys", "nobody")]
)
def test_an_unknown_partner_is_one_line(command: tuple[str, ...]) -> None:
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
    assert row == {
        "slug": partner.slug,
        "name": partner.name,
        "mode": "live",
        "enabled": False,
        "rateLimit": "5/day",
        "keys": 1,
    }


def test_partners_are_listed_in_aligned_columns(partner: Partner) -> None:
    heading, *rows = printed("list_partners").splitlines()
    (row,) = [row for row in rows if row.startswith(partner.slug)]
    assert row[heading.index("RATE LIMIT") :].startswith("1000000/minute")


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
