"""Step 5: read the events until the approval."""

import os
from typing import Any

import psi_events


def is_approval(event: Any) -> bool:
    """Whether it is the approval of our user."""
    data = event["data"]
    return (data.get("externalId"), data.get("status")) == (os.environ["EXTERNAL_ID"], "active")


psi_events.follow(is_approval)
