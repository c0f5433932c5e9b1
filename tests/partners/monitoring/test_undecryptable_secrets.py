"""An API secret that no present key decrypts is the service's fault, not the partner's: docs/operations.md."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db.models.functions import Now
from django.utils import timezone
from prometheus_client import REGISTRY
from pytest_django.fixtures import Settings

from partners.api.errors import UnauthorizedError
from partners.models import ApiKey, Partner
from tests import factories
from tests.support.client import PartnerClient, in_process
from tests.support.responses import assert_error
from tests.support.watched import Watched, wait_until, watched

LOST = "the secret of no key in force can be decrypted"
OTHER_KEY = "tests-only-another-0123456789-abcdefghijklm"


@pytest.fixture
def lost(api: PartnerClient, partner: Partner) -> PartnerClient:
    """A client whose secret cannot be decrypted."""
    partner.api_keys.update(encrypted_secret="of a retired key", last_used_at=Now())
    return api


def counted() -> float:
    return REGISTRY.get_sample_value("psi_undecryptable_secrets_total") or 0.0


def test_a_key_in_force_is_answered_with_unavailable_and_one_line_of_the_log(
    lost: PartnerClient, partner: Partner, caplog: pytest.LogCaptureFixture
) -> None:
    before = counted()
    response = lost.get("/v1/ping")
    assert_error(response, 503)
    assert counted() == before + 1
    assert sum("cannot be decrypted" in record.getMessage() for record in caplog.records) == 1
    assert "unauthorized" not in caplog.text


@pytest.mark.parametrize(
    "change",
    [
        {"revoked_at": timezone.now()},
        {"expires_at": timezone.now() - timedelta(days=1)},
        {"partner": False},
    ],
    ids=["revoked", "expired", "partner disabled"],
)
def test_a_key_that_is_not_in_force_is_refused_like_any_other(
    lost: PartnerClient, partner: Partner, change: dict[str, Any]
) -> None:
    if "partner" in change:
        Partner.objects.filter(pk=partner.pk).update(enabled=False)
    else:
        ApiKey.objects.filter(partner=partner).update(**change)
    response = lost.get("/v1/ping")
    assert (response.status, response.json()["message"]) == (401, UnauthorizedError.default_detail)


def test_a_key_is_good_again_once_its_encryption_key_is_back(partner: Partner, settings: Settings) -> None:
    before = settings.SECRETS_ENCRYPTION_KEYS
    settings.SECRETS_ENCRYPTION_KEYS = [OTHER_KEY]
    api = factories.client_of(partner, in_process)
    settings.SECRETS_ENCRYPTION_KEYS = before
    assert api.get("/v1/ping").status == 503
    settings.SECRETS_ENCRYPTION_KEYS = [*before, OTHER_KEY]
    assert api.get("/v1/ping").status == 200


def test_readiness_warns_of_keys_in_force_alone_and_fails_where_all_are_lost(
    committed_partner: Partner, tmp_path: Path
) -> None:
    for _ in range(3):
        factories.client_of(committed_partner, in_process)
    lost = committed_partner.api_keys.order_by("pk")[:2]
    committed_partner.api_keys.filter(pk__in=[key.pk for key in lost]).update(encrypted_secret="of a retired key")
    committed_partner.api_keys.filter(pk=lost[0].pk).update(revoked_at=Now())
    warnings = {"apiKeys": "keys in force whose secret cannot be decrypted: 1"}

    def is_warned(service: Watched) -> bool:
        response = service.monitored("/readyz")
        body = response.json()
        return (response.status, body["status"], body.get("warnings")) == (200, "ok", warnings)

    with watched(tmp_path / "log") as service:
        wait_until(lambda: is_warned(service))
        committed_partner.api_keys.update(encrypted_secret="of a retired key")
        # The last result counts for a minute.
    with watched(tmp_path / "another log") as service:
        wait_until(lambda: service.health()[1].get("apiKeys") == LOST)
        assert service.monitored("/readyz").status == 503
    # Other tests are not to be warned of it.
    committed_partner.api_keys.filter(revoked_at=None).update(revoked_at=Now())
