"""API keys and their secrets: issued, found, rotated, revoked.

A key is stored as its SHA-256 with a visible prefix; its secret, which the service needs for
checking signatures, is encrypted under SECRETS_ENCRYPTION_KEYS. Both are shown once.
"""

import hashlib
import secrets
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

import structlog
from cryptography.fernet import InvalidToken
from django.db import DatabaseError, InterfaceError, transaction
from django.db.models import Q
from django.db.models.functions import Least, Now

from partners.authentication import encryption
from partners.db import statements
from partners.db.statements import Query
from partners.models import ApiKey, Partner

log = structlog.get_logger("partners.authentication.keys")

KEY_PREFIX = "psi_key_"
SECRET_PREFIX = "psi_secret_"  # noqa: S105 - what a secret begins with, for scanners to find
VISIBLE_CHARACTERS = 8
ENTROPY_BYTES = 32
TOUCH_AFTER = timedelta(minutes=5)
MOST_REMEMBERED = 10_000


class KeyNotFoundError(LookupError):
    """No key, or more than one, answers to what was given."""


@dataclass(frozen=True, slots=True)
class IssuedKey:
    """A new key with what is shown this once: the key and its secret."""

    record: ApiKey
    api_key: str = field(repr=False)
    secret: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Caller:
    """The partner that an API key belongs to, and the key: what a request needs to know of them."""

    partner_id: int
    partner_slug: str
    rate_limit: str
    key_id: int
    key_prefix: str
    secret: str = field(repr=False)
    may_call: bool
    should_touch: bool
    # Whether no present key of SECRETS_ENCRYPTION_KEYS decrypts the secret; `secret` is then nobody's.
    secret_is_lost: bool = False


# By the digest of their keys, in this process alone.
_last_callers: dict[bytes, Caller] = {}


@lru_cache(maxsize=MOST_REMEMBERED)
def _decrypt(encrypted: str) -> str:
    return encryption.decrypt(encrypted, purpose=encryption.API_SECRETS)


def _encrypt(secret: str) -> str:
    return encryption.encrypt(secret, purpose=encryption.API_SECRETS)


def digest(api_key: str) -> bytes:
    """What a key is found by: its SHA-256."""
    return hashlib.sha256(api_key.encode()).digest()


def issue(*, partner: Partner, label: str = "", expires_at: datetime | None = None) -> IssuedKey:
    """A new key with its secret, 256 random bits each."""
    api_key = KEY_PREFIX + secrets.token_urlsafe(ENTROPY_BYTES)
    secret = SECRET_PREFIX + secrets.token_urlsafe(ENTROPY_BYTES)
    record = ApiKey(
        partner=partner,
        prefix=api_key[: len(KEY_PREFIX) + VISIBLE_CHARACTERS],
        digest=digest(api_key),
        encrypted_secret=_encrypt(secret),
        label=label,
        expires_at=expires_at,
    )
    record.full_clean(validate_unique=False, validate_constraints=False)
    record.save(force_insert=True)
    return IssuedKey(record, api_key, secret)


def find(key_or_prefix: str) -> ApiKey:
    """The key that is meant by the whole of it or by its visible prefix. Raises KeyNotFoundError."""
    keys = ApiKey.objects.select_related("partner")
    visible = len(KEY_PREFIX) + VISIBLE_CHARACTERS
    found = (
        keys.filter(prefix=key_or_prefix)
        if len(key_or_prefix) == visible
        else keys.filter(digest=digest(key_or_prefix))
    ).first()
    if found is None:
        raise KeyNotFoundError("No API key has this value or prefix.")
    return found


def revoke(record: ApiKey) -> None:
    """The key is refused from the next request on, in every process. Once revoked it stays so."""
    ApiKey.objects.filter(pk=record.pk, revoked_at=None).update(revoked_at=Now())
    record.refresh_from_db(fields=["revoked_at"])


def rotate(record: ApiKey, *, overlap: timedelta) -> IssuedKey:
    """A new key beside the old one, which expires when `overlap` ends, or sooner if it would have.

    By the database's clock, which find_caller asks too: an overlap of nothing ends the old key at once.
    Raises ValueError where the old key is revoked or has expired, or the overlap is negative.
    """
    if overlap < timedelta():
        raise ValueError("An overlap is not negative.")
    with transaction.atomic():
        in_force = ApiKey.objects.filter(Q(expires_at=None) | Q(expires_at__gt=Now()), revoked_at=None)
        old = in_force.select_for_update(of=("self",)).select_related("partner").filter(pk=record.pk).first()
        if old is None:
            raise ValueError(f"{record.prefix} is no longer in force: issue a new key instead.")
        # least() leaves out a null.
        ApiKey.objects.filter(pk=old.pk).update(expires_at=Least(Now() + overlap, "expires_at"))
        return issue(partner=old.partner, label=old.label)


# Of `key` and `partner` in a statement: whether the key is in force.
MAY_CALL = """
    partner.enabled AND key.revoked_at IS NULL AND (key.expires_at IS NULL OR key.expires_at > statement_timestamp())
"""

_FIND_CALLER = f"""
    SELECT key.id, key.prefix, key.encrypted_secret, partner.id, partner.slug, partner.rate_limit, {MAY_CALL},
           (key.last_used_at >= now() - interval '{TOUCH_AFTER.total_seconds():.0f} seconds') IS NOT TRUE
      FROM partners_apikey key JOIN partners_partner partner ON partner.id = key.partner_id
     WHERE key.digest = %s
"""


def find_caller(key_digest: bytes, *reads: Query[Any]) -> tuple[Caller | None, list[list[Any]]]:
    """The partner and key of a digest as they are at this moment, and the rows of each of `reads`.

    reads: queries that go to the database and back with this one; what they find must not be used for a caller who may
    not call. Raises Django's database errors.
    """
    callers, *found = statements.fetch_first(Query(_FIND_CALLER, (key_digest,)), *reads)
    if not callers:
        _last_callers.pop(key_digest, None)
        return None, found
    key_id, prefix, encrypted, partner_id, slug, rate_limit, may_call, should_touch = callers[0]
    secret, is_lost = _secret(encrypted)
    if is_lost:
        # The encryption key that it was made under has been retired, or this process does not have it yet.
        log.error("the secret of an API key cannot be decrypted", key=prefix, partner=slug)
    if len(_last_callers) >= MOST_REMEMBERED:
        _last_callers.clear()
    caller = _last_callers[key_digest] = Caller(
        partner_id, slug, rate_limit, key_id, prefix, secret, may_call, should_touch, is_lost
    )
    return caller, found


def _secret(encrypted: str) -> tuple[str, bool]:
    """A stored secret, and whether it is lost: no present key decrypts it. Nobody's then."""
    try:
        return _decrypt(encrypted), False
    except InvalidToken:
        return nobody().secret, True


def last_caller(key_digest: bytes) -> Caller:
    """The caller of a key when it was looked up last in this process, or nobody.

    A key's partner never changes (partners/authentication/key_triggers.py). Its secret, and whether it is in
    force, may have changed since.
    """
    return _last_callers.get(key_digest) or nobody()


@lru_cache(maxsize=1)
def nobody() -> Caller:
    """The caller of an unknown key, whose secret nobody has: checking a signature costs the same."""
    encrypted = _encrypt(secrets.token_bytes(ENTROPY_BYTES).hex())
    return Caller(0, "", "", 0, "", _decrypt(encrypted), may_call=False, should_touch=False)


def touch(key_id: int) -> None:
    """Records that a key was used, where that is possible: its row may be locked, the database may only read."""
    try:
        statements.run(
            """UPDATE partners_apikey SET last_used_at = now()
                WHERE id = (SELECT id FROM partners_apikey WHERE id = %s FOR NO KEY UPDATE SKIP LOCKED)""",
            (key_id,),
        )
    except (DatabaseError, InterfaceError):
        log.warning("when a key was last used cannot be recorded")
