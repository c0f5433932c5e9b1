"""Step 9: switch to another API key while both are in force."""

import os
import uuid

import psi

new_key, new_secret = psi.setting("PSI_NEW_API_KEY"), psi.setting("PSI_NEW_SECRET")

target = f"/v1/users/{psi.setting('EXTERNAL_ID')}"
changes, idempotency_key = b'{"occupation": "Architect"}', str(uuid.uuid4())

response = psi.send("PATCH", target, changes, idempotency_key)
print(f"old key: {response.status}")

os.environ["PSI_API_KEY"], os.environ["PSI_SECRET"] = new_key, new_secret
# A retry of what the old key began: Idempotency-Keys are shared by all keys of a partner.
response = psi.send("PATCH", target, changes, idempotency_key)
print(f"new key: {response.status}, replayed: {response.headers['Idempotent-Replayed']}")
