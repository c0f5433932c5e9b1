"""Step 8: have a document published, wait for its event, download it, and check its SHA-256."""

import hashlib
import sys
from pathlib import Path

import httpx

import psi
import psi_events

client, user = httpx.Client(**psi.options()), psi.setting("EXTERNAL_ID")

sample = {"type": "accountStatement", "title": "Statement of January"}
published = psi.send(client, "POST", psi.path("sandbox", "users", user, "documents"), json=sample).json()["documentId"]
psi_events.follow(client, lambda event: event["data"].get("documentId") == published)

item = next(psi.items(client, psi.path("users", user, "documents"), limit=1))
content = psi.send(client, "GET", psi.path("users", user, "documents", item["documentId"])).content
if hashlib.sha256(content).hexdigest() != item["sha256"]:
    sys.exit("Not what was listed: download it again.")
Path(f"{item['documentId']}.pdf").write_bytes(content)
print(f"{item['title']}: {len(content)} bytes, SHA-256 is right")
