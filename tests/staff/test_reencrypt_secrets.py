"""`manage.py reencrypt_secrets`: after it the older encryption keys can be retired, and everything still works."""

from collections.abc import Iterator

import pytest
from allauth.mfa.models import Authenticator
from pytest_django import Settings

from core.database import serving_role
from events.webhooks import endpoints
from partners.authentication import keys, signature_authentication
from partners.models import ApiKey, Partner
from staff.models import Staff
from tests import factories
from tests.staff.login.test_login import enrolled, inside, where_to
from tests.support.client import in_process
from tests.support.commands import outcome, printed, run
from tests.support.events import secrets_in_force
from tests.support.staff import totp_code

pytestmark = pytest.mark.django_db(databases=[serving_role.SERVING, serving_role.OWNER])

OLD = "the-older-0123456789-abcdefghijklmnopqr"
NEW = "the-newer-9876543210-abcdefghijklmnopqr"


@pytest.fixture(autouse=True)
def under_the_old_key(settings: Settings, db: None) -> Iterator[None]:
    """Nothing is in the tables but what a test puts there, under the old key."""
    settings.SECRETS_ENCRYPTION_KEYS = [OLD]
    settings.STAFF_MFA_REQUIRED = True
    signature_authentication._secret_of_no_key.cache_clear()
    assert not ApiKey.objects.exists()
    yield
    signature_authentication._decrypt.cache_clear()
    signature_authentication._secret_of_no_key.cache_clear()


def use(settings: Settings, *encryption_keys: str) -> None:
    """As a process that was started with these."""
    settings.SECRETS_ENCRYPTION_KEYS = list(encryption_keys)
    signature_authentication._decrypt.cache_clear()


def counts(renewed: int = 0, current: int = 0, *unreadable: str) -> dict[str, object]:
    return {"renewed": renewed, "current": current, "unreadable": list(unreadable)}


def stored(prefix: str) -> str:
    return ApiKey.objects.get(prefix=prefix).encrypted_secret


def accepted(staff: Staff, code: str) -> bool:
    """Whether the code lets in, as one of the app or as a recovery code."""
    factors = [one.wrap() for one in Authenticator.objects.filter(user=staff)]
    return any(factor.validate_code(code) for factor in factors)


def test_with_the_old_key_retired_partners_still_sign_and_staff_still_log_in(
    settings: Settings, partner: Partner
) -> None:
    api, staff = factories.client_of(partner, in_process), enrolled()
    recovery = Authenticator.objects.get(user=staff, type="recovery_codes").wrap().get_unused_codes()
    webhook = factories.WebhookEndpointFactory.create(partner=partner)
    endpoints.rotate_secret(webhook)
    secrets = secrets_in_force(webhook)
    use(settings, NEW, OLD)
    assert outcome("reencrypt_secrets") == {
        "dryRun": False,
        "apiKeys": counts(1),
        "webhookSecrets": counts(2),
        "secondFactors": counts(2),
        "fileEntries": counts(),
    }
    use(settings, NEW)
    assert api.get("/v1/ping").status == 200
    assert secrets_in_force(webhook) == secrets
    assert accepted(staff, totp_code())
    assert accepted(staff, recovery[0])


def test_without_it_they_do_not(settings: Settings, partner: Partner) -> None:
    api = factories.client_of(partner, in_process)
    use(settings, NEW)
    assert api.get("/v1/ping").status == 503


def test_texts_under_the_newest_key_are_unchanged(settings: Settings, partner: Partner) -> None:
    old = keys.issue(partner=partner).record
    use(settings, NEW, OLD)
    new = keys.issue(partner=partner).record
    before = stored(new.prefix)
    assert outcome("reencrypt_secrets")["apiKeys"] == counts(1, 1)
    assert stored(new.prefix) == before
    assert outcome("reencrypt_secrets")["apiKeys"] == counts(0, 2)
    assert stored(old.prefix) != old.encrypted_secret


def test_a_dry_run_counts_and_changes_nothing(settings: Settings, partner: Partner) -> None:
    record = keys.issue(partner=partner).record
    use(settings, NEW, OLD)
    assert outcome("reencrypt_secrets", "--dry-run") == {
        "dryRun": True,
        "apiKeys": counts(1),
        "webhookSecrets": counts(),
        "secondFactors": counts(),
        "fileEntries": counts(),
    }
    assert stored(record.prefix) == record.encrypted_secret
    assert "API keys: 1 to re-encrypt, 0 already" in printed("reencrypt_secrets", "--dry-run")


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_batches_of_any_size_reach_every_row(settings: Settings, partner: Partner, size: int) -> None:
    for _ in range(4):
        keys.issue(partner=partner)
    use(settings, NEW, OLD)
    assert outcome("reencrypt_secrets", "--batch-size", str(size))["apiKeys"] == counts(4)


def test_undecryptable_secrets_are_named_and_the_rest_is_reencrypted(settings: Settings, partner: Partner) -> None:
    settings.SECRETS_ENCRYPTION_KEYS = ["lost-long-ago-0123456789-abcdefghijklm"]
    lost, staff = keys.issue(partner=partner), enrolled()
    Authenticator.objects.filter(user=staff, type="recovery_codes").delete()
    settings.SECRETS_ENCRYPTION_KEYS = [OLD]
    keys.issue(partner=partner)
    use(settings, NEW, OLD)
    end = run("reencrypt_secrets", "--json")
    assert end.status == 1
    assert f'"apiKeys": {{"renewed": 1, "current": 0, "unreadable": ["{lost.record.prefix}"]}}' in end.output
    assert end.errors.splitlines() == [
        f"{lost.record.prefix}: under no present key.",
        f"TOTP Authenticator of {staff.username}: under no present key.",
    ]
    assert lost.record.encrypted_secret not in end.output + end.errors
    # The remedies.
    outcome("revoke_api_key", lost.record.prefix)
    outcome("reset_staff_mfa", staff.username, "--reason", "The encryption key is lost.")
    assert run("reencrypt_secrets").status == 0


def test_an_undecryptable_webhook_secret_is_named_while_it_signs(settings: Settings) -> None:
    webhook = factories.WebhookEndpointFactory.create()
    use(settings, NEW)
    end = run("reencrypt_secrets")
    assert (end.status, end.errors) == (1, f"Secret of webhook {webhook.pk}: under no present key.\n")
    # The remedy.
    outcome("rotate_webhook_secret", str(webhook.pk), "--overlap-hours", "0")
    assert run("reencrypt_secrets").status == 0
    assert len(secrets_in_force(webhook)) == 1


def test_it_says_when_the_older_keys_can_be_retired(settings: Settings, partner: Partner) -> None:
    keys.issue(partner=partner)
    use(settings, NEW, OLD)
    assert "can be retired" not in printed("reencrypt_secrets")
    assert "can be retired" in printed("reencrypt_secrets")


def test_a_recovery_code_that_was_used_stays_used(settings: Settings) -> None:
    staff = enrolled()
    recovery = Authenticator.objects.get(user=staff, type="recovery_codes").wrap().get_unused_codes()
    assert accepted(staff, recovery[0])
    use(settings, NEW, OLD)
    outcome("reencrypt_secrets")
    assert not accepted(staff, recovery[0])
    assert accepted(staff, recovery[1])


def test_a_session_begun_under_a_secret_key_goes_on_while_that_is_a_fallback(settings: Settings) -> None:
    staff, older = enrolled(), settings.SECRET_KEY
    client, forgotten = inside(staff), inside(staff)
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "a-newer-0123456789-abcdefghijklmnopqrstu", [older]
    assert where_to(client) == ""
    # It is signed with the new key now, and does not need the fallback.
    settings.SECRET_KEY_FALLBACKS = []
    assert where_to(client) == ""
    assert where_to(forgotten) == "/admin/login/"
