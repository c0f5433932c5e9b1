"""The first call: who the service takes you for, and its clock."""

import psi

answer = psi.send("GET", "/v1/ping")
print(answer.status, answer.json())
