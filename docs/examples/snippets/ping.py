"""The first call: prints the partner of the key and the service's time."""

import psi

response = psi.send("GET", "/v1/ping")
print(response.status, response.json())
