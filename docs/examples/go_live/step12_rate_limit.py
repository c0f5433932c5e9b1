"""Step 12: be limited, wait as long as the response says, and go on."""

import time

import psi

# The limit is simulated for the first attempt only.
for fault in ({"X-Sandbox-Fault": "tooManyRequests"}, {}):
    response = psi.send("GET", "/v1/ping", more_headers=fault)
    print(response.status)
    if response.status == 429:
        seconds = int(response.headers["Retry-After"])
        print(f"waiting for {seconds} s")
        time.sleep(seconds)
