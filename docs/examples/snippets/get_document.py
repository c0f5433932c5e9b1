"""Downloads the newest document of a user, and checks its SHA-256."""

import hashlib
import sys
from pathlib import Path
from urllib.parse import quote

import psi


def get(target: str) -> psi.Response:
    """The response, which is a success."""
    response = psi.send("GET", target)
    if response.status != 200:
        sys.exit(f"{response.status} {response.json()['message']}")
    return response


documents = f"/v1/users/{quote('cust-1001', safe='')}/documents"
items = get(f"{documents}?limit=1").json()["items"]
if not items:
    print("no documents")
    sys.exit()
(item,) = items
content = get(f"{documents}/{item['documentId']}").body
if len(content) != item["sizeBytes"] or hashlib.sha256(content).hexdigest() != item["sha256"]:
    sys.exit("Not what was listed: fetch it again.")
# The file name is yours to choose; the title is for people.
Path(item["documentId"]).write_bytes(content)
print(item["documentId"], item["contentType"], len(content), "bytes")
