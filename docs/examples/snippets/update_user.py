"""Changes a user's address: send only the fields that change."""

import json
from urllib.parse import quote

import psi

external_id = "cust-1001"
changes = {"addressLine1": "1 Elgin St", "city": "Ottawa", "postalCode": "K1P 5W1"}

response = psi.send("PATCH", f"/v1/users/{quote(external_id, safe='')}", json.dumps(changes).encode())
print(response.status, response.json())
