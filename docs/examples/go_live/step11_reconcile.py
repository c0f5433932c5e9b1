"""Step 11: compare all users of the service with your own."""

import json
import sys
from pathlib import Path
from urllib.parse import urlencode

import psi
import psi_events

# What the feed still holds is not a difference.
psi_events.follow()
own = json.loads(Path("users.json").read_text())

service: dict[str, str] = {}
query = {"limit": "100"}
while True:
    response = psi.send("GET", f"/v1/users?{urlencode(query)}")
    page = response.json()
    if response.status != 200:
        sys.exit(f"{response.status} {page['message']}")
    service |= {item["externalId"]: item["status"] for item in page["items"]}
    if page["nextCursor"] is None:
        break
    query["cursor"] = page["nextCursor"]

different = [user for user in sorted(own.keys() | service.keys()) if own.get(user) != service.get(user)]
for user in different:
    print(f"{user}: own {own.get(user, 'none')}, service {service.get(user, 'none')}")
print(f"users: own {len(own)}, service {len(service)}, different {len(different)}")
