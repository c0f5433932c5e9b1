"""The values that the guide takes from the code: limits, the worked example, the snippets."""

import json
from functools import lru_cache

from django.conf import settings
from django.template.loader import render_to_string

from partners import retention
from partners.api import errors, idempotency
from partners.api.json import MAX_BODY_BYTES
from partners.api.pagination import DEFAULT_LIMIT, MAX_LIMIT
from partners.authentication import diagnosis, keys
from partners.authentication.signature_authentication import REALM
from partners.models import KEY_PREFIXES, Mode
from partners.rates import parse_rate
from portal import openapi
from portal.guide import example_files

SECTIONS = (
    ("quick-start", "Quick start"),
    ("authentication", "Authentication"),
    ("common-mistakes", "Common mistakes"),
    ("examples", "Code examples"),
    ("vectors", "Test vectors"),
    ("idempotency", "Idempotency"),
    ("errors", "Errors"),
    ("pagination", "Pagination"),
    ("rate-limits", "Rate limits"),
    ("status-life-cycle", "Status life cycle"),
    ("requirements", "Reasons and requirements"),
    ("documents", "Documents"),
    ("events", "Events"),
    ("webhooks", "Webhooks"),
    ("security", "Security"),
    ("versioning", "Versioning"),
    ("deprecation", "Deprecation"),
    ("support", "Support"),
)
# The languages of the quick start.
QUICK_LANGUAGES = ("Python", "Node.js", "Bash")
_EXAMPLE_ERROR = errors.BadRequestError(
    field_errors=[
        errors.FieldError("email", "Must be an email address of a public domain, such as name@example.com.", "format"),
        errors.FieldError("dateOfBirth", "Must be a calendar date, YYYY-MM-DD, such as 1985-01-31.", "format"),
    ]
).body() | {"requestId": "4b0c7d1e-58a3-4d0c-9f0e-2f6a3c1b7d55"}


@lru_cache(maxsize=8)
def page(base_url: str) -> str:
    """Render the page, once in each process and for each address. base_url: without a slash at the end."""
    published = json.loads(example_files.VECTORS.read_bytes())
    worked = published["vectors"][0]
    rate = parse_rate(settings.PARTNER_RATE_LIMIT)
    context = {
        "here": "guide",
        "markdown": "guide",
        "contents": [{"title": "", "links": [{"id": name, "title": title} for name, title in SECTIONS]}],
        "base_url": base_url,
        "key_prefix": KEY_PREFIXES[Mode.SANDBOX],
        "secret_prefix": keys.SECRET_PREFIXES[Mode.SANDBOX],
        "live_key_prefix": KEY_PREFIXES[Mode.LIVE],
        "live_secret_prefix": keys.SECRET_PREFIXES[Mode.LIVE],
        "quick_languages": QUICK_LANGUAGES,
        "clients": example_files.clients(),
        "snippets": example_files.samples_in("snippets"),
        "worked": worked,
        "worked_body_bytes": len(worked["body"].encode()),
        "worked_lines": [
            ({"title": name, "rule": diagnosis.RULES[name]}, line)
            for name, line in zip(diagnosis.LINES, worked["canonicalRequest"].split("\n"), strict=True)
        ],
        "published": published,
        "refused_statuses": sorted({entry["status"] for entry in published["refused"]}, reverse=True),
        "not_valid": errors.UnauthorizedError.default_detail,
        "already_received": idempotency.ALREADY_RECEIVED,
        "realm": REALM,
        "asked_user": json.dumps(_asked_user(), indent=2),
        "error_text": json.dumps(_EXAMPLE_ERROR, indent=2),
        "max_body_bytes": MAX_BODY_BYTES,
        "max_body_kib": MAX_BODY_BYTES // 1024,
        "skew": settings.CLOCK_SKEW_SECONDS,
        "window_hours": int(idempotency.WINDOW.total_seconds()) // 3600,
        "rate": rate,
        "rate_example": {"left": rate.amount - 1, "seconds": rate.seconds * 7 // 10},
        "counts_by_process": not settings.REDIS_URL,
        "event_days": retention.EVENTS_KEPT.days,
        "default_limit": DEFAULT_LIMIT,
        "max_limit": MAX_LIMIT,
    }
    return render_to_string("docs/guide.html", context)


def _asked_user() -> openapi.Node:
    """Return the description's example of a user, on hold until a requirement is answered."""
    whole = openapi.document()
    response = whole["paths"]["/v1/users/{externalId}"]["get"]["responses"]["200"]
    (media,) = openapi.contents(whole, response).values()
    [(_, user)] = openapi.examples(whole, media)
    asked: openapi.Node = user | {"status": "suspended", "statusReason": "informationMissing"}
    return asked
