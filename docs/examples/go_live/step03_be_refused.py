"""Step 3: be refused, for invalid fields and for a minor."""

import json
import os

import psi

for changes in ({"email": "nobody", "nickname": "Ada"}, {"dateOfBirth": "2020-01-01"}):
    response = psi.send("PATCH", f"/v1/users/{os.environ['EXTERNAL_ID']}", json.dumps(changes).encode())
    answer = response.json()
    print(f"{response.status} {answer['error']}: {answer['message']}")
    for problem in answer.get("fieldErrors", []):
        # For your program the code, for people the message.
        print(f"  {problem['field']}: {problem['code']}: {problem['message']}")
