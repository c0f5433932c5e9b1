"""Reads your feed of events, keeps your users' statuses, and remembers where it ended. From step 5 on."""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx

import psi

# In place of your database, where both are best saved in one transaction.
CURSOR, USERS = Path("events.cursor"), Path("users.json")


def follow(client: httpx.Client, is_last: Callable[[Any], bool] | None = None) -> None:
    """Handles new events: up to one that is_last accepts, for which it waits a minute, or by default all there are."""
    users, is_done = json.loads(USERS.read_text()), is_last is None
    for _ in range(60):
        for event, cursor in psi.events(client, CURSOR.read_text() if CURSOR.exists() else None):
            data = event["data"]
            print(event["type"], data.get("externalId", ""), data.get("status", ""))
            if event["type"] == "user.statusChanged":
                users[data["externalId"]] = data["status"]
            is_done = bool(is_last and is_last(event)) or is_done
            USERS.write_text(json.dumps(users))
            # Only now: after a crash, what was not handled comes again.
            CURSOR.write_text(cursor or "")
        if is_done:
            return
        time.sleep(1)
    sys.exit("The event did not arrive within a minute.")
