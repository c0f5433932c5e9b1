"""API keys and their secrets: issue, find, rotate, revoke.

A key is stored as its SHA-256 with a visible prefix; its secret, which signatures are checked with, is encrypted under
SECRETS_ENCRYPTION_KEYS. Both are shown once.
"""

import hashlib
import re
import secrets
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

import structlog
from cryptography.fernet import InvalidToken
from django.db import DatabaseError, InterfaceError, transaction
from django.db.models.functions import Least, Now
from django.utils.translation import gettext as _

from core import encryption
from core.database import statements
from core.database.query import Query
from core.reencryption import EncryptedColumn
from core.refusals import RefusedError
from partners.models import KEY_IS_ACTIVE, KEY_PREFIXES, ApiKey, Mode, Partner, in_force

log = structlog.get_logger("partners.authentication.keys")

# Scanners find leaked secrets by these prefixes.
SECRET_PREFIXES = {Mode.LIVE: "psi_secret_", Mode.SANDBOX: "psi_test_secret_"}
VISIBLE_CHARACTERS = 8
ENTROPY_BYTES = 32
LAST_USED_INTERVAL = timedelta(minutes=5)
# How long an old key may stay in force beside its successor.
MAX_OVERLAP = timedelta(days=30)
# 100 years. PostgreSQL knows times after the year 9999, which Python cannot read.
MAX_DAYS = 36_500
CACHE_SIZE = 10_000
# A partner has at most so many in force (contract, section 11).
MAX_KEYS = 10
# Rotations without an overlap leave as many in force as before.
MAX_SANDBOX_KEYS_A_DAY = 50


@dataclass(frozen=True, slots=True)
class IssuedKey:
    """A new key; the only place where its value and secret are readable."""

    record: ApiKey
    api_key: str = field(repr=False)
    secret: str = field(repr=False)


class NotInForceError(RefusedError):
    """A key that is to be rotated is revoked or has expired."""


@dataclass(frozen=True, slots=True)
class Caller:
    """A request's API key and its partner. is_active: whether the key is in force and the partner enabled.

    key_id: 0 for an unknown key.
    """

    partner_id: int
    partner_slug: str
    rate_limit: str
    key_id: int
    key_prefix: str
    secret: str = field(repr=False)
    is_active: bool
    last_used_is_stale: bool
    mode: Mode = Mode.LIVE
    # No present key of SECRETS_ENCRYPTION_KEYS decrypts the secret; `secret` is random instead.
    secret_is_lost: bool = False


# The keys are digests. Each process has its own.
_last_callers: dict[bytes, Caller] = {}


@lru_cache(maxsize=CACHE_SIZE)
def _decrypt(encrypted: str, _key_digest: bytes) -> str:
    """Decrypt at a process's first sight of a key, known or not."""
    return encryption.decrypt(encrypted, purpose=encryption.API_SECRETS)


@lru_cache(maxsize=1)
def _secret_of_no_key() -> str:
    """The encrypted secret that unknown keys are checked with, at the cost of a known one."""
    secret = SECRET_PREFIXES[Mode.LIVE] + secrets.token_urlsafe(ENTROPY_BYTES)
    return encryption.encrypt(secret, purpose=encryption.API_SECRETS)


def digest(api_key: str) -> bytes:
    """The SHA-256 by which a key is stored."""
    return hashlib.sha256(api_key.encode()).digest()


_ISSUED = re.compile(r"(psi_(?:test_)?(?:key|secret)_)[A-Za-z0-9_\-]+")


def masked(text: str) -> str:
    """A text of a partner without the keys and secrets in it."""
    return _ISSUED.sub(r"\1***", text)


def visible_prefix(api_key: str) -> str:
    """What staff and logs see of a key; empty if it does not look like one."""
    prefix = next((one for one in KEY_PREFIXES.values() if api_key.startswith(one)), "")
    return api_key[: len(prefix) + VISIBLE_CHARACTERS] if prefix else ""


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
        made = ApiKey.objects.filter(partner=partner, created_at__gt=Now() - timedelta(days=1))
        if partner.mode == Mode.SANDBOX and made.count() >= MAX_SANDBOX_KEYS_A_DAY:
            text = _("A sandbox partner makes at most %(limit)d API keys a day.")
            raise RefusedError(text % {"limit": MAX_SANDBOX_KEYS_A_DAY})
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
    Uses the database's clock, as find_caller does: an overlap of zero ends the old key at once.
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
        return issue(partner=old.partner, label=old.label, expires_at=_expiry_at_issue(old))


def _expiry_at_issue(record: ApiKey) -> datetime | None:
    # Since then a rotation may have brought it forward.
    history: Any = record.history  # type: ignore[attr-defined]  # pghistory's
    expires_at: datetime | None = history.earliest("pgh_id").expires_at
    return expires_at


_FIND_CALLER = f"""
    SELECT key.id, key.prefix, key.encrypted_secret, partner.id, partner.slug, partner.rate_limit, partner.mode,
           {KEY_IS_ACTIVE},
           (key.last_used_at >= now() - interval '{LAST_USED_INTERVAL.total_seconds():.0f} seconds') IS NOT TRUE
      FROM partners_apikey key JOIN partners_partner partner ON partner.id = key.partner_id
     WHERE key.digest = %s
"""


def find_caller(key_digest: bytes, query: Query[Any] | None = None) -> tuple[Caller, list[Any] | None]:
    """The caller with this key digest, read now, so that a revoked key is refused by the next request; and rows.

    An unknown key has a caller with a random secret: one decryption and one HMAC in either case.
    query: sent in the same round trip; its rows must not be used for a caller that is not active.
    Raises Django's database errors.
    """
    find: Query[statements.Row] = Query(_FIND_CALLER, (key_digest,))
    callers, *others = statements.fetch_first(find, query) if query else statements.fetch_first(find)
    rows = others[0] if others else None
    row = callers[0] if callers else (0, "", _secret_of_no_key(), 0, "", "", Mode.LIVE, False, False)
    key_id, prefix, encrypted, partner_id, slug, rate_limit, mode, is_active, last_used_is_stale = row
    try:
        secret, is_lost = _decrypt(encrypted, key_digest), False
    except InvalidToken:
        # Its encryption key was retired, or this process does not have it yet.
        log.error("API secret cannot be decrypted", key=prefix, partner=slug)  # noqa: TRY400 - no need of its frames
        secret, is_lost = secrets.token_hex(ENTROPY_BYTES), True
    caller = Caller(
        partner_id, slug, rate_limit, key_id, prefix, secret, is_active, last_used_is_stale, Mode(mode), is_lost
    )
    if not callers:
        _last_callers.pop(key_digest, None)
        return caller, rows
    if len(_last_callers) >= CACHE_SIZE:
        _last_callers.clear()
    _last_callers[key_digest] = caller
    return caller, rows


def last_caller(key_digest: bytes) -> Caller | None:
    """The caller as this process last read it; None if it has not yet.

    Its partner is still right (a trigger on ApiKey); its secret and `is_active` may be outdated.
    """
    return _last_callers.get(key_digest)


def record_use(key_id: int) -> None:
    """Set last_used_at, unless the row is locked or the database is read-only."""
    try:
        statements.run(
            """UPDATE partners_apikey SET last_used_at = now()
                WHERE id = (SELECT id FROM partners_apikey WHERE id = %s FOR NO KEY UPDATE SKIP LOCKED)""",
            (key_id,),
        )
    except (DatabaseError, InterfaceError):
        log.warning("last_used_at could not be updated")


API_KEYS = EncryptedColumn(
    "apiKeys",
    "API keys",
    encryption.API_SECRETS,
    rows=ApiKey.objects.all,
    read=lambda key: key.encrypted_secret,
    write=lambda key, text: ApiKey.objects.filter(pk=key.pk).update(encrypted_secret=text),
    label=lambda key: None if key.revoked_at else key.prefix,
)
