"""Step 10: lose the response to a write, ask whether it has happened, and retry it."""

import uuid

import psi

client, target = psi.Client(), psi.user_path(psi.setting("EXTERNAL_ID"))
changes = b'{"addressLine1": "1 Elgin St", "city": "Ottawa", "postalCode": "K1P 5W1"}'
# Store both before you send: a retry needs the same key and the same bytes.
key = str(uuid.uuid4())

# `send` makes one attempt only: the other methods retry by themselves, under the same key.
try:
    client.send("PATCH", target, changes, key, {"X-Sandbox-Fault": "lostAnswer"})
except psi.NoResponseError:
    print("no response")

# None: it has not happened so far. Retry it under the same key: under a new one it might happen twice.
print("it has happened" if client.get_idempotency_key(key) else "it has not happened")

again = client.send("PATCH", target, changes, key)
print(f"retry: {again.status}, replayed: {again.headers['Idempotent-Replayed']}")
