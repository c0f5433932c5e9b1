"""A write that is retried until the service accepts or refuses it. It takes effect once."""

import sys
import uuid

import psi

# Store both before you send: should this program end, the next one goes on with the same key and the same changes.
idempotency_key, changes = str(uuid.uuid4()), {"city": "Ottawa", "postalCode": "K1P 5W1"}

client = psi.Client(attempts=5)
try:
    # The client waits for Retry-After, or a little longer each time. Each attempt has a new signature.
    response = client.request("PATCH", psi.user_path("cust-1001"), changes, idempotency_key=idempotency_key)
except psi.PsiError as error:
    # With is_temporary, later attempts may succeed, under the same key.
    sys.exit(str(error))
print(response.status, response.json())
