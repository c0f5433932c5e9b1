"""Step 11: rotate your API key, and switch to the new one while both are in force."""

import shlex
import uuid
from pathlib import Path

import httpx

import psi

old, user = httpx.Client(**psi.options()), psi.path("users", psi.setting("EXTERNAL_ID"))

# The secret is shown this once, in a response that is not stored: no Idempotency-Key. If it is lost, rotate again.
rotation = {"overlapHours": 24}
issued = psi.send(old, "POST", "/v1/sandbox/api-keys/rotate", json=rotation, idempotency_key="").json()
# In place of your secret store.
file = Path("new_key.env")
file.touch(mode=0o600)
key, secret = shlex.quote(issued["apiKey"]), shlex.quote(issued["secret"])
file.write_text(f"export PSI_API_KEY={key} PSI_SECRET={secret}\n")
print(f"the old key ends at {issued['expiresAt']}")

new = httpx.Client(**psi.options(api_key=issued["apiKey"], secret=issued["secret"]))
changes, idempotency_key = {"occupation": "Architect"}, str(uuid.uuid4())

response = psi.send(old, "PATCH", user, json=changes, idempotency_key=idempotency_key)
print(f"old key: {response.status_code}")

# A retry of what the old key began: Idempotency-Keys are shared by all keys of a partner.
response = psi.send(new, "PATCH", user, json=changes, idempotency_key=idempotency_key)
print(f"new key: {response.status_code}, replayed: {response.headers['Idempotent-Replayed']}")
