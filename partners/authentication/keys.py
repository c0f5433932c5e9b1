"""API keys and their secrets. Stored are a key's SHA-256 and prefix, and its secret encrypted; both are shown once."""

import re
import secrets
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models.functions import Least, Now
from django.utils.translation import gettext as _

from core import encryption
from core.encryption import EncryptedColumn
from core.refusals import RefusedError
from partners.authentication.signature_authentication import digest, visible_prefix
from partners.models import KEY_PREFIXES, SECRET_PREFIXES, ApiKey, Mode, Partner, in_force

ENTROPY_BYTES = 32
# How long an old key may stay in force beside its successor.
MAX_OVERLAP = timedelta(days=30)
# 100 years. PostgreSQL knows times after the year 9999, which Python cannot read.
MAX_DAYS = 36_500
# A partner has at most so many in force (contract, section 11).
MAX_KEYS = 10


@dataclass(frozen=True, slots=True)
class IssuedKey:
    """A new key; the only place where its value and secret are readable."""

    record: ApiKey
    api_key: str = field(repr=False)
    secret: str = field(repr=False)


class NotInForceError(RefusedError):
    """A key that is to be rotated is revoked or has expired."""


_ISSUED = re.compile(r"(psi_(?:test_)?(?:key|secret)_)[A-Za-z0-9_\-]+")


def masked(text: str) -> str:
    """A text of a partner without the keys and secrets in it."""
    return _ISSUED.sub(r"\1***", text)


def issue(*, partner: Partner, label: str = "", expires_at: datetime | None = None) -> IssuedKey:
    """Create a key and a secret, each of 256 random bits. Raises RefusedError, ValidationError."""
    api_key = KEY_PREFIXES[Mode(partner.mode)] + secrets.token_urlsafe(ENTROPY_BYTES)
    secret = SECRET_PREFIXES[Mode(partner.mode)] + secrets.token_urlsafe(ENTROPY_BYTES)
    record = ApiKey(
        partner=partner,
        prefix=visible_prefix(api_key),
        digest=digest(api_key),
        encrypted_secret=encryption.encrypt(secret, purpose=encryption.API_SECRETS),
        label=label,
        expires_at=expires_at,
    )
    record.full_clean(validate_unique=False, validate_constraints=False)
    with transaction.atomic():
        # One of two that are issued at once sees the other.
        Partner.objects.select_for_update(no_key=True).get(pk=partner.pk)
        if ApiKey.objects.filter(in_force(), partner=partner).count() >= MAX_KEYS:
            raise RefusedError(
                _("A partner has at most %(limit)d API keys in force. Revoke one first.") % {"limit": MAX_KEYS}
            )
        record.save(force_insert=True)
    return IssuedKey(record, api_key, secret)


def find(key_or_prefix: str) -> ApiKey:
    """The key with this value or visible prefix. Raises ApiKey.DoesNotExist."""
    is_prefix = key_or_prefix == visible_prefix(key_or_prefix)
    condition = {"prefix": key_or_prefix} if is_prefix else {"digest": digest(key_or_prefix)}
    return ApiKey.objects.select_related("partner").get(**condition)


def revoke(record: ApiKey) -> None:
    """Refuse the key from the next request on, in every process, for good."""
    with transaction.atomic():
        ApiKey.objects.filter(pk=record.pk, revoked_at=None).update(revoked_at=Now())
    record.refresh_from_db(fields=["revoked_at"])


def rotate(record: ApiKey, *, overlap: timedelta) -> IssuedKey:
    """Issue a new key, and have the old one expire after `overlap` or at its own expiry, whichever is sooner.

    The new key ends when the old one was to end at its issue, by the choice of staff, whatever rotations did since.
    Uses the database's clock, as authentication does: an overlap of zero ends the old key at once.
    Raises NotInForceError if the old key is not in force, ValueError if the overlap is not from zero to MAX_OVERLAP,
    RefusedError.
    """
    if not timedelta() <= overlap <= MAX_OVERLAP:
        raise ValueError(f"The overlap must be from 0 to {MAX_OVERLAP // timedelta(hours=1)} hours.")
    with transaction.atomic():
        # Before the key, as wherever both are locked.
        Partner.objects.select_for_update(no_key=True).get(pk=record.partner_id)
        old = ApiKey.objects.select_for_update().get(pk=record.pk)
        # A statement of its own: one that waited for the lock compares with the time when it began.
        if not ApiKey.objects.filter(in_force(), pk=record.pk).exists():
            raise NotInForceError(f"{record.prefix} is no longer in force: issue a new key instead.")
        # LEAST ignores nulls.
        ApiKey.objects.filter(pk=old.pk).update(expires_at=Least(Now() + overlap, "expires_at"))
        # Of its issue: since then a rotation may have brought it forward.
        history: Any = old.history  # type: ignore[attr-defined]  # pghistory's
        return issue(partner=old.partner, label=old.label, expires_at=history.earliest("pgh_id").expires_at)


API_KEYS = EncryptedColumn(
    "apiKeys",
    "API keys",
    encryption.API_SECRETS,
    rows=ApiKey.objects.all,
    read=lambda key: key.encrypted_secret,
    write=lambda key, text: ApiKey.objects.filter(pk=key.pk).update(encrypted_secret=text),
    label=lambda key: None if key.revoked_at else key.prefix,
)
