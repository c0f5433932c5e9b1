"""Step 2: create a user, and note it among your own."""

import json
import uuid
from pathlib import Path

import httpx

import psi

USERS = Path("users.json")  # in place of your database
body = {
    "externalId": psi.setting("EXTERNAL_ID"),
    "email": "ada@example.com",
    "firstName": "Ada",
    "lastName": "Byron",
    "dateOfBirth": "1990-12-10",
    "addressLine1": "100 King St W",
    "city": "Toronto",
    "postalCode": "M5X 1A9",
    "province": "ON",
    "country": "CA",
    "occupation": "Engineer",
    "isCiroAffiliate": False,
}

with httpx.Client(**psi.options()) as client:
    user = psi.send(client, "POST", "/v1/users", json=body, idempotency_key=str(uuid.uuid4())).json()
users = json.loads(USERS.read_text()) if USERS.exists() else {}
users[user["externalId"]] = user["status"]
USERS.write_text(json.dumps(users))
print(f"{user['externalId']} is {user['status']}")
