"""The back office of partners and their keys."""

import re
from datetime import timedelta

import pytest
from django.contrib.messages import get_messages
from django.test import Client
from django.utils import timezone

from backoffice.partners.api_keys import ApiKeyAdmin, IssueForm, expiry, state
from backoffice.partners.partner_admin import PartnerAdmin
from core.models import AuditEntry
from partners.authentication import keys
from partners.models import ApiKey, Partner
from tests.factories import ApiKeyFactory, PartnerFactory
from tests.support.client import PartnerClient, in_process
from tests.support.staff import client_as, filled_in, staff_acts, words

PARTNERS = "/admin/partners/partner/"
KEYS = "/admin/partners/apikey/"


@pytest.fixture
def key(partner: Partner) -> ApiKey:
    return keys.issue(partner=partner, label="production").record


@pytest.fixture
def manager(db: None) -> Client:
    return client_as("partner-manager")


def page_of(row: Partner | ApiKey) -> str:
    return f"{PARTNERS if isinstance(row, Partner) else KEYS}{row.pk}/change/"


def url(action: str, key: ApiKey) -> str:
    return f"{PARTNERS}{key.partner_id}/issue/" if action == "issue" else f"{KEYS}{key.pk}/{action}/"


def fields(action: str, key: ApiKey) -> dict[str, str]:
    """The action's form as a browser would send it, of a page that is loaded now."""
    page, row = (PartnerAdmin, key.partner) if action == "issue" else (ApiKeyAdmin, key)
    given = {"issue": {"label": "staging"}, "rotate": {"overlap_hours": "24"}, "revoke": {"confirmed": "on"}}
    return {"version": getattr(page, action).row_action.version(row)} | given[action]


def shown(page: str) -> tuple[str, str]:
    """The key and the secret on a page."""
    found = re.search(r"psi_key_[\w-]{43}", page), re.search(r"psi_secret_[\w-]{43}", page)
    assert found[0]
    assert found[1]
    return found[0][0], found[1][0]


# Partners


def test_a_partner_is_created_and_its_slug_stays(manager: Client) -> None:
    form = {"slug": "north", "name": "North Inc.", "mode": "live", "enabled": "on", "rate_limit": "60/minute"}
    manager.post(f"{PARTNERS}add/", form)
    partner = Partner.objects.get(slug="north")
    changed = filled_in(manager.get(page_of(partner))) | {"slug": "south", "name": "North Ltd.", "rate_limit": ""}
    changed.pop("enabled")
    manager.post(page_of(partner), changed)
    partner.refresh_from_db()
    assert (partner.slug, partner.name, partner.enabled, partner.rate_limit) == ("north", "North Ltd.", False, "")
    assert staff_acts() == ["partner.changed", "partner.created"]


def test_a_partner_that_is_not_valid_is_refused(manager: Client) -> None:
    sent = {"slug": "Not a slug", "name": "", "mode": "live", "enabled": "on", "rate_limit": "fast"}
    page = manager.post(f"{PARTNERS}add/", sent)
    assert page.status_code == 200
    assert set(page.context["adminform"].errors) == {"slug", "rate_limit", "name"}
    assert not Partner.objects.exists()


def test_an_older_page_does_not_undo_what_was_changed_meanwhile(manager: Client, partner: Partner) -> None:
    older = filled_in(manager.get(page_of(partner)))
    Partner.objects.filter(pk=partner.pk).update(enabled=False)
    manager.post(page_of(partner), older | {"name": "North Ltd."})
    partner.refresh_from_db()
    assert (partner.name, partner.enabled) == ("North Ltd.", False)
    assert staff_acts() == ["partner.changed"]


# Keys


def test_a_form_that_is_sent_twice_issues_one_key_that_works_and_is_shown_this_once(
    manager: Client, key: ApiKey, caplog: pytest.LogCaptureFixture
) -> None:
    page = manager.get(url("issue", key)).content.decode()
    sent = fields("issue", key)
    assert f'name="version" value="{sent["version"]}"' in page
    response = manager.post(url("issue", key), sent)
    page = response.content.decode()
    api_key, secret = shown(page)
    for name, text in (("api-key", api_key), ("secret", secret)):
        assert re.search(rf'<code id="{name}"[^>]*>{text}</code>', page)
        assert f'data-copies="{name}"' in page
    assert PartnerClient(api_key, secret, in_process).get("/v1/ping").json()["partner"] == key.partner.slug
    assert "no-store" in response.headers["Cache-Control"]
    again = manager.post(url("issue", key), sent).content.decode()
    assert "changed since the page was loaded" in again
    assert ApiKey.objects.count() == 2
    issued = keys.find(api_key)
    assert issued.label == "staging"
    kept = [again, *(manager.get(path).content.decode() for path in (page_of(issued), page_of(key.partner), KEYS))]
    kept += [str(one) for one in (*AuditEntry.objects.values(), dict(manager.session), caplog.text)]
    kept += [str(cookie) for cookie in response.cookies.values()]
    assert not [text for text in kept if secret in text or api_key in text]


def test_fields_that_are_not_valid_are_named() -> None:
    invalid = [
        {"expires_at": "2020-01-01T00:00"},
        {"expires_at": "soon"},
        {"expires_at": "9999-12-31T23:59"},
        {"label": "a" * 101},
        {"label": "\0"},
    ]
    assert [[*IssueForm(given).errors] for given in invalid] == [[*given] for given in invalid]
    assert not IssueForm({"label": "staging", "expires_at": "2090-01-15T12:30"}).errors


@pytest.mark.parametrize(("action", "given"), [("issue", {"label": "\0"}), ("rotate", {"overlap_hours": "-1"})])
def test_a_form_that_is_not_valid_does_nothing(
    action: str, given: dict[str, str], manager: Client, key: ApiKey
) -> None:
    page = manager.post(url(action, key), fields(action, key) | given)
    assert page.status_code == 200
    assert "Nothing was done." in page.content.decode()
    key.refresh_from_db()
    assert (key.revoked_at, key.expires_at, ApiKey.objects.count(), staff_acts()) == (None, None, 1, [])


def test_a_rotated_key_goes_on_for_the_overlap(manager: Client, key: ApiKey, caplog: pytest.LogCaptureFixture) -> None:
    sent = fields("rotate", key)
    response = manager.post(url("rotate", key), sent)
    secrets = shown(response.content.decode())
    successor = keys.find(secrets[0])
    key.refresh_from_db()
    assert key.expires_at is not None
    assert timedelta(hours=23) < key.expires_at - timezone.now() < timedelta(hours=25)
    assert sorted(staff_acts()) == ["apiKey.changed", "apiKey.created"]
    assert AuditEntry.objects.filter(action="apiKey.created", object=successor.prefix).exists()
    again = manager.post(url("rotate", key), sent).content.decode()
    assert "changed since the page was loaded" in again
    assert "psi_secret_" not in again
    assert ApiKey.objects.count() == 2
    kept = [*AuditEntry.objects.values(), dict(manager.session), caplog.text]
    kept += [str(cookie) for cookie in response.cookies.values()]
    assert not [text for text in secrets if text in str(kept)]


def test_a_revoked_key_is_refused_at_once_and_is_not_rotated(
    manager: Client, partner: Partner, api: PartnerClient
) -> None:
    key = keys.find(api.api_key)
    rotated = fields("rotate", key)
    response = manager.post(url("revoke", key), fields("revoke", key))
    assert [str(one) for one in get_messages(response.wsgi_request)] == [f"{key.prefix} is revoked."]
    assert api.get("/v1/ping").status == 401
    assert staff_acts() == ["apiKey.changed"]
    page = manager.get(page_of(key)).content.decode()
    assert "/revoke/" not in page
    assert "/rotate/" not in page
    assert "no longer in force" in manager.post(url("rotate", key), rotated).content.decode()
    assert ApiKey.objects.count() == 1


def test_a_key_says_how_it_stands_and_warns_where_it_ends_soon(key: ApiKey) -> None:
    now = timezone.now()
    ends = {
        "active": None,
        "soon": now + timedelta(days=13),
        "later": now + timedelta(days=15),
        "expired": now - timedelta(days=1),
        "revoked": None,
        "partner disabled": None,
    }
    rows = {}
    for name, expires_at in ends.items():
        partner = PartnerFactory.create(enabled=name != "partner disabled")
        rows[name] = ApiKeyFactory.create(partner=partner)
        revoked_at = now if name == "revoked" else None
        ApiKey.objects.filter(pk=rows[name].pk).update(expires_at=expires_at, revoked_at=revoked_at)
        rows[name].refresh_from_db()
    assert {name: words(str(state(row))).partition(" ")[0] for name, row in rows.items()} == {
        "active": "active",
        "soon": "active",
        "later": "active",
        "expired": "expired",
        "revoked": "revoked",
        "partner disabled": "partner",
    }
    assert [name for name, row in rows.items() if ">soon<" in str(expiry(row))] == ["soon"]
    auditor = client_as("auditor")
    pages = {path: auditor.get(path).content.decode() for path in (KEYS, page_of(rows["soon"]))}
    pages["partner"] = auditor.get(page_of(rows["soon"].partner)).content.decode()
    for path, page in pages.items():
        assert ">active<" in page, path
        assert page.count(">soon<") == 1, path
        # Who only reads.
        assert "/rotate/" not in page, path
        assert "/revoke/" not in page, path
        assert "/issue/" not in page, path
    assert all(text in words(pages[KEYS]) for text in ("expired", "revoked", "partner disabled"))


def test_the_list_of_partners_says_how_many_keys_each_may_use(manager: Client, key: ApiKey) -> None:
    keys.issue(partner=key.partner)
    keys.revoke(keys.issue(partner=key.partner).record)
    without = PartnerFactory.create()
    page = manager.get(PARTNERS)
    assert {row.pk: row.active_keys for row in page.context["cl"].result_list} == {key.partner_id: 2, without.pk: 0}
    assert page.content.decode().count(">none<") == 1
    # Of a key that was never used there is a dash.
    assert "<td>None</td>" not in manager.get(page_of(key.partner)).content.decode()


def test_digest_and_secret_are_on_no_page_in_no_form_and_no_filter(key: ApiKey) -> None:
    client = client_as("superuser")
    for path in (KEYS, page_of(key), page_of(key.partner)):
        page = client.get(path).content.decode()
        for text in (bytes(key.digest).hex(), key.encrypted_secret, 'name="digest"', 'name="encrypted_secret"'):
            assert text not in page
    assert client.post(page_of(key), {"encrypted_secret": "mine", "label": "mine"}).status_code == 403
    for lookup in ("encrypted_secret__startswith", "digest__gt", "partner__name__startswith"):
        assert client.get(KEYS, {lookup: "g"}).status_code == 400, lookup


def test_a_key_is_found_by_its_prefix_or_by_the_whole_of_it(partner: Partner) -> None:
    issued = keys.issue(partner=partner)
    keys.issue(partner=partner)
    client = client_as("auditor")
    for term in (issued.record.prefix, issued.api_key):
        assert list(client.get(KEYS, {"q": term}).context["cl"].result_list) == [issued.record]


def test_an_action_on_what_is_not_there_is_not_found(manager: Client, key: ApiKey) -> None:
    for pk in (key.pk + 1000, 10**40):
        for path in (f"{PARTNERS}{pk}/issue/", f"{KEYS}{pk}/rotate/", f"{KEYS}{pk}/revoke/"):
            assert manager.post(path).status_code == 404, path
