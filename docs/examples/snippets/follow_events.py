"""Follows your events and keeps the latest status of each user. After a restart it continues where it ended."""

import json
import sys
import time
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import psi

PAUSE_SECONDS = 2.0
# In place of your database, where cursor and statuses are best saved in one transaction.
CURSOR, STATUSES = Path("events.cursor"), Path("statuses.json")

statuses: dict[str, Any] = json.loads(STATUSES.read_text()) if STATUSES.exists() else {}


def handle(event: dict[str, Any]) -> None:
    """Handles an event. After a crash it comes again, so twice must be the same as once."""
    data = event["data"]
    match event["type"]:
        case "user.statusChanged":
            # RFC 3339 in UTC with six fraction digits: texts sort as times do.
            if data["updatedAt"] > statuses.get(data["externalId"], {"updatedAt": ""})["updatedAt"]:
                statuses[data["externalId"]] = data
                print(data["externalId"], "is", data["status"], flush=True)
        case "user.transactionsRecorded":
            print(
                data["externalId"], "has", data["count"], "more conversions since", data["oldestCreatedAt"], flush=True
            )
        case "user.documentPublished":
            print(data["externalId"], "has document", data["documentId"], flush=True)
        case "user.documentWithdrawn":
            print(data["externalId"], "no longer has document", data["documentId"], flush=True)
        # New types may appear: ignore them.


def save(path: Path, text: str) -> None:
    """Replaces a file at once: after a crash it is the old or the new one."""
    new = path.with_suffix(".new")
    new.write_text(text)
    new.replace(path)


while True:
    parameters = {"limit": "100"}
    if CURSOR.exists():
        parameters["cursor"] = CURSOR.read_text()
    try:
        response = psi.send("GET", f"/v1/events?{urlencode(parameters)}")
    except (OSError, HTTPException) as error:
        print("no response:", error, file=sys.stderr)
        time.sleep(PAUSE_SECONDS)
        continue
    if response.status in {429, 500, 503}:
        time.sleep(float(response.headers.get("Retry-After", PAUSE_SECONDS)))
        continue
    page = response.json()
    if response.status != 200:
        # A cursor that is too old is one of these: read your users again, and remove the file.
        sys.exit(f"{page['message']} {page.get('fieldErrors', '')}")
    for event in page["items"]:
        handle(event)
    # Only now: what was not handled is read again.
    save(STATUSES, json.dumps(statuses))
    save(CURSOR, page["nextCursor"])
    if not page["hasMore"]:
        time.sleep(PAUSE_SECONDS)
