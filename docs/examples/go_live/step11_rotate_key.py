"""Step 11: rotate your API key, and switch to the new one while both are in force."""

import shlex
import uuid
from pathlib import Path

import psi

old, target = psi.Client(), psi.user_path(psi.setting("EXTERNAL_ID"))

# The secret is shown this once, in a response that is not stored: no Idempotency-Key. If it is lost, rotate again.
issued = old.sandbox.rotate_api_key(overlap_hours=24)
# In place of your secret store.
file = Path("new_key.env")
file.touch(mode=0o600)
key, secret = shlex.quote(issued["apiKey"]), shlex.quote(issued["secret"])
file.write_text(f"export PSI_API_KEY={key} PSI_SECRET={secret}\n")
print(f"the old key ends at {issued['expiresAt']}")

new = psi.Client(api_key=issued["apiKey"], secret=issued["secret"])
changes, idempotency_key = b'{"occupation": "Architect"}', str(uuid.uuid4())

response = old.send("PATCH", target, changes, idempotency_key)
print(f"old key: {response.status}")

# A retry of what the old key began: Idempotency-Keys are shared by all keys of a partner.
response = new.send("PATCH", target, changes, idempotency_key)
print(f"new key: {response.status}, replayed: {response.headers['Idempotent-Replayed']}")
