"""Step 6: page through conversions while one arrives late, and miss none."""

import json
import sys
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import psi
import psi_events

user = psi.setting("EXTERNAL_ID")
CONVERSION = {
    "from": {"currency": "CAD", "amount": "100.00"},
    "to": {"currency": "USD", "amount": "71.82"},
    "rate": "0.7182",
}


def record(**fields: str) -> str:
    """Simulates a conversion, of now unless createdAt is given. Returns its conversionId."""
    body = json.dumps({"items": [CONVERSION | fields]}).encode()
    response = psi.send("POST", f"/v1/sandbox/users/{user}/transactions", body)
    result = response.json()
    if response.status != 201:
        sys.exit(f"{response.status} {result['message']}")
    return str(result["items"][0]["conversionId"])


def pages(limit: int) -> Iterator[list[dict[str, Any]]]:
    """The pages of the list, newest first."""
    query = {"limit": str(limit)}
    while True:
        response = psi.send("GET", f"/v1/users/{user}/transactions?{urlencode(query)}")
        page = response.json()
        if response.status != 200:
            sys.exit(f"{response.status} {page['message']}")
        yield page["items"]
        if page["nextCursor"] is None:
            return
        query["cursor"] = page["nextCursor"]


recorded = [record() for _ in range(5)]
seen: list[str] = []
late = ""
for items in pages(2):
    seen += [item["conversionId"] for item in items]
    # As old as one that has been read: the following pages do not have it.
    late = late or record(createdAt=items[0]["createdAt"])
print(f"{sum(seen.count(one) == 1 for one in recorded)} of 5 once each, {seen.count(late)} of 1 late")


def read_again(event: dict[str, Any]) -> bool:
    """Reads from the newest conversion down to the oldest that the event is about."""
    if event["type"] == "user.transactionsRecorded" and event["data"]["externalId"] == user:
        for items in pages(100):
            recent = [item for item in items if item["createdAt"] >= event["data"]["oldestCreatedAt"]]
            seen.extend(item["conversionId"] for item in recent if item["conversionId"] not in seen)
            if len(recent) < len(items):
                break
    return late in seen


psi_events.follow(read_again)
print(f"{sum(seen.count(one) == 1 for one in recorded)} of 5 once each, {seen.count(late)} of 1 late")
