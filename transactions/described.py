"""How the lists of conversions and documents, and a document's file, are described to partners: contract, 6 and 7."""

from typing import Any

from partners.api.description import File, Header, Link, Operation, Parameter, Schema, Shape
from partners.api.errors import FieldError, NotFoundError, invalid_fields
from partners.described import INSTANT
from transactions.contents import ENDINGS
from transactions.models import TITLE_LENGTH, DocumentType
from transactions.pagination import DEFAULT_LIMIT, NOT_A_CURSOR
from transactions.positions import HIGHEST_LIMIT, TIEBREAK_DIGITS
from users.described import BAD_PATH, EXTERNAL_ID, EXTERNAL_ID_IN_PATH, USER_ID
from users.profile import no_such_user

NO_SUCH_DOCUMENT = "There is no such document."

CURSOR: Schema = {
    "type": "string",
    "pattern": rf"^\d{{4}}-\d{{2}}-\d{{2}}T\d{{2}}:\d{{2}}:\d{{2}}\.\d{{{6 + TIEBREAK_DIGITS}}}Z$",
}
_CURSOR_EXAMPLE = "2026-01-15T10:30:00.1234560512345678901234567Z"
AMOUNT: Schema = {
    "type": "string",
    "pattern": r"^(0|[1-9]\d{0,19})(\.\d{1,18})?$",
    "description": "Plain decimal notation, the digits as recorded.",
}
CURRENCY: Schema = {"type": "string", "pattern": "^[A-Z0-9]{3,10}$", "description": "A currency code."}

LIST_PARAMETERS = (
    EXTERNAL_ID_IN_PATH,
    Parameter(
        "cursor",
        "query",
        "The nextCursor of the page before, unchanged; without it the list begins.",
        lambda: CURSOR,
        _CURSOR_EXAMPLE,
    ),
    Parameter(
        "limit",
        "query",
        "How many items at most.",
        lambda: {"type": "integer", "minimum": 1, "maximum": HIGHEST_LIMIT, "default": DEFAULT_LIMIT},
        DEFAULT_LIMIT,
    ),
)
LIST_ERRORS = (BAD_PATH, invalid_fields([FieldError("cursor", NOT_A_CURSOR)]), no_such_user())

MONEY = Shape(
    "Money",
    lambda: {
        "type": "object",
        "required": ["currency", "amount"],
        "properties": {"currency": CURRENCY, "amount": AMOUNT},
    },
    {"currency": "CAD", "amount": "100.00"},
)
CONVERSION = Shape(
    "Conversion",
    lambda: {
        "type": "object",
        "required": ["conversionId", "createdAt", "type", "from", "to", "rate"],
        "properties": {
            "conversionId": {"type": "string", "pattern": "^[A-Za-z0-9_.-]{1,64}$"},
            "createdAt": INSTANT | {"description": "When it was made."},
            "type": {"type": "string", "enum": ["conversion"]},
            "from": MONEY,
            "to": MONEY,
            "rate": {**AMOUNT, "description": "Above zero, in plain decimal notation, the digits as recorded."},
        },
    },
    {
        "conversionId": "cv-20260115-000417",
        "createdAt": "2026-01-15T10:30:00.123456Z",
        "type": "conversion",
        "from": {"currency": "CAD", "amount": "100.00"},
        "to": {"currency": "USD", "amount": "71.50"},
        "rate": "0.715",
    },
)


def page_of(name: str, item: Shape) -> Shape:
    """A page of a list of these items: contract, section 6."""

    def schema() -> Schema:
        return {
            "type": "object",
            "required": ["externalId", "userId", "nextCursor", "items"],
            "properties": {
                "externalId": EXTERNAL_ID,
                "userId": USER_ID,
                "nextCursor": {
                    **CURSOR,
                    "type": ["string", "null"],
                    "description": "Where the next page begins: text to be sent back unchanged; null at the end.",
                },
                "items": {"type": "array", "items": item, "maxItems": HIGHEST_LIMIT},
            },
        }

    example: dict[str, Any] = {
        "externalId": "cust-1001",
        "userId": "92811e6e-0786-4030-88b7-5b6c5d6e82f4",
        "nextCursor": _CURSOR_EXAMPLE,
        "items": [item.example],
    }
    return Shape(name, schema, example)


_OF_THE_USER = {"externalId": "$response.body#/externalId"}


def _next_page(operation: str) -> Link:
    return Link(operation, _OF_THE_USER | {"cursor": "$response.body#/nextCursor"})


LIST_TRANSACTIONS = Operation(
    id="listTransactions",
    tag="Conversions",
    summary="Page through a user's conversions",
    description="Newest first. Every conversion that was there when paging began comes exactly once, whatever is"
    " recorded meanwhile.",
    parameters=LIST_PARAMETERS,
    answer=page_of("ConversionPage", CONVERSION),
    answered="A page of conversions.",
    errors=LIST_ERRORS,
    links=(_next_page("listTransactions"),),
)

DOCUMENT = Shape(
    "Document",
    lambda: {
        "type": "object",
        "required": ["documentId", "createdAt", "type", "title", "contentType", "sizeBytes", "sha256"],
        "properties": {
            "documentId": {"type": "string", "format": "uuid"},
            "createdAt": INSTANT | {"description": "When it was issued."},
            "type": {"type": "string", "enum": list(DocumentType.values)},
            "title": {"type": "string", "minLength": 1, "maxLength": TITLE_LENGTH},
            "contentType": {"type": "string", "enum": list(ENDINGS)},
            "sizeBytes": {"type": "integer", "minimum": 1},
            "sha256": {
                "type": "string",
                "pattern": "^[0-9a-f]{64}$",
                "description": "Lower-case hex: compare it with what you have downloaded.",
            },
        },
    },
    {
        "documentId": "5d8f4f0e-3d3c-4a53-9a76-0a7c2cf1b1d4",
        "createdAt": "2026-01-31T12:00:00.000000Z",
        "type": "accountStatement",
        "title": "Account statement, January 2026",
        "contentType": "application/pdf",
        "sizeBytes": 48213,
        "sha256": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    },
)
LIST_DOCUMENTS = Operation(
    id="listDocuments",
    tag="Documents",
    summary="Page through a user's documents",
    description="Papers issued to the user about the account, newest first.",
    parameters=LIST_PARAMETERS,
    answer=page_of("DocumentPage", DOCUMENT),
    answered="A page of documents.",
    errors=LIST_ERRORS,
    links=(
        _next_page("listDocuments"),
        Link("getDocument", _OF_THE_USER | {"documentId": "$response.body#/items/0/documentId"}),
    ),
)
GET_DOCUMENT = Operation(
    id="getDocument",
    tag="Documents",
    summary="Download a document",
    description="The file itself. The service checks it while sending: where it is not what was published, the"
    " connection is broken off before the last byte. An answer shorter than its Content-Length is no document.",
    parameters=(
        EXTERNAL_ID_IN_PATH,
        Parameter(
            "documentId",
            "path",
            "As the list of documents has it.",
            lambda: {"type": "string", "format": "uuid"},
            "5d8f4f0e-3d3c-4a53-9a76-0a7c2cf1b1d4",
            required=True,
        ),
    ),
    answer=File(tuple(ENDINGS)),
    answered="The file, in the media type that the list says.",
    headers=(
        Header(
            "Content-Disposition",
            "To be saved, under the document's title (RFC 6266).",
            {"type": "string", "pattern": "^attachment; filename="},
            'attachment; filename="Account statement, January 2026.pdf"',
        ),
        Header(
            "ETag",
            "The file's SHA-256, in quotes: a document never changes.",
            {"type": "string", "pattern": '^"[0-9a-f]{64}"$'},
            '"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"',
        ),
        Header("Accept-Ranges", "Parts are not given.", {"type": "string", "const": "none"}, "none"),
        Header(
            "X-Content-Type-Options",
            "What the media type says holds.",
            {"type": "string", "const": "nosniff"},
            "nosniff",
        ),
    ),
    errors=(BAD_PATH, NotFoundError(NO_SUCH_DOCUMENT), no_such_user()),
)
