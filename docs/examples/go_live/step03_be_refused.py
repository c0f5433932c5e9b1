"""Step 3: be refused, for invalid fields and for a minor."""

import json

import psi

for changes in ({"email": "nobody", "nickname": "Ada"}, {"dateOfBirth": "2020-01-01"}):
    response = psi.send("PATCH", f"/v1/users/{psi.setting('EXTERNAL_ID')}", json.dumps(changes).encode())
    result = response.json()
    print(f"{response.status} {result['error']}: {result['message']}")
    for problem in result.get("fieldErrors", []):
        # Your program reads the code, people the message.
        print(f"  {problem['field']}: {problem['code']}: {problem['message']}")
