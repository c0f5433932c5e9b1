"""Prints all transactions of a user, page by page, newest first."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, urlencode

import psi


def transactions(external_id: str) -> Iterator[dict[str, Any]]:
    """Every transaction of the user. Raises RuntimeError where the service refuses."""
    parameters = {"limit": "100"}
    while True:
        response = psi.send("GET", f"/v1/users/{quote(external_id, safe='')}/transactions?{urlencode(parameters)}")
        if response.status != 200:
            raise RuntimeError(response.json()["message"])
        page = response.json()
        yield from page["items"]
        if page["nextCursor"] is None:
            return
        # Send the cursor unchanged.
        parameters["cursor"] = page["nextCursor"]


count = 0
for item in transactions("cust-1001"):
    count += 1
    # Amounts are strings, so that no digit is lost: use Decimal, not float.
    print(item["conversionId"], item["createdAt"], item["from"]["amount"], item["from"]["currency"])
if count == 0:
    print("no conversions")
