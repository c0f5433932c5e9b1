"""Idempotency: contract, sections 3 and 4. Every write runs and commits here.

A write reserves its Idempotency-Key (or, without one, its signature if it could be repeated) in the transaction's first
statement. A simultaneous request with the same one waits for that row until this transaction ends: it then finds the
stored response or, after a failure, a free key. Effect and response commit together, so a crash loses both or neither.
"""

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import NamedTuple

from django.db import transaction

from partners.api.errors import ApiError, UnavailableError, invalid_parameter
from partners.api.request import PartnerRequest
from partners.authentication.signature_authentication import unauthorized
from partners.db import history_context, statements
from partners.db.statements import Query, Result
from partners.usage.failures import AuthenticationFailure

HEADER = "Idempotency-Key"
WINDOW = timedelta(hours=24)
# Reservations fail and find no record if the record is purged between the two; repeatedly only by a defect.
RESERVE_ATTEMPTS = 3
ALREADY_RECEIVED = "This request was already processed. Sign a new request."
KEY_REUSED = "Already used for another request within 24 hours."
NOT_A_UUID = "Must be a UUID of 36 characters."

_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", re.ASCII)

# Held by each write under a key until its transaction ends, whether it has the record or waits for it: writes share it,
# and a look-up waits for them all. Of the record alone a look-up could miss a write that waits for another one.
_KEY_LOCK = "hashtextextended(%s::bigint || '/' || %s::text, 0)"
_RESERVE_KEY = f"""
    WITH held AS MATERIALIZED (SELECT pg_advisory_xact_lock_shared({_KEY_LOCK}))
    INSERT INTO partners_idempotencyrecord AS record (partner_id, key, fingerprint, method, path)
    SELECT %s::bigint, %s::uuid, %s::bytea, %s::text, %s::text FROM held
        ON CONFLICT (partner_id, key) DO UPDATE
       SET fingerprint = excluded.fingerprint, method = excluded.method, path = excluded.path, created_at = now(),
           status = NULL, body = NULL, location = NULL, completed_at = NULL
     WHERE record.created_at <= now() - %s::interval
 RETURNING {history_context.SET_CONTEXT}
"""
_STORE_RESPONSE = """
    UPDATE partners_idempotencyrecord SET status = %s, body = %s, location = %s, completed_at = clock_timestamp()
     WHERE partner_id = %s AND key = %s::uuid
"""
_FIND_RESPONSE = """
    SELECT fingerprint, status, body, location FROM partners_idempotencyrecord WHERE partner_id = %s AND key = %s::uuid
"""
_WAIT_FOR_WRITES = f"SELECT pg_advisory_xact_lock({_KEY_LOCK})"
_FIND_WRITE = """
    SELECT method, path, status, completed_at, created_at + %s::interval
      FROM partners_idempotencyrecord
     WHERE partner_id = %s AND key = %s::uuid AND created_at > now() - %s::interval
"""
_RESERVE_SIGNATURE = f"""
    INSERT INTO partners_usedsignature (partner_id, signature, signed_at)
    VALUES (%s, %s::bytea, %s::timestamptz)
        ON CONFLICT DO NOTHING
 RETURNING {history_context.SET_CONTEXT}
"""
_RESERVE_NOTHING = f"SELECT {history_context.SET_CONTEXT}"


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


# Performs the write and returns its response. Any exception rolls it back.
Effect = Callable[[], StoredResponse]


class AlreadyReservedError(Exception):
    """Another request has reserved the key or the signature."""


def perform(request: PartnerRequest, effect: Effect, *, once_signed: bool) -> StoredResponse:
    """Perform a write at most once, in one transaction with the record of it.

    once_signed: whether its signature, sent again without a key, is refused; a repeated POST may be a conflict anyway.
    effect: called again if PostgreSQL rolls the transaction back, for example after a deadlock.
    Raises BadRequestError for a malformed or reused key, UnauthorizedError for a repeated signature.
    """
    key = request.header("HTTP_IDEMPOTENCY_KEY")
    if key is None:
        return statements.retry_rolled_back(partial(_perform_without_key, request, effect, once_signed=once_signed))
    if not is_key(key):
        raise invalid_parameter(HEADER, NOT_A_UUID)
    return statements.retry_rolled_back(partial(_perform_under_key, key.lower(), request, effect))


def is_key(text: str) -> bool:
    """Whether the text has the form of an Idempotency-Key."""
    return bool(_UUID.fullmatch(text))


def find_write(request: PartnerRequest, key: str) -> CompletedWrite | None:
    """The partner's write under this key; None if none has taken effect and none is under way (contract, section 12).

    It waits for all writes under the key that have begun. Raises OperationalError where they take too long.
    """
    partner_id = request.user.partner_id
    with transaction.atomic():
        statements.queue(Query(_WAIT_FOR_WRITES, (partner_id, key)))
        # A statement of its own: it sees what they have committed.
        values = (WINDOW, partner_id, key, WINDOW)
        rows = statements.fetch(Query(_FIND_WRITE, values, CompletedWrite._make))
    return rows[0] if rows else None


def _perform_without_key(request: PartnerRequest, effect: Effect, *, once_signed: bool) -> StoredResponse:
    context = _context(request)
    if once_signed:
        signature = request.auth
        values = (request.user.partner_id, signature.value, signature.signed_at, context)
        reservation: Query[statements.Row] = Query(_RESERVE_SIGNATURE, values, check=_require_reserved)
    else:
        reservation = Query(_RESERVE_NOTHING, (context,))
    try:
        with transaction.atomic():
            return _run_reserved(reservation, effect)
    except AlreadyReservedError:
        raise unauthorized(request, AuthenticationFailure.REPLAY, ALREADY_RECEIVED) from None


def _perform_under_key(key: str, request: PartnerRequest, effect: Effect) -> StoredResponse:
    partner_id, reservation = request.user.partner_id, _reserve_key(request, key)
    for _ in range(RESERVE_ATTEMPTS):
        try:
            with transaction.atomic():
                response = _run_reserved(reservation, effect)
                # Sent together with COMMIT.
                statements.queue(
                    Query(_STORE_RESPONSE, (response.status, response.body, response.location, partner_id, key))
                )
        except AlreadyReservedError:
            stored = statements.fetch_one(_FIND_RESPONSE, (partner_id, key))
        else:
            return response
        if stored is not None:
            return _replay(stored, _fingerprint(request))
    raise UnavailableError


def _run_reserved(reservation: Query[statements.Row], effect: Effect) -> StoredResponse:
    """Run the effect under the reservation, which is sent together with the effect's first statement.

    The reservation is checked before the effect's rows are used. It is also sent if the effect fails before any
    statement, for example for its body: idempotency comes first in the contract's order of checks (section 1).
    """
    statements.queue(reservation)
    try:
        response = effect()
    except ApiError:
        statements.run_queued()
        raise
    statements.run_queued()
    return response


def _reserve_key(request: PartnerRequest, key: str) -> Query[statements.Row]:
    held = (request.user.partner_id, key)
    values = (*held, *held, _fingerprint(request), request.method, request.canonical_path, WINDOW, _context(request))
    return Query(_RESERVE_KEY, values, check=_require_reserved)


def _require_reserved(result: Result[statements.Row]) -> None:
    if not result.rows:
        raise AlreadyReservedError


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
