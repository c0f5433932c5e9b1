"""Changes a user's address: send only the fields that change."""

import httpx

import psi

changes = {"addressLine1": "1 Elgin St", "city": "Ottawa", "postalCode": "K1P 5W1"}
with httpx.Client(**psi.options()) as client:
    print(psi.send(client, "PATCH", psi.path("users", "cust-1001"), json=changes).json())
