"""Step 3: be refused, for invalid fields and for a minor."""

import psi

client = psi.Client()
for changes in ({"email": "nobody", "nickname": "Ada"}, {"dateOfBirth": "2020-01-01"}):
    try:
        client.request("PATCH", psi.user_path(psi.setting("EXTERNAL_ID")), changes)
    except psi.ApiError as error:
        print(f"{error.status} {error.error}: {error.message}")
        for problem in error.field_errors:
            # Your program reads the code, people the message.
            print(f"  {problem['field']}: {problem['code']}: {problem['message']}")
