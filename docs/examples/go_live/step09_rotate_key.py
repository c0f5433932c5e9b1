"""Step 9: switch to another API key while both are in force."""

import os
import sys
import uuid

import psi

new_key, new_secret = os.environ.get("PSI_NEW_API_KEY"), os.environ.get("PSI_NEW_SECRET")
if not (new_key and new_secret):
    sys.exit("PSI_NEW_API_KEY and PSI_NEW_SECRET are not set")
old, new = psi.Client(), psi.Client(api_key=new_key, secret=new_secret)

target = psi.user_path(os.environ["EXTERNAL_ID"])
changes, idempotency_key = b'{"occupation": "Architect"}', str(uuid.uuid4())

response = old.send("PATCH", target, changes, idempotency_key)
print(f"old key: {response.status}")

# A retry of what the old key began: Idempotency-Keys are shared by all keys of a partner.
response = new.send("PATCH", target, changes, idempotency_key)
print(f"new key: {response.status}, replayed: {response.headers['Idempotent-Replayed']}")
