"""What is recorded of a sandbox partner's request, and its last requests: contract, section 11."""

import json
import time
import uuid
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote_from_bytes, unquote

import structlog
from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now
from django.http.response import HttpResponseBase

from core.database import statements
from core.database.pipeline import Query
from partners.authentication import keys
from partners.authentication.signatures import NotUtf8Error
from partners.models import SandboxRequest

log = structlog.get_logger("partners.request_log")

KEPT = timedelta(hours=24)
MAX_REQUESTS = 100
# The longest path, query or key in characters, and the number of fields with errors.
MAX_LENGTH, MAX_FIELD_ERRORS = 2048, 100

# The table may be locked by a migration, and the response is due.
_LOCK_TIMEOUT = "SELECT set_config('lock_timeout', '500ms', true)"
# All but the partner's last MAX_REQUESTS.
_DELETE_OLDER = f"""
    DELETE FROM partners_sandboxrequest
     WHERE partner_id = %s AND (created_at, request_id) < (
           SELECT created_at, request_id FROM partners_sandboxrequest WHERE partner_id = %s
            ORDER BY created_at DESC, request_id DESC OFFSET {MAX_REQUESTS - 1} LIMIT 1)
"""


def record(request: Any, response: HttpResponseBase, *, partner_id: int, arrived_at: float) -> None:
    """Store a request and remove all but the partner's last ones. arrived_at: in seconds since the epoch.

    Called when the request's transaction has ended and its response is made: it never fails, and waits for a lock for
    half a second at most. The partner misses a line of a list, no more.
    """
    try:
        with transaction.atomic():
            statements.queue(Query(_LOCK_TIMEOUT, ()))
            store(_row(request, response, partner_id, arrived_at))
    except Exception:
        log.warning("request could not be recorded", exc_info=True)


def last_requests(partner_id: int) -> QuerySet[SandboxRequest]:
    """The partner's requests of the last 24 hours, the newest first."""
    rows = SandboxRequest.objects.filter(partner_id=partner_id, created_at__gt=Now() - KEPT)
    return rows.order_by("-created_at", "-request_id")


def store(row: SandboxRequest) -> None:
    """Store a request and remove all but the partner's last ones. Raises Django's database errors."""
    row.save(force_insert=True)
    statements.run(_DELETE_OLDER, (row.partner_id, row.partner_id))


def _row(request: Any, response: HttpResponseBase, partner_id: int, arrived_at: float) -> SandboxRequest:
    error: dict[str, Any] = json.loads(response.content) if response.status_code >= 400 else {}  # type: ignore[attr-defined]  # noqa: PLR2004 - errors
    key, sent = request.header("HTTP_IDEMPOTENCY_KEY"), request.query_bytes.decode(errors="replace")
    plain = unquote(sent)
    try:
        path = request.canonical_path
    except NotUtf8Error:
        path = quote_from_bytes(request.path_bytes, safe="/")
    return SandboxRequest(
        partner_id=partner_id,
        request_id=uuid.UUID(request.request_id),
        created_at=datetime.fromtimestamp(arrived_at, UTC),
        method=_text(request.method)[:10],
        path=_text(path),
        # A key or secret may hide behind escapes.
        query=_text(sent if keys.masked(plain) == plain else plain),
        status=response.status_code,
        error=error.get("error"),
        field_errors=[
            {name: _text(value) for name, value in one.items()}
            for one in error.get("fieldErrors", ())[:MAX_FIELD_ERRORS]
        ],
        idempotency_key=None if key is None else _text(key),
        replayed="Idempotent-Replayed" in response.headers,
        milliseconds=max(0, round((time.time() - arrived_at) * 1000)),
        diagnosis={name: _text(value) for name, value in error["diagnosis"].items()} if "diagnosis" in error else None,
    )


def _text(text: str) -> str:
    """A text as PostgreSQL can store it: without NUL and lone surrogates, keys and secrets, and not too long."""
    plain = keys.masked(text).replace("\0", "\N{REPLACEMENT CHARACTER}").encode(errors="replace").decode()
    return plain if len(plain) <= MAX_LENGTH else plain[: MAX_LENGTH - 1] + "…"
