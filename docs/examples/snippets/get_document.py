"""Fetches the newest document of a user, and keeps it where it is whole."""

import hashlib
import sys
from pathlib import Path
from urllib.parse import quote

import psi


def get(target: str) -> psi.Answer:
    """The answer, which is a success."""
    answer = psi.send("GET", target)
    if answer.status != 200:
        sys.exit(f"{answer.status} {answer.json()['message']}")
    return answer


documents = f"/v1/users/{quote('cust-1001', safe='')}/documents"
items = get(f"{documents}?limit=1").json()["items"]
if not items:
    print("no documents")
    sys.exit()
(item,) = items
content = get(f"{documents}/{item['documentId']}").body
if len(content) != item["sizeBytes"] or hashlib.sha256(content).hexdigest() != item["sha256"]:
    sys.exit("Not what was listed: fetch it again.")
# A name of your own making: the title is for people.
Path(item["documentId"]).write_bytes(content)
print(item["documentId"], item["contentType"], len(content), "bytes")
