"""Reads your feed of events, keeps your users' statuses, and remembers where it ended. From step 5 on."""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import psi

# In place of your database, where both are best saved in one transaction.
CURSOR, USERS = Path("events.cursor"), Path("users.json")


def follow(is_last: Callable[[dict[str, Any]], bool] | None = None) -> None:
    """Handles new events: up to one that is_last accepts, for which it waits a minute, or by default all there are."""
    users = json.loads(USERS.read_text())
    for _ in range(60):
        query = {"limit": "100"} | ({"cursor": CURSOR.read_text()} if CURSOR.exists() else {})
        response = psi.send("GET", f"/v1/events?{urlencode(query)}")
        page = response.json()
        if response.status != 200:
            sys.exit(f"{response.status} {page['message']}")
        is_done = is_last is None and not page["hasMore"]
        for event in page["items"]:
            data = event["data"]
            print(event["type"], data.get("externalId", ""), data.get("status", ""))
            if event["type"] == "user.statusChanged":
                users[data["externalId"]] = data["status"]
            is_done = bool(is_last and is_last(event)) or is_done
        USERS.write_text(json.dumps(users))
        # Only now: after a crash, what was not handled comes again.
        CURSOR.write_text(page["nextCursor"])
        if is_done:
            return
        if not page["hasMore"]:
            time.sleep(1)
    sys.exit("The event did not arrive within a minute.")
