"""Follows your events and keeps the latest status of each user. After a restart it continues where it ended."""

import json
import sys
import time
from pathlib import Path
from typing import Any

import httpx

import psi

PAUSE_SECONDS = 2.0
# In place of your database, where cursor and statuses are best saved in one transaction.
CURSOR, STATUSES = Path("events.cursor"), Path("statuses.json")

client = httpx.Client(**psi.options())
statuses: dict[str, Any] = json.loads(STATUSES.read_text()) if STATUSES.exists() else {}


def handle(event: Any) -> None:
    """Handles an event. After a crash it comes again, so twice must be the same as once."""
    data = event["data"]
    match event["type"]:
        case "user.statusChanged":
            # RFC 3339 in UTC with six fraction digits: texts sort as times do.
            if data["updatedAt"] > statuses.get(data["externalId"], {"updatedAt": ""})["updatedAt"]:
                statuses[data["externalId"]] = data
                print(data["externalId"], "is", data["status"], flush=True)
        case "user.requirementsChanged":
            # What they are is read with the user.
            print(data["externalId"], "has", data["openRequirements"], "open requirements", flush=True)
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
    stored = CURSOR.read_text() if CURSOR.exists() else None
    try:
        for event, cursor in psi.events(client, stored, limit=100):
            handle(event)
            # Only now: what was not handled is read again.
            save(STATUSES, json.dumps(statuses))
            if cursor:
                save(CURSOR, cursor)
    except psi.PsiError as error:
        # A cursor that is too old is none of these: read your users again, and remove the file.
        if not error.is_temporary:
            sys.exit(str(error))
        print(error, file=sys.stderr, flush=True)
    time.sleep(PAUSE_SECONDS)
