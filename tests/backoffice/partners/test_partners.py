"""The back office of partners and their keys."""

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from core.models import AuditEntry
from partners.authentication import keys
from partners.models import ApiKey, Partner
from tests.support.client import PartnerClient, in_process
from tests.support.staff import client_as, filled_in, staff_acts

PARTNERS = "/admin/partners/partner/"
KEYS = "/admin/partners/apikey/"
MANAGERS = {"partner-manager", "superuser"}


@pytest.fixture
def key(partner: Partner) -> ApiKey:
    return keys.issue(partner=partner, label="production").record


def page_of(row: Partner | ApiKey) -> str:
    return f"{PARTNERS if isinstance(row, Partner) else KEYS}{row.pk}/change/"


def url(action: str, key: ApiKey) -> str:
    return f"{PARTNERS}{key.partner_id}/issue/" if action == "issue" else f"{KEYS}{key.pk}/{action}/"


def fields(client: Client, action: str, key: ApiKey) -> dict[str, str]:
    """The action's form as a browser would send it."""
    version = re.search(r'name="version" value="([^"]*)"', client.get(url(action, key)).content.decode())
    assert version
    given = {"issue": {"label": "staging"}, "rotate": {"overlap_hours": "24"}, "revoke": {"confirmed": "on"}}
    return {"version": version[1]} | given[action]


def shown(page: str) -> tuple[str, str]:
    """The key and the secret on a page."""
    found = re.search(r"psi_key_[\w-]{43}", page), re.search(r"psi_secret_[\w-]{43}", page)
    assert found[0]
    assert found[1]
    return found[0][0], found[1][0]


# Who may what


def test_who_only_reads_is_offered_no_action(key: ApiKey) -> None:
    for page in (page_of(key), page_of(key.partner)):
        text = client_as("auditor").get(page).content.decode()
        assert not [action for action in ("issue", "rotate", "revoke") if url(action, key) in text]


@pytest.mark.parametrize("action", ["issue", "rotate", "revoke"])
def test_an_action_on_what_is_not_there_is_not_found(action: str, key: ApiKey) -> None:
    for pk in (key.pk + 1000, 10**40):
        path = f"{PARTNERS}{pk}/issue/" if action == "issue" else f"{KEYS}{pk}/{action}/"
        assert client_as("superuser").post(path).status_code == 404


# Partners


def test_a_partner_is_created_and_its_slug_stays(db: None) -> None:
    client = client_as("partner-manager")
    form = {"slug": "north", "name": "North Inc.", "mode": "live", "enabled": "on", "rate_limit": "60/minute"}
    client.post(f"{PARTNERS}add/", form)
    partner = Partner.objects.get(slug="north")
    changed = filled_in(client.get(page_of(partner))) | {"slug": "south", "name": "North Ltd.", "rate_limit": ""}
    changed.pop("enabled")
    client.post(page_of(partner), changed)
    partner.refresh_from_db()
    assert (partner.slug, partner.name, partner.enabled, partner.rate_limit) == ("north", "North Ltd.", False, "")
    assert staff_acts() == ["partner.changed", "partner.created"]


@pytest.mark.parametrize("given", [{"slug": "Not a slug"}, {"rate_limit": "fast"}, {"name": ""}])
def test_a_partner_that_is_not_valid_is_refused(given: dict[str, str], db: None) -> None:
    sent = {"slug": "north", "name": "North Inc.", "mode": "live", "enabled": "on", "rate_limit": ""} | given
    page = client_as("partner-manager").post(f"{PARTNERS}add/", sent)
    assert page.status_code == 200
    assert page.context["errors"]
    assert not Partner.objects.exists()


def test_an_older_page_does_not_undo_what_was_changed_meanwhile(partner: Partner) -> None:
    client = client_as("partner-manager")
    older = filled_in(client.get(page_of(partner)))
    Partner.objects.filter(pk=partner.pk).update(enabled=False)
    client.post(page_of(partner), older | {"name": "North Ltd."})
    partner.refresh_from_db()
    assert (partner.name, partner.enabled) == ("North Ltd.", False)
    assert staff_acts() == ["partner.changed"]


# Keys


def test_an_issued_key_works_and_is_shown_this_once(key: ApiKey) -> None:
    client = client_as("partner-manager")
    response = client.post(url("issue", key), fields(client, "issue", key))
    api_key, secret = shown(response.content.decode())
    assert PartnerClient(api_key, secret, in_process).get("/v1/ping").json()["partner"] == key.partner.slug
    assert "no-store" in response.headers["Cache-Control"]
    issued = keys.find(api_key)
    assert issued.label == "staging"
    for path in (page_of(issued), page_of(key.partner), KEYS, f"{PARTNERS}{key.partner_id}/history/", "/admin/"):
        page = client.get(path).content.decode()
        assert secret not in page
        assert api_key not in page


def test_a_secret_is_kept_in_no_log_message_or_session(key: ApiKey, caplog: pytest.LogCaptureFixture) -> None:
    client = client_as("partner-manager")
    for action in ("issue", "rotate"):
        response = client.post(url(action, key), fields(client, action, key))
        kept = [*AuditEntry.objects.values(), dict(client.session), caplog.text]
        kept += [str(cookie) for cookie in response.cookies.values()]
        for text in shown(response.content.decode()):
            assert text not in str(kept)


@pytest.mark.parametrize("action", ["issue", "rotate"])
def test_a_form_sent_twice_makes_one_key(action: str, key: ApiKey) -> None:
    client = client_as("partner-manager")
    sent = fields(client, action, key)
    client.post(url(action, key), sent)
    again = client.post(url(action, key), sent).content.decode()
    assert "changed since the page was loaded" in again
    assert "psi_secret_" not in again
    assert ApiKey.objects.count() == 2


@pytest.mark.parametrize(
    ("action", "given"),
    [
        ("issue", {"expires_at": "2020-01-01T00:00"}),
        ("issue", {"expires_at": "soon"}),
        ("issue", {"expires_at": "9999-12-31T23:59"}),
        ("issue", {"label": "a" * 101}),
        ("issue", {"label": "\0"}),
        ("rotate", {"overlap_hours": ""}),
        ("rotate", {"overlap_hours": "-1"}),
        ("rotate", {"overlap_hours": "169"}),
        ("rotate", {"overlap_hours": "9" * 40}),
        ("rotate", {"overlap_hours": "nan"}),
    ],
)
def test_a_form_that_is_not_valid_does_nothing(action: str, given: dict[str, str], key: ApiKey) -> None:
    client = client_as("partner-manager")
    page = client.post(url(action, key), fields(client, action, key) | given)
    assert page.status_code == 200
    assert "Nothing was done." in page.content.decode()
    key.refresh_from_db()
    assert (key.revoked_at, key.expires_at, ApiKey.objects.count(), staff_acts()) == (None, None, 1, [])


def test_a_rotated_key_goes_on_for_the_overlap(key: ApiKey) -> None:
    client = client_as("partner-manager")
    response = client.post(url("rotate", key), fields(client, "rotate", key))
    successor = keys.find(shown(response.content.decode())[0])
    key.refresh_from_db()
    assert key.expires_at is not None
    assert timedelta(hours=23) < key.expires_at - timezone.now() < timedelta(hours=25)
    assert sorted(staff_acts()) == ["apiKey.changed", "apiKey.created"]
    assert AuditEntry.objects.filter(action="apiKey.created", object=successor.prefix).exists()


def test_a_revoked_key_is_refused_at_once(partner: Partner, api: PartnerClient) -> None:
    key = keys.find(api.api_key)
    client = client_as("partner-manager")
    assert "is revoked." in client.post(url("revoke", key), fields(client, "revoke", key), follow=True).content.decode()
    assert api.get("/v1/ping").status == 401
    assert staff_acts() == ["apiKey.changed"]
    page = client.get(page_of(key)).content.decode()
    assert "/revoke/" not in page
    assert "/rotate/" not in page


def test_a_revoked_key_is_not_rotated(key: ApiKey) -> None:
    client = client_as("partner-manager")
    sent = fields(client, "rotate", key)
    keys.revoke(key)
    assert "no longer in force" in client.post(url("rotate", key), sent).content.decode()
    assert ApiKey.objects.count() == 1


@pytest.mark.parametrize("state", ["active", "expired", "revoked", "partner disabled"])
def test_a_key_says_how_it_stands(state: str, key: ApiKey) -> None:
    ApiKey.objects.filter(pk=key.pk).update(
        expires_at=timezone.now() if state == "expired" else None,
        revoked_at=timezone.now() if state == "revoked" else None,
    )
    Partner.objects.filter(pk=key.partner_id).update(enabled=state != "partner disabled")
    client = client_as("auditor")
    for page in (KEYS, page_of(key), page_of(key.partner)):
        assert state in client.get(page).content.decode()


@pytest.mark.parametrize(("days", "warnings"), [(13, 1), (15, 0), (-1, 0)])
def test_an_end_that_comes_soon_is_warned_of(days: int, warnings: int, key: ApiKey) -> None:
    ApiKey.objects.filter(pk=key.pk).update(expires_at=timezone.now() + timedelta(days=days))
    client = client_as("partner-manager")
    for path in (KEYS, page_of(key), page_of(key.partner)):
        assert client.get(path).content.decode().count(">soon<") == warnings


def test_the_list_of_partners_says_how_many_keys_each_may_use(key: ApiKey) -> None:
    keys.issue(partner=key.partner)
    keys.revoke(keys.issue(partner=key.partner).record)
    [row] = client_as("partner-manager").get(PARTNERS).context["cl"].result_list
    assert row.active_keys == 2
    ApiKey.objects.filter(revoked_at=None).update(revoked_at=timezone.now())
    assert ">none<" in client_as("partner-manager").get(PARTNERS).content.decode()


def test_key_and_secret_have_a_button_that_copies_each(key: ApiKey) -> None:
    client = client_as("partner-manager")
    page = client.post(url("issue", key), fields(client, "issue", key)).content.decode()
    for name, shape in (("api-key", r"psi_key_[\w-]{43}"), ("secret", r"psi_secret_[\w-]{43}")):
        assert re.search(rf'<code id="{name}"[^>]*>{shape}</code>', page)
        assert f'data-copies="{name}"' in page


def test_digest_and_secret_are_on_no_page_and_in_no_form(key: ApiKey) -> None:
    client = client_as("superuser")
    for path in (KEYS, page_of(key), page_of(key.partner)):
        page = client.get(path).content.decode()
        for text in (bytes(key.digest).hex(), key.encrypted_secret, 'name="digest"', 'name="encrypted_secret"'):
            assert text not in page
    assert client.post(page_of(key), {"encrypted_secret": "mine", "label": "mine"}).status_code == 403


@pytest.mark.parametrize("lookup", ["encrypted_secret__startswith", "digest__gt", "partner__name__startswith"])
def test_a_secret_cannot_be_guessed_through_filters(lookup: str, key: ApiKey) -> None:
    assert client_as("superuser").get(KEYS, {lookup: "g"}).status_code == 400


def test_a_key_is_found_by_its_prefix_or_by_the_whole_of_it(partner: Partner) -> None:
    issued = keys.issue(partner=partner)
    keys.issue(partner=partner)
    client = client_as("auditor")
    for term in (issued.record.prefix, issued.api_key):
        assert list(client.get(KEYS, {"q": term}).context["cl"].result_list) == [issued.record]
