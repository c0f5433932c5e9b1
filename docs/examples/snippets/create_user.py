"""Registers a user, or prints the field errors."""

import sys
import uuid

import httpx

import psi

body = {
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

with httpx.Client(**psi.options()) as client:
    try:
        user = psi.send(client, "POST", "/v1/users", json=body, idempotency_key=idempotency_key).json()
    except psi.ApiError as error:
        for problem in error.field_errors:
            print(f"{problem['field']}: {problem['message']}")
        sys.exit(f"{error.error}: {error.message} Request {error.request_id}.")
print(f"{user['externalId']} is {user['status']}, userId {user['userId']}")
