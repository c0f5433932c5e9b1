"""What the guide says that the code knows: limits, the worked example, the examples' text."""

import json
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from urllib.parse import unquote_to_bytes

from django.conf import settings
from django.template.loader import render_to_string

from partners.api import errors, idempotency
from partners.api.json import BODY_LIMIT_BYTES
from partners.api.rates import parse_rate
from partners.authentication import keys, signing
from partners.authentication.signature_authentication import NOT_VALID
from partners.docs import example_files, openapi

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
    ("documents", "Documents"),
    ("security", "Security"),
    ("versioning", "Versioning"),
    ("deprecation", "Deprecation"),
    ("support", "Support"),
)

# The languages whose pieces stand in the quick start.
QUICK_LANGUAGES = ("Python", "Node.js", "Bash")
ENVIRONMENT = "export PSI_BASE_URL='{base_url}'\nexport PSI_API_KEY='{key}…'\nexport PSI_SECRET='{secret}…'"
EXAMPLE_ERROR = errors.invalid_fields(
    [
        errors.FieldError("email", "Must be a valid email address."),
        errors.FieldError("dateOfBirth", "Must be a calendar date, YYYY-MM-DD."),
    ]
).body() | {"requestId": "4b0c7d1e-58a3-4d0c-9f0e-2f6a3c1b7d55"}


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the canonical request. value: in the worked example. source: where it comes from."""

    name: str
    value: str
    source: str


@lru_cache(maxsize=8)
def page(base_url: str) -> str:
    """Render the page, once in the life of a process for each address."""
    return render_to_string("docs/guide.html", context(base_url))


def context(base_url: str) -> dict[str, Any]:
    """What the guide's template shows. base_url: where the reader found it, without a slash at the end."""
    rate = parse_rate(settings.PARTNER_RATE_LIMIT)
    limit = _list_limit()
    return {
        "here": "guide",
        "contents": [{"title": "", "links": [{"id": name, "title": title} for name, title in SECTIONS]}],
        "base_url": base_url,
        "environment": ENVIRONMENT.format(base_url=base_url, key=keys.KEY_PREFIX, secret=keys.SECRET_PREFIX),
        "quick_languages": QUICK_LANGUAGES,
        "worked": worked_example(),
        "vectors": vectors(),
        "clients": example_files.clients(),
        "snippets": example_files.snippets(),
        "not_valid": NOT_VALID,
        "error_text": json.dumps(EXAMPLE_ERROR, indent=2),
        "body_limit_bytes": BODY_LIMIT_BYTES,
        "body_limit_kib": BODY_LIMIT_BYTES // 1024,
        "skew": settings.CLOCK_SKEW_SECONDS,
        "window_hours": int(idempotency.WINDOW.total_seconds()) // 3600,
        "rate_text": f'RateLimit-Policy: "default";q={rate.amount};w={rate.seconds}\n'
        f'RateLimit: "default";r={rate.amount - 1};t={rate.seconds * 7 // 10}',
        "counts_apart": not settings.REDIS_URL,
        "rate_amount": rate.amount,
        "rate_seconds": rate.seconds,
        "limit_default": limit["default"],
        "limit_highest": limit["maximum"],
        "key_prefix": keys.KEY_PREFIX,
        "secret_prefix": keys.SECRET_PREFIX,
        "realm": errors.REALM,
    }


def vectors() -> dict[str, Any]:
    """How many requests the published file holds of each kind."""
    published = json.loads(example_files.VECTORS.read_bytes())
    return {
        "accepted": len(published["vectors"]),
        "refused": len(published["refused"]),
        "statuses": sorted({entry["status"] for entry in published["refused"]}, reverse=True),
    }


def worked_example() -> dict[str, Any]:
    """The first of the published vectors, signed here: each line, the signature, and the request as sent."""
    published = json.loads(example_files.VECTORS.read_bytes())
    vector, secret = published["vectors"][0], published["secret"]
    canonical = signing.canonical_request(
        vector["method"],
        unquote_to_bytes(vector["path"]),
        vector["query"].encode(),
        vector["timestamp"],
        vector["idempotencyKey"],
        vector["body"].encode(),
    )
    names = ("Method", "Path", "Query", "Timestamp", "Idempotency key", "Digest of the body")
    signature = signing.sign(secret, canonical)
    return {
        "vector": vector,
        "secret": secret,
        "canonical": canonical,
        "signature": signature,
        "request": _as_sent(vector, signature),
        "body_bytes": len(vector["body"].encode()),
        "lines": [Line(*parts) for parts in zip(names, canonical.split("\n"), _SOURCES, strict=True)],
    }


def _as_sent(vector: dict[str, str], signature: str) -> str:
    head = (
        f"{vector['method']} {vector['path']} HTTP/1.1",
        "Content-Type: application/json",
        f"X-Api-Key: {keys.KEY_PREFIX}…",
        f"X-Request-Timestamp: {vector['timestamp']}",
        f"X-Request-Signature: {signature}",
        f"Idempotency-Key: {vector['idempotencyKey']}",
    )
    return "\n".join((*head, "", vector["body"]))


_SOURCES = (
    "The method, in upper case.",
    (
        "The path from /v1 on: percent-decoded, then each byte but A-Z a-z 0-9 - . _ ~ / percent-encoded again, with"
        " upper-case hex."
    ),
    (
        "The query's names and values, decoded (+ is a space) and encoded again as the path, but / too; sorted; written"
        " name=value, joined by &. Empty where there is no query; the line stays."
    ),
    "X-Request-Timestamp, exactly as you send it.",
    "Idempotency-Key, exactly as you send it. Empty where you send none; the line stays.",
    "The SHA-256 of the body's bytes, in lower-case hex. Of no bytes where there is no body.",
)


def _list_limit() -> dict[str, int]:
    """The bounds of `limit`, which belong to the lists above this app and are in the description."""
    for path in openapi.document()["paths"].values():
        for operation in path.values():
            for parameter in operation.get("parameters", []):
                if parameter.get("name") == "limit":
                    schema: dict[str, int] = parameter["schema"]
                    return schema
    raise LookupError("no operation has a parameter `limit`")
