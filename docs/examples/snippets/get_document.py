"""Downloads the newest document of a user, and checks its SHA-256."""

import hashlib
import sys
from pathlib import Path

import httpx

import psi

documents = psi.path("users", "cust-1001", "documents")
with httpx.Client(**psi.options()) as client:
    newest = next(psi.items(client, documents, limit=1), None)
    if newest is None:
        print("no documents")
        sys.exit()
    content = psi.send(client, "GET", f"{documents}/{newest['documentId']}").content
if hashlib.sha256(content).hexdigest() != newest["sha256"]:
    sys.exit("Not what was listed: fetch it again.")
# The file name is yours to choose; the title is for people.
Path(newest["documentId"]).write_bytes(content)
print(newest["documentId"], newest["contentType"], len(content), "bytes")
