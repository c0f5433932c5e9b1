"""Step 1: sign a request, and make sure that the key is one of the sandbox."""

import sys

import psi

response = psi.send("GET", "/v1/ping")
result = response.json()
if response.status != 200:
    sys.exit(f"{response.status} {result['message']}")
if result["mode"] != "sandbox":
    sys.exit("This key is live: do not go on with it.")
print(f"partner {result['partner']}, mode {result['mode']}")
