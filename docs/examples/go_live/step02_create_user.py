"""Step 2: create a user, and note it among your own."""

import json
import sys
import uuid
from pathlib import Path

import psi

USERS = Path("users.json")  # in place of your database
user = {
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

response = psi.send("POST", "/v1/users", json.dumps(user).encode(), str(uuid.uuid4()))
result = response.json()
if response.status != 201:
    sys.exit(f"{response.status} {result['message']}")
users = json.loads(USERS.read_text()) if USERS.exists() else {}
users[result["externalId"]] = result["status"]
USERS.write_text(json.dumps(users))
print(f"{result['externalId']} is {result['status']}")
