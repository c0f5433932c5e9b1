"""At most once: contract, sections 3 and 4. Every write goes through here and commits here.

A write claims its key (or, for a PATCH without one, its signature) as the transaction's first
statement, sent in one go with the first of its effect. A simultaneous twin waits at that row until
this transaction ends: it then finds the answer, or, after a failure, an unclaimed key. The answer is
kept in the same transaction as the effect, so after a crash both are there or neither.
"""

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial

from partners import history, signing, sql
from partners.api.authentication import refused
from partners.api.errors import invalid_parameter
from partners.api.request import Received
from partners.api.sender import Sender
from partners.keys import PARTNER, PartnerRef
from partners.troubles import Cause
from partners.writes import Write

HEADER = "Idempotency-Key"
WINDOW = timedelta(hours=24)
ALREADY_RECEIVED = "This request was already received and has taken effect: sign the next one anew."

_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", re.ASCII)

# Each stands on the sender's key being in force: without a partner there is nothing to insert or to say.
_PARTNER = f"(SELECT {PARTNER} AS id) partner"
_CLAIM_KEY = f"""
    INSERT INTO partners_idempotencyrecord AS record (partner_id, key, fingerprint)
    SELECT partner.id, %s::uuid, %s::bytea FROM {_PARTNER} WHERE partner.id IS NOT NULL
        ON CONFLICT (partner_id, key) DO UPDATE
       SET fingerprint = excluded.fingerprint, created_at = now(), status = NULL, body = NULL, location = NULL
     WHERE record.created_at <= now() - %s::interval
 RETURNING {history.SET_CONTEXT}
"""
_KEEP_ANSWER = """
    UPDATE partners_idempotencyrecord SET status = %s, body = %s, location = %s
     WHERE partner_id = %s AND key = %s::uuid
"""
_FIND_ANSWER = f"""
    SELECT fingerprint, status, body, location FROM partners_idempotencyrecord
     WHERE partner_id = {PARTNER} AND key = %s::uuid
"""
_CLAIM_SIGNATURE = f"""
    INSERT INTO partners_usedsignature (partner_id, signature, signed_at)
    SELECT partner.id, %s::bytea, %s::timestamptz FROM {_PARTNER} WHERE partner.id IS NOT NULL
        ON CONFLICT DO NOTHING
 RETURNING {history.SET_CONTEXT}
"""
_CLAIM_NOTHING = f"SELECT FROM {_PARTNER}, LATERAL {history.SET_CONTEXT} WHERE partner.id IS NOT NULL"


@dataclass(frozen=True, slots=True)
class Answer:
    """A successful answer to a write. body: JSON bytes. location: the header's value, where there is one."""

    status: int
    body: bytes
    location: str | None = None
    replayed: bool = field(default=False, compare=False)


# Given the partner: does the write and gives its answer. Whatever it raises undoes everything.
Effect = Callable[[int], Answer]


def perform(received: Received, sender: Sender, effect: Effect, *, request_id: str) -> Answer:
    """Makes a write take effect at most once, in one transaction with what must be remembered of it.

    effect: where PostgreSQL undoes it, after a deadlock, it is called again.
    Raises BadRequestError for a malformed or misused key, UnauthorizedError for a repeated signature.
    """
    key = received.header("HTTP_IDEMPOTENCY_KEY")
    if key is None:
        return sql.repeat_where_undone(partial(_perform_without_key, received, sender, effect, request_id))
    return sql.repeat_where_undone(partial(_perform_under_key, _checked(key), received, sender, effect, request_id))


def _perform_without_key(received: Received, sender: Sender, effect: Effect, request_id: str) -> Answer:
    statement, values = (_CLAIM_SIGNATURE, _signature(received)) if received.method == "PATCH" else (_CLAIM_NOTHING, ())
    while True:
        is_certain = sender.is_confirmed
        try:
            with Write((statement, (*values, *sender.partner(), _context(sender, request_id))), partial(_take, sender)):
                return effect(sender.caller.partner_id)
        except _NotClaimedError:
            if is_certain:
                raise refused(received, Cause.REPLAY, ALREADY_RECEIVED) from None
            sender.confirmed()


def _perform_under_key(key: str, received: Received, sender: Sender, effect: Effect, request_id: str) -> Answer:
    fingerprint = _fingerprint(received)
    partner_id = sender.caller.partner_id
    while True:
        claim = (_CLAIM_KEY, (key, fingerprint, *sender.partner(), WINDOW, _context(sender, request_id)))
        try:
            with Write(claim, partial(_take, sender)) as write:
                answer = effect(partner_id)
                write.keep((_KEEP_ANSWER, (answer.status, answer.body, answer.location, partner_id, key)))
                return answer
        except _NotClaimedError:
            found = sender.ask(partial(_find_answer, key))
        if found is not None:
            return _replay(found, fingerprint)
        # The key is free: purged between the two statements, or nothing was claimed for want of the sender's standing.


def _context(sender: Sender, request_id: str) -> str:
    """What history keeps of who made a change."""
    caller = sender.caller
    return history.context(partner=caller.partner_slug, key=caller.key_prefix, requestId=request_id)


def _take(sender: Sender, claimed: list[sql.Row]) -> None:
    """Lets a write go on whose claim stands, which says too that the sender may call."""
    if not claimed:
        raise _NotClaimedError
    sender.vouched()


class _NotClaimedError(Exception):
    """Nothing was claimed: another request has the key or the signature, or the sender is to be asked about."""


def _checked(key: str) -> str:
    if not _UUID.fullmatch(key):
        raise invalid_parameter(HEADER, "Must be a UUID of 36 characters.")
    return key.lower()


def _find_answer(key: str, partner: PartnerRef) -> sql.Row | None:
    return sql.fetch_one(_FIND_ANSWER, (*partner, key))


def _replay(kept: sql.Row, fingerprint: bytes) -> Answer:
    kept_fingerprint, status, body, location = kept
    if bytes(kept_fingerprint) != fingerprint:
        raise invalid_parameter(HEADER, "This key was used within 24 hours for another request.")
    return Answer(status, bytes(body), location, replayed=True)


def _fingerprint(received: Received) -> bytes:
    """What makes two requests the same: method, canonical path and query, and body."""
    parts = (received.method, received.canonical_path, received.canonical_query, received.body_digest)
    return hashlib.sha256("\n".join(parts).encode()).digest()


def _signature(received: Received) -> tuple[bytes, datetime]:
    signature = signing.signature_bytes(received.header("HTTP_X_REQUEST_SIGNATURE") or "")
    return signature, signing.parse_timestamp(received.header("HTTP_X_REQUEST_TIMESTAMP") or "")
