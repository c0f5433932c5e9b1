"""Step 12: be limited, wait as long as the response says, and go on."""

import time

import httpx

import psi

# The client alone makes one attempt: `send` waits by itself. The limit is simulated for the first one.
with httpx.Client(**psi.options()) as client:
    for fault in ({"X-Sandbox-Fault": "tooManyRequests"}, {}):
        response = client.get("/v1/ping", headers=fault)
        print(response.status_code)
        if response.status_code == 429:
            seconds = int(response.headers["Retry-After"])
            print(f"waiting for {seconds} s")
            time.sleep(seconds)
