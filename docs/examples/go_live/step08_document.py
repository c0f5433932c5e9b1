"""Step 8: have a document published, wait for its event, download it, and check its SHA-256."""

from pathlib import Path

import psi
import psi_events

client, user = psi.Client(), psi.setting("EXTERNAL_ID")

sample = client.sandbox.simulate_document(user, {"type": "accountStatement", "title": "Statement of January"})
published = sample["documentId"]
psi_events.follow(lambda event: event["data"].get("documentId") == published)

item = next(client.documents(user, limit=1))
# Raises an error where the file is not the one that was listed.
content = client.get_document(user, item["documentId"], sha256=item["sha256"])
Path(f"{item['documentId']}.pdf").write_bytes(content)
print(f"{item['title']}: {len(content)} bytes, SHA-256 is right")
