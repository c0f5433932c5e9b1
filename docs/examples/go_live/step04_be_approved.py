"""Step 4: simulate the decisions of compliance, a rejection and an approval."""

import httpx

import psi

decisions = psi.path("sandbox", "users", psi.setting("EXTERNAL_ID"), "status")
with httpx.Client(**psi.options()) as client:
    for status in ("rejected", "pendingCompliance", "active"):
        user = psi.send(client, "POST", decisions, json={"status": status}).json()
        print(f"{user['externalId']} is {user['status']}")
