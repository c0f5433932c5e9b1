"""Shows why a user has its status and what compliance asks for, and answers it."""

import psi

USER = "cust-1001"
# In place of a form of yours, which shows the message and asks for the fields.
entered = {"addressLine1": "100 King St W, Apt 5", "postalCode": "M5X 1A9"}
note = "The income is the salary of the employer on file."

client = psi.Client()
user = client.get_user(USER)
print(USER, "is", user["status"], f"({user['statusReason'] or 'no reason'})")
for requirement in user["requirements"]:
    fields = requirement["fields"]
    print(requirement["code"], requirement["state"], "until", requirement["dueAt"])
    print(f"  {requirement['message'] or 'no message'} {', '.join(fields)}")
    if requirement["state"] != "open":
        continue
    if not fields:
        client.respond_to_requirement(USER, requirement["requirementId"], note)
    elif all(field in entered for field in fields):
        # All of its fields in one update, also those whose value stays.
        changes = {field: entered[field] for field in fields}
        client.request("PATCH", psi.user_path(USER), changes)
open_now = [one for one in client.get_user(USER)["requirements"] if one["state"] == "open"]
print(f"{len(open_now)} open")
