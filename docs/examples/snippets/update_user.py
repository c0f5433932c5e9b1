"""Changes a user's address: send only the fields that change."""

import psi

changed = psi.Client().update_user(
    "cust-1001", {"addressLine1": "1 Elgin St", "city": "Ottawa", "postalCode": "K1P 5W1"}
)
print(changed)
