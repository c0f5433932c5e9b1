"""Step 7: page through conversions while one arrives late, and miss none."""

from typing import Any

import httpx

import psi
import psi_events

client, user = httpx.Client(**psi.options()), psi.setting("EXTERNAL_ID")
conversions = psi.path("users", user, "transactions")
CONVERSION = {
    "from": {"currency": "CAD", "amount": "100.00"},
    "to": {"currency": "USD", "amount": "71.82"},
    "rate": "0.7182",
}


def record(**fields: str) -> str:
    """Simulates a conversion, of now unless createdAt is given. Returns its conversionId."""
    simulations = psi.path("sandbox", "users", user, "transactions")
    recorded = psi.send(client, "POST", simulations, json={"items": [CONVERSION | fields]}).json()
    return str(recorded["items"][0]["conversionId"])


recorded = [record() for _ in range(5)]
seen: list[str] = []
late = ""
# In pages of two, one after the other.
for item in psi.items(client, conversions, limit=2):
    seen.append(item["conversionId"])
    # As old as one that has been read: the following pages do not have it.
    late = late or record(createdAt=item["createdAt"])
print(f"{sum(seen.count(one) == 1 for one in recorded)} of 5 once each, {seen.count(late)} of 1 late")


def read_again(event: Any) -> bool:
    """Reads from the newest conversion down to the oldest that the event is about."""
    if event["type"] == "user.transactionsRecorded" and event["data"]["externalId"] == user:
        for item in psi.items(client, conversions):
            if item["createdAt"] < event["data"]["oldestCreatedAt"]:
                break
            if item["conversionId"] not in seen:
                seen.append(item["conversionId"])
    return late in seen


psi_events.follow(client, read_again)
print(f"{sum(seen.count(one) == 1 for one in recorded)} of 5 once each, {seen.count(late)} of 1 late")
