"""Sends a write until the service has taken it, or refused it for good. It takes effect once."""

import time
import uuid
from http.client import HTTPException

import psi

ATTEMPTS = 5
TRY_AGAIN = {429, 503}


def write(method: str, target: str, body: bytes, idempotency_key: str) -> psi.Answer:
    """The answer. Each attempt has the same Idempotency-Key and the same body, and is signed anew."""
    attempt = 1
    while True:
        seconds = 2.0 ** (attempt - 1)
        try:
            answer = psi.send(method, target, body, idempotency_key)
        except (OSError, HTTPException):
            # Whether it took effect nobody knows: the next attempt tells.
            if attempt == ATTEMPTS:
                raise
        else:
            if answer.status not in TRY_AGAIN or attempt == ATTEMPTS:
                return answer
            seconds = float(answer.headers.get("Retry-After", seconds))
        time.sleep(seconds)
        attempt += 1


answer = write("PATCH", "/v1/users/cust-1001", b'{"city": "Ottawa", "postalCode": "K1P 5W1"}', str(uuid.uuid4()))
print(answer.status, answer.json())
