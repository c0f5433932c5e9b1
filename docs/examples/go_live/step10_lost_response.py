"""Step 10: lose the response to a write, ask whether it has happened, and retry it."""

import uuid

import httpx

import psi

client, user = httpx.Client(**psi.options()), psi.path("users", psi.setting("EXTERNAL_ID"))
# Store both before you send: a retry needs the same key and the same bytes.
key, changes = str(uuid.uuid4()), b'{"addressLine1": "1 Elgin St", "city": "Ottawa", "postalCode": "K1P 5W1"}'

# One attempt, to see it fail: `send` retries by itself, under the same key.
try:
    fault = {"X-Sandbox-Fault": "lostAnswer"}
    psi.send(client, "PATCH", user, content=changes, idempotency_key=key, headers=fault, attempts=1)
except psi.NoResponseError:
    print("no response")

# None: it has not happened so far. Retry it under the same key: under a new one it might happen twice.
print("it has happened" if psi.find_write(client, key) else "it has not happened")

again = psi.send(client, "PATCH", user, content=changes, idempotency_key=key)
print(f"retry: {again.status_code}, replayed: {again.headers['Idempotent-Replayed']}")
