"""Step 9: switch to another API key while both are in force."""

import os
import sys
import uuid

import psi

new_key, new_secret = os.environ.get("PSI_NEW_API_KEY"), os.environ.get("PSI_NEW_SECRET")
if not (new_key and new_secret):
    sys.exit("PSI_NEW_API_KEY and PSI_NEW_SECRET are not set")

target = f"/v1/users/{os.environ['EXTERNAL_ID']}"
changes, idempotency_key = b'{"occupation": "Architect"}', str(uuid.uuid4())

response = psi.send("PATCH", target, changes, idempotency_key)
print(f"old key: {response.status}")

os.environ["PSI_API_KEY"], os.environ["PSI_SECRET"] = new_key, new_secret
# A retry of what the old key began: Idempotency-Keys are shared by all keys of a partner.
response = psi.send("PATCH", target, changes, idempotency_key)
print(f"new key: {response.status}, replayed: {response.headers['Idempotent-Replayed']}")
