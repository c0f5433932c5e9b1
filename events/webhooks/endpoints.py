"""Webhook endpoints and their secrets (contract, section 10). A change locks the endpoint's row and can be repeated."""

import base64
import secrets
from collections.abc import Collection, Iterable
from datetime import timedelta
from uuid import UUID

import structlog
from cryptography.fernet import InvalidToken
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Least, Now
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from core import encryption
from core.database import statements
from core.database.pipeline import Query
from core.encryption import EncryptedColumn
from core.refusals import RefusedError
from events.models import DisabledReason, EventType, WebhookEndpoint, WebhookSecret
from events.webhooks.addresses import CheckedUrl
from partners.models import Partner

log = structlog.get_logger("events.webhooks.endpoints")

MAX_ENDPOINTS = 5
SECRET_PREFIX = "whsec_"  # noqa: S105 - Standard Webhooks' own, for scanners to find
SECRET_BYTES = 32
# Each signs every delivery.
MAX_SECRETS = 5
DEFAULT_OVERLAP = timedelta(hours=24)
MAX_OVERLAP = timedelta(days=7)
_CHECKED_APART = ("url", "partner")
_CHANGEABLE = ("url", "types", "description", "disabled_reason", "disabled_at", "failing_since", "failing_days")
# What an endpoint got in five days of failing may be a million rows.
SKIP_SECONDS = 60
_SKIP_DUE = """
    WITH skipped AS (
        UPDATE events_webhookdelivery SET state = 'skipped', ended_at = statement_timestamp(), leased_until = NULL
         WHERE endpoint_id = %s AND state = 'pending' AND next_attempt_at <= statement_timestamp()
           AND (leased_until IS NULL OR leased_until <= statement_timestamp())
     RETURNING id
    )
    SELECT count(*) FROM skipped
"""
_IN_FORCE = Q(expires_at=None) | Q(expires_at__gt=Now())


def endpoints_of(partner: Partner) -> QuerySet[WebhookEndpoint]:
    """The partner's endpoints that are not removed, the oldest first."""
    return partner.webhooks.filter(removed_at=None)


def find_endpoint(webhook_id: str) -> WebhookEndpoint:
    """The endpoint with this id, unless it is removed. Raises WebhookEndpoint.DoesNotExist, ValidationError."""
    return WebhookEndpoint.objects.select_related("partner").get(pk=webhook_id, removed_at=None)


def create_endpoint(
    *, partner: Partner, url: CheckedUrl, types: Iterable[str] = (), description: str = ""
) -> tuple[WebhookEndpoint, str]:
    """Create an endpoint, which gets events from now on, and its secret. Raises ValidationError, RefusedError."""
    endpoint = WebhookEndpoint(partner=partner, url=url, types=_known(types), description=description)
    endpoint.clean_fields(exclude=_CHECKED_APART)
    with transaction.atomic():
        # One of two that are added at once sees the other.
        Partner.objects.select_for_update(no_key=True).get(pk=partner.pk)
        if endpoints_of(partner).count() >= MAX_ENDPOINTS:
            raise RefusedError(
                _("A partner has at most %(limit)d webhooks. Remove one first.") % {"limit": MAX_ENDPOINTS}
            )
        endpoint.save(force_insert=True)
        return endpoint, _add_secret(endpoint)


def change_endpoint(
    endpoint: WebhookEndpoint,
    *,
    url: CheckedUrl | None = None,
    types: Iterable[str] | None = None,
    description: str | None = None,
    enabled: bool | None = None,
) -> WebhookEndpoint:
    """Change an endpoint from its next attempt on. None leaves a value as it is.

    enabled: whether it is sent the events that are placed from now on. What falls due while it is disabled is never
    sent: it is in the feed. One that is disabled already keeps its reason.
    Raises ValidationError, and WebhookEndpoint.DoesNotExist if it was removed.
    """
    with transaction.atomic():
        changed = WebhookEndpoint.objects.select_for_update(no_key=True).get(pk=endpoint.pk, removed_at=None)
        if url is not None:
            changed.url = url
        if types is not None:
            changed.types = _known(types)
        if description is not None:
            changed.description = description
        if enabled is False and changed.is_active:
            changed.disabled_reason, changed.disabled_at = DisabledReason.STAFF.value, timezone.now()
        if enabled and not changed.is_active:
            statements.fetch_within(SKIP_SECONDS, Query(_SKIP_DUE, (changed.pk,)))
            changed.disabled_reason, changed.disabled_at = "", None
            changed.failing_since, changed.failing_days = None, []
        changed.clean_fields(exclude=_CHECKED_APART)
        changed.save(update_fields=_CHANGEABLE)
    return changed


def remove(endpoint: WebhookEndpoint) -> bool:
    """Send it nothing from now on, for good; the purge deletes its rows later. Return whether it was there."""
    with transaction.atomic():
        count = WebhookEndpoint.objects.filter(pk=endpoint.pk, removed_at=None).update(removed_at=Now())
    endpoint.refresh_from_db(fields=["removed_at"])
    return bool(count)


def rotate_secret(endpoint: WebhookEndpoint, overlap: timedelta = DEFAULT_OVERLAP) -> str:
    """Create a secret; the ones in force end with the overlap, or at their own end where that is sooner.

    Uses the database's clock: an overlap of zero ends them at once. Raises ValidationError, RefusedError if
    MAX_SECRETS are in force, and WebhookEndpoint.DoesNotExist if it was removed.
    """
    if not timedelta() <= overlap <= MAX_OVERLAP:
        limit = MAX_OVERLAP // timedelta(hours=1)
        raise ValidationError(_("The overlap must be from 0 to %(limit)d hours.") % {"limit": limit})
    with transaction.atomic():
        locked = WebhookEndpoint.objects.select_for_update(no_key=True).get(pk=endpoint.pk, removed_at=None)
        locked.secrets.exclude(_IN_FORCE).delete()
        if overlap and locked.secrets.count() >= MAX_SECRETS:
            raise RefusedError(
                _("%(count)d secrets are in force. Wait until one of them ends, or rotate without an overlap.")
                % {"count": MAX_SECRETS}
            )
        # LEAST ignores nulls.
        locked.secrets.update(expires_at=Least(Now() + overlap, "expires_at"))
        return _add_secret(locked)


def secrets_of(endpoint: WebhookEndpoint) -> QuerySet[WebhookSecret]:
    """The rows of the secrets in force, newest first."""
    return WebhookSecret.objects.filter(_IN_FORCE, endpoint=endpoint.pk).order_by("-pk")


def secrets_by_endpoint(ids: Collection[UUID]) -> dict[UUID, list[str]]:
    """The secrets that sign deliveries, newest first, by the endpoint; without those that cannot be decrypted."""
    found: dict[UUID, list[str]] = {pk: [] for pk in ids}
    for row in WebhookSecret.objects.filter(_IN_FORCE, endpoint__in=ids).order_by("-pk"):
        try:
            secret = encryption.decrypt(row.encrypted_secret, purpose=encryption.WEBHOOK_SECRETS)
        except InvalidToken:
            # Its encryption key was retired, or this process does not have it yet.
            log.error("webhook secret cannot be decrypted", webhook=str(row.endpoint_id))  # noqa: TRY400 - no need of its frames
        else:
            found[row.endpoint_id].append(secret)
    return found


def _add_secret(endpoint: WebhookEndpoint) -> str:
    secret = SECRET_PREFIX + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()
    encrypted = encryption.encrypt(secret, purpose=encryption.WEBHOOK_SECRETS)
    endpoint.secrets.create(encrypted_secret=encrypted)
    return secret


def _known(types: Iterable[str]) -> list[str]:
    """The types in the order of EventType. Raises ValidationError."""
    chosen = set(types)
    if unknown := chosen.difference(EventType.values):
        text = _("Unknown type %(type)s. The types are %(known)s.")
        raise ValidationError({"types": text % {"type": min(unknown), "known": ", ".join(EventType.values)}})
    return [one for one in EventType.values if one in chosen]


def _webhook_label(secret: WebhookSecret) -> str | None:
    has_ended = secret.expires_at is not None and secret.expires_at <= timezone.now()
    return None if has_ended or secret.endpoint.removed_at else f"Secret of webhook {secret.endpoint_id}"


WEBHOOKS = EncryptedColumn(
    "webhookSecrets",
    "Webhook secrets",
    encryption.WEBHOOK_SECRETS,
    rows=lambda: WebhookSecret.objects.select_related("endpoint"),
    read=lambda secret: secret.encrypted_secret,
    write=lambda secret, text: WebhookSecret.objects.filter(pk=secret.pk).update(encrypted_secret=text),
    label=_webhook_label,
)
