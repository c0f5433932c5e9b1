"""Step 4: simulate the decisions of compliance, a rejection and an approval."""

import json
import sys

import psi

user = psi.setting("EXTERNAL_ID")
for status in ("rejected", "pendingCompliance", "active"):
    decision = json.dumps({"status": status}).encode()
    response = psi.send("POST", f"/v1/sandbox/users/{user}/status", decision)
    result = response.json()
    if response.status != 200:
        sys.exit(f"{response.status} {result['message']}")
    print(f"{user} is {result['status']}")
