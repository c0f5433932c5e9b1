"""Step 6: be asked for information, see why the user is on hold, and answer with an update."""

from typing import Any

import httpx

import psi
import psi_events

client, user = httpx.Client(**psi.options()), psi.setting("EXTERNAL_ID")


def simulate(what: str, body: dict[str, Any]) -> None:
    """Does what compliance would do, which only the sandbox allows."""
    psi.send(client, "POST", psi.path("sandbox", "users", user, what), json=body)


def show() -> None:
    """Prints what the program would show to the user."""
    seen = psi.send(client, "GET", psi.path("users", user)).json()
    print(f"{seen['status']}: {seen['statusReason']}")
    for one in seen["requirements"]:
        print(f"  {one['code']}, {one['state']}: {one['message']} ({', '.join(one['fields'])})")


def is_asked(event: Any) -> bool:
    """Whether something is open for our user. Its message is not in the event: read the user."""
    data = event["data"]
    return bool(data.get("externalId") == user and data.get("openRequirements", 0) > 0)


def is_approved(event: Any) -> bool:
    """Whether our user is active again."""
    return (event["data"].get("externalId"), event["data"].get("status")) == (user, "active")


simulate("status", {"status": "suspended", "reasonCode": "profileChanged"})
question = {"code": "addressUnclear", "fields": ["addressLine1", "postalCode"], "message": "Which apartment is it?"}
simulate("requirements", question)
psi_events.follow(client, is_asked)
show()

# All fields that are asked for, in one update, also those whose value was right.
changes = {"addressLine1": "100 King St W, Apt 5", "postalCode": "M5X 1A9"}
psi.send(client, "PATCH", psi.path("users", user), json=changes)
show()

simulate("status", {"status": "active"})
psi_events.follow(client, is_approved)
show()
