"""Idempotency: contract, sections 3 and 4. Every write runs and commits here.

A write locks its Idempotency-Key until its transaction ends, and looks for the response that an earlier request with it
stored. A simultaneous request with the same key waits at the lock: it then finds the response or, after a failure, a
free key. Effect and response commit together, so a crash loses both or neither. Without a key, a write stores its
signature in the same way if it could be repeated.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum, auto
from functools import partial
from typing import Any, NamedTuple

from django.db import transaction

from core.database import history_context, statements
from core.database.base import SET_CONTEXT
from core.database.query import Query
from core.formats.uuids import is_uuid
from partners.api.errors import invalid_parameter
from partners.api.request import PartnerRequest
from partners.authentication.signature_authentication import AuthenticationFailure, unauthorized

HEADER = "Idempotency-Key"
WINDOW = timedelta(hours=24)
ALREADY_RECEIVED = "This request was already processed. Sign a new request."
KEY_REUSED = "Already used for another request within 24 hours: send a new one."
NOT_A_UUID = "Must be a UUID of 36 characters, such as 0b8e5d1c-7a52-4c0e-9a0f-2f1f4f0f6a3e."
NOT_STORED = "Not allowed here: the response holds a secret, and is never stored."


# Also held by a look-up, which so waits for the writes that have begun. The first number of an advisory lock is its
# kind: 1 for these, 2 for feeds (events/sql/events_place.sql). Two versions of the service share them.
_LOCK_KEY = """
    SELECT pg_advisory_xact_lock(1, hashtext(%s::bigint || '/' || %s::text))"""
_LOCK_KEY_FOR_WRITE = f"{_LOCK_KEY}, {SET_CONTEXT}"
_FIND_RESPONSE = """
    SELECT fingerprint, status, body, location
      FROM partners_idempotencyrecord
     WHERE partner_id = %s AND key = %s::uuid AND completed_at > now() - %s::interval
"""
# An expired record is replaced.
_STORE_RESPONSE = """
    INSERT INTO partners_idempotencyrecord (partner_id, key, fingerprint, method, path, status, body, location)
    VALUES (%s, %s::uuid, %s, %s, %s, %s, %s, %s)
        ON CONFLICT (partner_id, key) DO UPDATE
       SET fingerprint = excluded.fingerprint, method = excluded.method, path = excluded.path,
           status = excluded.status, body = excluded.body, location = excluded.location,
           completed_at = excluded.completed_at
"""
_FIND_WRITE = """
    SELECT method, path, status, completed_at, completed_at + %s::interval
      FROM partners_idempotencyrecord
     WHERE partner_id = %s AND key = %s::uuid AND completed_at > now() - %s::interval
"""
_STORE_SIGNATURE = f"""
    INSERT INTO partners_usedsignature (partner_id, signature, signed_at, path)
    VALUES (%s, %s::bytea, %s::timestamptz, %s)
        ON CONFLICT DO NOTHING
 RETURNING {SET_CONTEXT}
"""
_SET_CONTEXT = f"SELECT {SET_CONTEXT}"


@dataclass(frozen=True, slots=True)
class StoredResponse:
    """A successful response to a write. body: JSON. location: the header's value, if any."""

    status: int
    body: bytes
    location: str | None = None
    replayed: bool = False


class CompletedWrite(NamedTuple):
    """A write under an Idempotency-Key that has taken effect. path: canonical. status: of the HTTP response."""

    method: str
    path: str
    status: int
    completed_at: datetime
    expires_at: datetime


class KeyUse(Enum):
    """What a write does with an Idempotency-Key."""

    # Contract, section 4.
    HONOURED = auto()
    # It is signed, and has no effect, as on a GET.
    IGNORED = auto()
    # The response holds a secret, which must not be stored.
    REFUSED = auto()


# Performs the write and returns its response, given the rows of the view's query if it was sent. Any exception rolls it
# back.
Effect = Callable[[list[Any] | None], StoredResponse]


def refuse_key(request: PartnerRequest) -> None:
    """Raises BadRequestError for a request with an Idempotency-Key."""
    if request.header("HTTP_IDEMPOTENCY_KEY") is not None:
        raise invalid_parameter(HEADER, NOT_STORED, "notAllowed")


def perform(
    request: PartnerRequest,
    effect: Effect,
    *,
    query: Query[Any] | None,
    refuse_signature_reuse: bool,
    key_use: KeyUse,
) -> StoredResponse:
    """Perform a write at most once, in one transaction with the record of it.

    query: the first of the effect, if it is known already; sent together with the look for an earlier response.
    refuse_signature_reuse: whether its signature, sent again without a key, is refused; a repeated POST may be a
    conflict anyway.
    effect: called again if PostgreSQL rolls the transaction back, for example after a deadlock.
    Raises BadRequestError for a malformed or reused key, SignatureRefusedError for a repeated signature.
    """
    key = request.header("HTTP_IDEMPOTENCY_KEY")
    if key is None or key_use is not KeyUse.HONOURED:
        attempt = partial(_perform_without_key, request, effect, query, refuse_signature_reuse=refuse_signature_reuse)
        return statements.retry_rolled_back(attempt)
    if not is_uuid(key):
        raise invalid_parameter(HEADER, NOT_A_UUID)
    return statements.retry_rolled_back(partial(_perform_under_key, key.lower(), request, effect, query))


def find_write(request: PartnerRequest, key: str) -> CompletedWrite | None:
    """The partner's write under this key; None if none has taken effect and none is under way (contract, section 12).

    It waits for all writes under the key that have begun. Raises OperationalError where they take too long.
    """
    return statements.retry_rolled_back(partial(_find_write, request.user.partner_id, key))


def _find_write(partner_id: int, key: str) -> CompletedWrite | None:
    with transaction.atomic():
        statements.queue(Query(_LOCK_KEY, (partner_id, key)))
        # A statement of its own: it sees what those have committed that it waited for.
        values = (WINDOW, partner_id, key, WINDOW)
        rows = statements.fetch(Query(_FIND_WRITE, values, CompletedWrite._make))
    return rows[0] if rows else None


def _perform_without_key(
    request: PartnerRequest, effect: Effect, query: Query[Any] | None, *, refuse_signature_reuse: bool
) -> StoredResponse:
    context = _context(request)
    with transaction.atomic():
        if not refuse_signature_reuse:
            statements.queue(Query(_SET_CONTEXT, (context,)))
            return effect(statements.fetch(query) if query else None)
        signature = request.auth
        values = (request.user.partner_id, signature.value, signature.signed_at, request.canonical_path, context)
        stored, rows = statements.fetch_both(Query(_STORE_SIGNATURE, values), query)
        if not stored:
            raise unauthorized(request, AuthenticationFailure.REPLAY, ALREADY_RECEIVED, caller=request.user)
        return effect(rows)


def _perform_under_key(key: str, request: PartnerRequest, effect: Effect, query: Query[Any] | None) -> StoredResponse:
    held, fingerprint = (request.user.partner_id, key), _fingerprint(request)
    with transaction.atomic():
        statements.queue(Query(_LOCK_KEY_FOR_WRITE, (*held, _context(request))))
        # A statement of its own: it sees what those have committed that the lock waited for.
        found, rows = statements.fetch_both(Query(_FIND_RESPONSE, (*held, WINDOW)), query)
        if found:
            # The view's query too.
            transaction.set_rollback(True)
            return _replay(found[0], fingerprint)
        response = effect(rows)
        values = (request.method, request.canonical_path, response.status, response.body, response.location)
        # Sent together with COMMIT.
        statements.queue(Query(_STORE_RESPONSE, (*held, fingerprint, *values)))
    return response


def _context(request: PartnerRequest) -> str:
    caller = request.user
    return history_context.context(partner=caller.partner_slug, key=caller.key_prefix, requestId=request.request_id)


def _replay(stored: statements.Row, fingerprint: bytes) -> StoredResponse:
    stored_fingerprint, status, body, location = stored
    if bytes(stored_fingerprint) != fingerprint:
        raise invalid_parameter(HEADER, KEY_REUSED, "inconsistent")
    return StoredResponse(status, bytes(body), location, replayed=True)


def _fingerprint(request: PartnerRequest) -> bytes:
    """Equal for equal requests: of method, canonical path and query, and body."""
    parts = (request.method, request.canonical_path, request.canonical_query, request.body_digest)
    return hashlib.sha256("\n".join(parts).encode()).digest()
