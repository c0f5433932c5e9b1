"""Shows why a user has its status and what compliance asks for, and answers it."""

import httpx

import psi

USER = psi.path("users", "cust-1001")
# In place of a form of yours, which shows the message and asks for the fields.
entered = {"addressLine1": "100 King St W, Apt 5", "postalCode": "M5X 1A9"}
note = "The income is the salary of the employer on file."

client = httpx.Client(**psi.options())
user = psi.send(client, "GET", USER).json()
print(user["externalId"], "is", user["status"], f"({user['statusReason'] or 'no reason'})")
for requirement in user["requirements"]:
    fields = requirement["fields"]
    print(requirement["code"], requirement["state"], "until", requirement["dueAt"])
    print(f"  {requirement['message'] or 'no message'} {', '.join(fields)}")
    if requirement["state"] != "open":
        continue
    if not fields:
        psi.send(client, "POST", f"{USER}/requirements/{requirement['requirementId']}/response", json={"note": note})
    elif all(field in entered for field in fields):
        # All of its fields in one update, also those whose value stays.
        psi.send(client, "PATCH", USER, json={field: entered[field] for field in fields})
requirements = psi.send(client, "GET", USER).json()["requirements"]
print(f"{sum(one['state'] == 'open' for one in requirements)} open")
