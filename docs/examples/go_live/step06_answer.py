"""Step 6: be asked for information, see why the user is on hold, and answer with an update."""

from typing import Any

import psi
import psi_events

client, user = psi.Client(), psi.setting("EXTERNAL_ID")


def show() -> None:
    """Prints what the program would show to the user."""
    seen = client.get_user(user)
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


# What compliance would do, simulated.
client.sandbox.simulate_decision(user, {"status": "suspended", "reasonCode": "profileChanged"})
client.sandbox.simulate_requirement(
    user,
    {"code": "addressUnclear", "fields": ["addressLine1", "postalCode"], "message": "Which apartment is it?"},
)
psi_events.follow(is_asked)
show()

# All fields that are asked for, in one update, also those whose value was right.
client.update_user(user, {"addressLine1": "100 King St W, Apt 5", "postalCode": "M5X 1A9"})
show()

client.sandbox.simulate_decision(user, {"status": "active"})
psi_events.follow(is_approved)
show()
