"""Downloads the newest document of a user. The client checks its SHA-256."""

import sys
from pathlib import Path

import psi

client = psi.Client()
newest = next(client.documents("cust-1001", limit=1), None)
if newest is None:
    print("no documents")
    sys.exit()
content = client.get_document("cust-1001", newest["documentId"], sha256=newest["sha256"])
# The file name is yours to choose; the title is for people.
Path(newest["documentId"]).write_bytes(content)
print(newest["documentId"], newest["contentType"], len(content), "bytes")
