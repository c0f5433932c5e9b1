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
from typing import NamedTuple

from django.db import transaction

from partners.api.errors import ApiError, invalid_parameter
from partners.api.request import PartnerRequest
from partners.authentication.failures import AuthenticationFailure
from partners.authentication.signature_authentication import unauthorized
from partners.db import history_context, statements
from partners.db.advisory_locks import AdvisoryLock
from partners.db.statements import Query, Result
from partners.uuids import is_uuid

HEADER = "Idempotency-Key"
WINDOW = timedelta(hours=24)
ALREADY_RECEIVED = "This request was already processed. Sign a new request."
KEY_REUSED = "Already used for another request within 24 hours: send a new one."
NOT_A_UUID = "Must be a UUID of 36 characters, such as 0b8e5d1c-7a52-4c0e-9a0f-2f1f4f0f6a3e."
NOT_STORED = "Not allowed here: the response holds a secret, and is never stored."


# Also held by a look-up, which so waits for the writes that have begun.
_LOCK_KEY = f"""
    SELECT pg_advisory_xact_lock({AdvisoryLock.IDEMPOTENCY_KEY:d}, hashtext(%s::bigint || '/' || %s::text))"""
_LOCK_KEY_FOR_WRITE = f"{_LOCK_KEY}, {history_context.SET_CONTEXT}"
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
 RETURNING {history_context.SET_CONTEXT}
"""
_SET_CONTEXT = f"SELECT {history_context.SET_CONTEXT}"


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


# Performs the write and returns its response. Any exception rolls it back.
Effect = Callable[[], StoredResponse]


class AlreadyDoneError(Exception):
    """A request with the same key or signature has taken effect. record: the key's, with its response."""

    def __init__(self, record: statements.Row = ()) -> None:
        super().__init__()
        self.record = record


def refuse_key(request: PartnerRequest) -> None:
    """Raises BadRequestError for a request with an Idempotency-Key."""
    if request.header("HTTP_IDEMPOTENCY_KEY") is not None:
        raise invalid_parameter(HEADER, NOT_STORED, "notAllowed")


def perform(
    request: PartnerRequest, effect: Effect, *, refuse_signature_reuse: bool, key_use: KeyUse = KeyUse.HONOURED
) -> StoredResponse:
    """Perform a write at most once, in one transaction with the record of it.

    refuse_signature_reuse: whether its signature, sent again without a key, is refused; a repeated POST may be a
    conflict anyway.
    effect: called again if PostgreSQL rolls the transaction back, for example after a deadlock.
    Raises BadRequestError for a malformed or reused key, SignatureRefusedError for a repeated signature.
    """
    key = request.header("HTTP_IDEMPOTENCY_KEY")
    if key is None or key_use is not KeyUse.HONOURED:
        return statements.retry_rolled_back(
            partial(_perform_without_key, request, effect, refuse_signature_reuse=refuse_signature_reuse)
        )
    if not is_key(key):
        raise invalid_parameter(HEADER, NOT_A_UUID)
    return statements.retry_rolled_back(partial(_perform_under_key, key.lower(), request, effect))


def is_key(text: str) -> bool:
    """Whether the text has the form of an Idempotency-Key."""
    return is_uuid(text)


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


def _perform_without_key(request: PartnerRequest, effect: Effect, *, refuse_signature_reuse: bool) -> StoredResponse:
    context = _context(request)
    if refuse_signature_reuse:
        signature = request.auth
        values = (request.user.partner_id, signature.value, signature.signed_at, request.canonical_path, context)
        first: Query[statements.Row] = Query(_STORE_SIGNATURE, values, check=_require_stored)
    else:
        first = Query(_SET_CONTEXT, (context,))
    try:
        with transaction.atomic():
            return _run_after(effect, first)
    except AlreadyDoneError:
        raise unauthorized(request, AuthenticationFailure.REPLAY, ALREADY_RECEIVED, caller=request.user) from None


def _perform_under_key(key: str, request: PartnerRequest, effect: Effect) -> StoredResponse:
    held, fingerprint = (request.user.partner_id, key), _fingerprint(request)
    lock: Query[statements.Row] = Query(_LOCK_KEY_FOR_WRITE, (*held, _context(request)))
    # A statement of its own: it sees what those have committed that the lock waited for.
    find: Query[statements.Row] = Query(_FIND_RESPONSE, (*held, WINDOW), check=_require_none)
    try:
        with transaction.atomic():
            response = _run_after(effect, lock, find)
            values = (request.method, request.canonical_path, response.status, response.body, response.location)
            # Sent together with COMMIT.
            statements.queue(Query(_STORE_RESPONSE, (*held, fingerprint, *values)))
    except AlreadyDoneError as error:
        return _replay(error.record, fingerprint)
    return response


def _run_after(effect: Effect, *queries: Query[statements.Row]) -> StoredResponse:
    """Run the effect after these queries, which are sent together with its first statement.

    They are checked before the effect's rows are used. They are also sent if the effect fails before any statement, for
    example for its body: idempotency comes first in the contract's order of checks (section 1).
    """
    for query in queries:
        statements.queue(query)
    try:
        response = effect()
    except ApiError:
        statements.run_queued()
        raise
    statements.run_queued()
    return response


def _require_stored(result: Result[statements.Row]) -> None:
    if not result.rows:
        raise AlreadyDoneError


def _require_none(result: Result[statements.Row]) -> None:
    if result.rows:
        raise AlreadyDoneError(result.rows[0])


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
