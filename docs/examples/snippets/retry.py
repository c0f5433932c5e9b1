"""Retries a write until the service accepts or refuses it. It takes effect once."""

import time
import uuid
from http.client import HTTPException

import psi

ATTEMPTS = 5
TRY_AGAIN = {429, 500, 503}


def write(method: str, target: str, body: bytes, idempotency_key: str) -> psi.Response:
    """The response. Each attempt has the same Idempotency-Key and body, and a new signature."""
    attempt = 1
    while True:
        seconds = 2.0 ** (attempt - 1)
        try:
            response = psi.send(method, target, body, idempotency_key)
        except (OSError, HTTPException):
            # The write may have taken effect: retry.
            if attempt == ATTEMPTS:
                raise
        else:
            if response.status not in TRY_AGAIN or attempt == ATTEMPTS:
                return response
            seconds = float(response.headers.get("Retry-After", seconds))
        time.sleep(seconds)
        attempt += 1


response = write("PATCH", "/v1/users/cust-1001", b'{"city": "Ottawa", "postalCode": "K1P 5W1"}', str(uuid.uuid4()))
print(response.status, response.json())
