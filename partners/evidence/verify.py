"""Verifies an evidence pack: python3 verify.py PACK.zip PUBLIC_KEY.pem (needs `pip install cryptography`).

PUBLIC_KEY.pem is what the service shows at /docs/keys. Take it from there, and this program from /docs/verify.py: who
alters a pack can alter the files in it. Exit status: 0 if every part is as the service signed it; 1 if not; 2 if no
public key was given and the parts match the manifest: anybody may have made such a pack.
"""

import base64
import hashlib
import json
import sys
import zipfile
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.serialization import load_pem_public_key

MANIFEST, SIGNATURE = "manifest.json", "manifest.sig"


def verify(archive: zipfile.ZipFile, public_key: bytes | None) -> dict:  # type: ignore[type-arg]
    """Return the manifest. Raises ValueError with what is wrong, and others if the archive is damaged."""
    names = archive.namelist()
    if len(names) != len(set(names)) or MANIFEST not in names:
        raise ValueError("The manifest is missing, or two parts have the same name.")
    manifest = archive.read(MANIFEST)
    if public_key is not None:
        if SIGNATURE not in names:
            raise ValueError("The pack is not signed.")
        try:
            signature = base64.b64decode(archive.read(SIGNATURE), validate=True)
            load_pem_public_key(public_key).verify(signature, manifest)  # type: ignore[call-arg,union-attr]
        except InvalidSignature:
            raise ValueError("The signature does not fit: another key signed, or the manifest was altered.") from None
    content = json.loads(manifest)
    listed = {part["name"]: part["sha256"] for part in content["parts"]}
    if odd := listed.keys() ^ (set(names) - {MANIFEST, SIGNATURE}):
        raise ValueError(f"Added or removed: {', '.join(sorted(odd))}.")
    for name, expected in listed.items():
        digest = hashlib.sha256()
        with archive.open(name) as part:
            while chunk := part.read(65536):
                digest.update(chunk)
        if digest.hexdigest() != expected:
            raise ValueError(f"Altered: {name}.")
    return content  # type: ignore[no-any-return]


if __name__ == "__main__":
    if len(sys.argv) not in {2, 3}:
        sys.exit(__doc__)
    try:
        key = Path(sys.argv[2]).read_bytes() if sys.argv[2:] else None
        with zipfile.ZipFile(sys.argv[1]) as pack:
            about = verify(pack, key)
    except Exception as error:  # noqa: BLE001 - whatever fails, the pack is not verified
        sys.exit(f"REFUSED: {error}")
    print(f"User {about['userId']}, exported at {about['exportedAt']}: {len(about['parts'])} parts are unchanged.")
    print("The signature is the service's." if key else "NOT VERIFIED: no public key was given.")
    sys.exit(0 if key else 2)
