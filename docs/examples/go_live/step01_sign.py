"""Step 1: sign a request, and make sure that the key is one of the sandbox."""

import sys

import httpx

import psi

with httpx.Client(**psi.options()) as client:
    result = psi.send(client, "GET", "/v1/ping").json()
if result["mode"] != "sandbox":
    sys.exit("This key is live: do not go on with it.")
print(f"partner {result['partner']}, mode {result['mode']}")
