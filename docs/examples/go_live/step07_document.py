"""Step 7: have a document published, wait for its event, download it, and check its SHA-256."""

import hashlib
import json
import sys
from pathlib import Path

import psi
import psi_events

user = psi.setting("EXTERNAL_ID")


def request(method: str, target: str, body: bytes = b"") -> psi.Response:
    """The response, which is a success."""
    response = psi.send(method, target, body)
    if response.status not in {200, 201}:
        sys.exit(f"{response.status} {response.json()['message']}")
    return response


sample = json.dumps({"type": "accountStatement", "title": "Statement of January"}).encode()
published = request("POST", f"/v1/sandbox/users/{user}/documents", sample).json()["documentId"]
psi_events.follow(lambda event: event["data"].get("documentId") == published)

(item,) = request("GET", f"/v1/users/{user}/documents?limit=1").json()["items"]
content = request("GET", f"/v1/users/{user}/documents/{item['documentId']}").body
if hashlib.sha256(content).hexdigest() != item["sha256"]:
    sys.exit("Not what was listed: download it again.")
Path(f"{item['documentId']}.pdf").write_bytes(content)
print(f"{item['title']}: {len(content)} bytes, SHA-256 is right")
