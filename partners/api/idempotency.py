"""Idempotency: contract, sections 3 and 4. Every write runs and commits in `once`.

A write locks its Idempotency-Key until its transaction ends, and looks for the response that an earlier request with it
stored. A simultaneous request with the same key waits at the lock: it then finds the response or, after a failure, a
free key. Effect and response commit together, so a crash loses both or neither. Without a key, a write stores its
signature in the same way if it could be repeated.
"""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from enum import Enum, auto
from typing import Any

from django.db import transaction
from rest_framework.exceptions import APIException

from core.database import statements
from core.database.base import SET_CONTEXT
from core.database.pipeline import Query, T
from core.formats import is_uuid
from partners.api.errors import invalid_parameter
from partners.api.request import PartnerRequest
from partners.api.response import JsonResponse, encode
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
# The write under a key that has taken effect.
DONE = """
      FROM partners_idempotencyrecord
     WHERE partner_id = %s AND key = %s::uuid AND completed_at > now() - %s::interval
"""
_FIND_RESPONSE = f"SELECT fingerprint, status, body, location {DONE}"
# An expired record is replaced.
_STORE_RESPONSE = """
    INSERT INTO partners_idempotencyrecord (partner_id, key, fingerprint, method, path, status, body, location)
    VALUES (%s, %s::uuid, %s, %s, %s, %s, %s, %s)
        ON CONFLICT (partner_id, key) DO UPDATE
       SET fingerprint = excluded.fingerprint, method = excluded.method, path = excluded.path,
           status = excluded.status, body = excluded.body, location = excluded.location,
           completed_at = excluded.completed_at
"""
_FIND_WRITE = f"SELECT method, path, status, completed_at, completed_at + %s::interval {DONE}"
# The columns, by their names on the wire.
_COMPLETED = ("method", "path", "status", "completedAt", "expiresAt")
_STORE_SIGNATURE = f"""
    INSERT INTO partners_usedsignature (partner_id, signature, signed_at, path)
    VALUES (%s, %s::bytea, %s::timestamptz, %s)
        ON CONFLICT DO NOTHING
 RETURNING {SET_CONTEXT}
"""
_SET_CONTEXT = f"SELECT {SET_CONTEXT}"


class KeyUse(Enum):
    """What a write does with an Idempotency-Key."""

    # Contract, section 4.
    HONOURED = auto()
    # It is signed, and has no effect, as on a GET.
    IGNORED = auto()
    # The response holds a secret, which must not be stored.
    REFUSED = auto()


class KeyClaim:
    """A write's claim to its Idempotency-Key, or to its signature.

    key: None without one. response: what the view returns after the block.
    """

    response: JsonResponse

    def __init__(self, request: PartnerRequest, key: str | None, *, refuse_signature_reuse: bool) -> None:
        """refuse_signature_reuse: a repeated signature is refused without a key."""
        self._request, self.key, self._refuse_signature_reuse = request, key, refuse_signature_reuse
        self._is_sent, self._is_new = False, True

    @property
    def is_new(self) -> bool:
        """Whether to do the write; if not, `response` is stored. Raises BadRequestError, SignatureRefusedError."""
        if not self._is_sent:
            self.send(None)
        return self._is_new

    def send(self, query: Query[T] | None) -> list[T]:
        """Send the claim with the write's first query, whose rows a new write may use. Raises as `is_new` does."""
        self._is_sent = True
        request, caller = self._request, self._request.user
        names = {"partner": caller.partner_slug, "key": caller.key_prefix, "requestId": request.request_id}
        context = statements.context(**names)
        if self.key is not None:
            held = (caller.partner_id, self.key)
            statements.queue(Query(_LOCK_KEY_FOR_WRITE, (*held, context)))
            # A statement of its own: it sees what those have committed that the lock waited for.
            found, rows = statements.fetch_both(Query(_FIND_RESPONSE, (*held, WINDOW)), query)
            if found:
                fingerprint, status, body, location = found[0]
                if bytes(fingerprint) != self._fingerprint():
                    raise invalid_parameter(HEADER, KEY_REUSED, "inconsistent")
                headers = {"Idempotent-Replayed": "true"} | ({"Location": location} if location else {})
                self._is_new, self.response = False, JsonResponse(status, bytes(body), headers)
        elif self._refuse_signature_reuse:
            signature = request.auth
            values = (caller.partner_id, signature.value, signature.signed_at, request.canonical_path, context)
            stored, rows = statements.fetch_both(Query(_STORE_SIGNATURE, values), query)
            if not stored:
                raise unauthorized(request, AuthenticationFailure.REPLAY, ALREADY_RECEIVED, caller=caller)
        else:
            statements.queue(Query(_SET_CONTEXT, (context,)))
            rows = statements.fetch(query) if query else None
        return rows or []

    def respond(self, status: int, data: object, *, location: str | None = None) -> None:
        """Make the response to the write, which is stored with its effect. location: the header's value."""
        body = encode(data)
        self.response = JsonResponse(status, body, {"Location": location} if location else {})
        if self.key is not None:
            request = self._request
            held = (request.user.partner_id, self.key, self._fingerprint())
            values = (*held, request.method, request.canonical_path, status, body, location)
            # Sent together with COMMIT.
            statements.queue(Query(_STORE_RESPONSE, values))

    def _fingerprint(self) -> bytes:
        """Equal for equal requests: of method, canonical path and query, and body."""
        request = self._request
        parts = (request.method, request.canonical_path, request.canonical_query, request.body_digest)
        return hashlib.sha256("\n".join(parts).encode()).digest()


@contextmanager
def once(request: PartnerRequest, *, key_use: KeyUse, refuse_signature_reuse: bool) -> Iterator[KeyClaim]:
    """Have a write take effect at most once, in one transaction with the record of it.

    In the block, the view writes and calls `respond` if the claim `is_new`; any exception rolls back. Errors that it
    finds before the claim was sent are raised only if that is new, which is the contract's order of checks.
    Raises BadRequestError for a malformed key.
    """
    key = request.header("HTTP_IDEMPOTENCY_KEY") if key_use is KeyUse.HONOURED else None
    if key is not None and not is_uuid(key):
        raise invalid_parameter(HEADER, NOT_A_UUID)
    with transaction.atomic():
        claim = KeyClaim(request, key and key.lower(), refuse_signature_reuse=refuse_signature_reuse)
        try:
            yield claim
        except APIException:
            if claim.is_new:
                raise
        if not claim.is_new:
            # The first query too.
            transaction.set_rollback(True)


def find_write(partner_id: int, key: str) -> dict[str, Any] | None:
    """The partner's write under this key; None if none has taken effect and none is under way (contract, section 12).

    It waits for all writes under the key that have begun, and keeps further ones waiting until the transaction of the
    caller ends. Raises OperationalError where they take too long.
    """
    with transaction.atomic():
        statements.queue(Query(_LOCK_KEY, (partner_id, key)))
        # A statement of its own: it sees what those have committed that it waited for.
        values = (WINDOW, partner_id, key, WINDOW)
        rows = statements.fetch(Query(_FIND_WRITE, values, lambda row: dict(zip(_COMPLETED, row, strict=True))))
    return rows[0] if rows else None
