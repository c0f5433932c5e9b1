"""Registers a user, or prints the field errors."""

import json
import sys
import uuid

import psi

user = {
    "externalId": "cust-1001",
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
# Store it with the user before you send: with the same key, a retry is safe.
idempotency_key = str(uuid.uuid4())

response = psi.send("POST", "/v1/users", json.dumps(user).encode(), idempotency_key)
result = response.json()
if response.status == 201:
    print(f"{result['externalId']} is {result['status']}, userId {result['userId']}")
else:
    for problem in result.get("fieldErrors", []):
        print(f"{problem['field']}: {problem['message']}")
    sys.exit(f"{result['error']}: {result['message']} Request {result['requestId']}.")
