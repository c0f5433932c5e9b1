"""Step 8: lose the response to a write, ask whether it has happened, and retry it."""

import uuid
from http.client import HTTPException

import psi

target = f"/v1/users/{psi.setting('EXTERNAL_ID')}"
changes = b'{"addressLine1": "1 Elgin St", "city": "Ottawa", "postalCode": "K1P 5W1"}'
# Store both before you send: a retry needs the same key and the same bytes.
key = str(uuid.uuid4())

try:
    psi.send("PATCH", target, changes, key, {"X-Sandbox-Fault": "lostAnswer"})
except (OSError, HTTPException):
    print("no response")

found = psi.send("GET", f"/v1/idempotency-keys/{key}")
# 404: it has not happened so far. Retry it under the same key: under a new one it might happen twice.
print("it has happened" if found.status == 200 else f"look-up: {found.status}")

again = psi.send("PATCH", target, changes, key)
print(f"retry: {again.status}, replayed: {again.headers['Idempotent-Replayed']}")
