"""Step 5: read the events until the approval."""

from typing import Any

import httpx

import psi
import psi_events

user = psi.setting("EXTERNAL_ID")


def is_approval(event: Any) -> bool:
    """Whether it is the approval of our user."""
    data = event["data"]
    return (data.get("externalId"), data.get("status")) == (user, "active")


with httpx.Client(**psi.options()) as client:
    psi_events.follow(client, is_approval)
