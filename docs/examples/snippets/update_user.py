"""Changes a user's address: only what is sent changes."""

import json
from urllib.parse import quote

import psi

external_id = "cust-1001"
changes = {"addressLine1": "1 Elgin St", "city": "Ottawa", "postalCode": "K1P 5W1"}

answer = psi.send("PATCH", f"/v1/users/{quote(external_id, safe='')}", json.dumps(changes).encode())
print(answer.status, answer.json())
