"""Parameters, headers and examples of lists and files in the OpenAPI document."""

from typing import Any

from drf_spectacular.utils import OpenApiExample, OpenApiParameter

from partners.api.errors import invalid_parameter
from partners.api.pagination import NOT_A_CURSOR
from partners.api.schema import LIMIT, cursor_parameter, response_header
from transactions.keyset import CURSOR
from users.api.errors import BAD_PATH, user_not_found
from users.api.schema import EXTERNAL_ID_IN_PATH

_CURSOR = "2026-01-15T10:30:00.1234560512345678901234567Z"
_SHA256 = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"

LIST_PARAMETERS = [
    EXTERNAL_ID_IN_PATH,
    cursor_parameter(CURSOR.pattern, _CURSOR),
    LIMIT,
]
LIST_ERRORS = (BAD_PATH, invalid_parameter("cursor", NOT_A_CURSOR), user_not_found())

CONVERSION = {
    "conversionId": "cv-20260115-000417",
    "createdAt": "2026-01-15T10:30:00.123456Z",
    "type": "conversion",
    "from": {"currency": "CAD", "amount": "100.00"},
    "to": {"currency": "USD", "amount": "71.50"},
    "rate": "0.715",
}
SIMULATED_CONVERSION = {
    "from": {"currency": "CAD", "amount": "100.00"},
    "to": {"currency": "USD", "amount": "71.50"},
    "rate": "0.715",
}
LATE_CONVERSION = {"conversionId": "cv-20251224-000003", "createdAt": "2025-12-24T16:05:00Z", **SIMULATED_CONVERSION}
DOCUMENT = {
    "documentId": "5d8f4f0e-3d3c-4a53-9a76-0a7c2cf1b1d4",
    "createdAt": "2026-01-31T12:00:00.000000Z",
    "type": "accountStatement",
    "title": "Account statement, January 2026",
    "contentType": "application/pdf",
    "sizeBytes": 48213,
    "sha256": _SHA256,
}


def page_of(item: dict[str, Any]) -> dict[str, Any]:
    """The example of a page."""
    return {
        "externalId": "cust-1001",
        "userId": "92811e6e-0786-4030-88b7-5b6c5d6e82f4",
        "nextCursor": _CURSOR,
        "items": [item],
    }


FILE_PARAMETERS = [
    EXTERNAL_ID_IN_PATH,
    OpenApiParameter(
        "document_id",
        type={"type": "string", "format": "uuid"},
        location=OpenApiParameter.PATH,
        description="The documentId from the list.",
        examples=[OpenApiExample("documentId", value=DOCUMENT["documentId"])],
    ),
    response_header(
        "Content-Disposition",
        "An attachment named after the title (RFC 6266).",
        'attachment; filename="Account statement, January 2026.pdf"',
        pattern="^attachment; filename=.+$",
        statuses=[200],
    ),
    response_header(
        "ETag",
        "The file's SHA-256 in quotes; a document never changes.",
        f'"{_SHA256}"',
        pattern='^"[0-9a-f]{64}"$',
        statuses=[200],
    ),
    response_header("Accept-Ranges", "Range requests are not supported.", "none", const="none", statuses=[200]),
    response_header(
        "X-Content-Type-Options", "Do not guess another content type.", "nosniff", const="nosniff", statuses=[200]
    ),
]
