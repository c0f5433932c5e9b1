"""Step 3: be refused, for invalid fields and for a minor."""

import httpx

import psi

user = psi.path("users", psi.setting("EXTERNAL_ID"))
with httpx.Client(**psi.options()) as client:
    for changes in ({"email": "nobody", "nickname": "Ada"}, {"dateOfBirth": "2020-01-01"}):
        try:
            psi.send(client, "PATCH", user, json=changes)
        except psi.ApiError as error:
            print(f"{error.status} {error.error}: {error.message}")
            for problem in error.field_errors:
                # Your program reads the code, people the message.
                print(f"  {problem['field']}: {problem['code']}: {problem['message']}")
