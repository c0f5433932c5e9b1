"""Registers a user, or prints the field errors."""

import sys
import uuid

import psi

# Store it with the user before you send: with the same key, a retry is safe.
idempotency_key = str(uuid.uuid4())

try:
    user = psi.Client().create_user(
        {
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
        },
        idempotency_key=idempotency_key,
    )
except psi.ApiError as error:
    for problem in error.field_errors:
        print(f"{problem['field']}: {problem['message']}")
    sys.exit(f"{error.error}: {error.message} Request {error.request_id}.")
print(f"{user['externalId']} is {user['status']}, userId {user['userId']}")
