"""A write that is retried until the service accepts or refuses it. It takes effect once."""

import sys
import uuid

import httpx

import psi

# Store both before you send: should this program end, the next one goes on with the same key and the same changes.
idempotency_key, changes = str(uuid.uuid4()), {"city": "Ottawa", "postalCode": "K1P 5W1"}

user = psi.path("users", "cust-1001")
with httpx.Client(**psi.options()) as client:
    try:
        # It waits for Retry-After, or a little longer each time. Each attempt has a new signature.
        response = psi.send(client, "PATCH", user, json=changes, idempotency_key=idempotency_key, attempts=5)
    except psi.PsiError as error:
        # With is_temporary, later attempts may succeed, under the same key.
        sys.exit(str(error))
print(response.status_code, response.json())
