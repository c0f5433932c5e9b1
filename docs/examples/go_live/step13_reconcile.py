"""Step 13: compare all users of the service with your own."""

import json
from pathlib import Path

import httpx

import psi
import psi_events

with httpx.Client(**psi.options()) as client:
    # What the feed still holds is not a difference.
    psi_events.follow(client)
    service = {user["externalId"]: user["status"] for user in psi.items(client, "/v1/users")}
own = json.loads(Path("users.json").read_text())

different = [user for user in sorted(own.keys() | service.keys()) if own.get(user) != service.get(user)]
for user in different:
    print(f"{user}: own {own.get(user, 'none')}, service {service.get(user, 'none')}")
print(f"users: own {len(own)}, service {len(service)}, different {len(different)}")
