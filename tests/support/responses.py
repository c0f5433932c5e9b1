"""Assertions about responses under /v1 (contract, section 1)."""

from typing import Any

from tests.support.client import Response

FIELD_ERROR_CODES = {
    *("required", "unknown", "duplicate", "type", "format", "length", "range", "notAllowed", "inconsistent"),
}
STATUS_OF_ERROR = {
    "bad_request": {400, 405, 413, 415},
    "unauthorized": {401},
    "not_found": {404},
    "conflict": {409},
    "unprocessable_entity": {422},
    "too_many_requests": {429},
    "internal_error": {500, 503},
}


def assert_error(response: Response, status: int) -> dict[str, Any]:
    """Check the whole form of an error response, and return its body."""
    assert response.status == status, response.body
    body: dict[str, Any] = response.json()
    keys = {"error", "message", "requestId"} | ({"fieldErrors"} if body["error"] == "bad_request" else set())
    # A sandbox key in force may be told why (contract, section 11).
    assert keys <= set(body) <= keys | ({"diagnosis"} if status == 401 else set())
    assert status in STATUS_OF_ERROR[body["error"]]
    assert body["message"]
    assert body["requestId"] == response.header("X-Request-Id")
    assert response.header("Cache-Control") == "no-store"
    assert response.header("Content-Type") == "application/json"
    assert response.header("Content-Length") == str(len(response.body))
    return body


def failing_fields(response: Response, status: int = 400) -> list[str]:
    """Return the field names of a bad_request's fieldErrors."""
    problems = assert_error(response, status)["fieldErrors"]
    assert all(set(problem) == {"field", "message", "code"} and problem["message"] for problem in problems)
    assert {problem["code"] for problem in problems} <= FIELD_ERROR_CODES
    return [problem["field"] for problem in problems]


def codes(response: Response) -> dict[str, str]:
    """Return the codes of a bad_request's fieldErrors, by field."""
    return {problem["field"]: problem["code"] for problem in assert_error(response, 400)["fieldErrors"]}
