"""DOCUMENT_STORAGE_URL as an entry of Django's STORAGES."""

import re
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

_FORMS = (
    "set it to file:///absolute/folder, or to s3://bucket/prefix with the parameters region, endpoint (https://host,"
    " percent-encoded) and encryption (AES256 or aws:kms) as needed. S3 credentials come from AWS's own variables."
)
_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]", re.ASCII)
_PREFIX = re.compile(r"(/(?!\.\.?(/|\Z))[A-Za-z0-9!_.*'()-]+)*/?", re.ASCII)
_PARAMETERS = {
    "region": re.compile(r"[a-z0-9-]{1,40}", re.ASCII),
    "endpoint": re.compile(r"https?://([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(:\d{1,5})?/?", re.ASCII),
    "encryption": re.compile(r"AES256|aws:kms"),
}


def document_storage(url: str, *, default: Path | None) -> dict[str, Any]:
    """Return the storage of a URL, or that of `default`. Raises ValueError without the URL: it can have a password."""
    try:
        parts = urlsplit(url or (default.as_uri() if default else ""))
    except ValueError:
        raise ValueError(_FORMS) from None
    folder, beside = Path(unquote(parts.path)), parts.netloc or parts.query or parts.fragment
    is_own_folder = folder.is_absolute() and folder != Path("/") and ".." not in folder.parts
    if parts.scheme == "file" and not beside and is_own_folder:
        # Readable by the service's account only.
        options = {"location": str(folder), "file_permissions_mode": 0o600, "directory_permissions_mode": 0o700}
        return {"BACKEND": "transactions.documents.folder.DocumentFolder", "OPTIONS": options}
    pairs = parse_qsl(parts.query, keep_blank_values=True)
    given = dict(pairs)
    is_valid = parts.scheme == "s3" and not parts.fragment and len(given) == len(pairs)
    is_valid = is_valid and _BUCKET.fullmatch(parts.netloc) is not None and _PREFIX.fullmatch(parts.path) is not None
    if not is_valid or not all(name in _PARAMETERS and _PARAMETERS[name].fullmatch(value) for name, value in pairs):
        raise ValueError(_FORMS)
    bucket: dict[str, Any] = {"bucket_name": parts.netloc, "location": parts.path.strip("/")}
    bucket |= {"region_name": given.get("region"), "endpoint_url": given.get("endpoint")}
    if "encryption" in given:
        bucket["object_parameters"] = {"ServerSideEncryption": given["encryption"]}
    return {"BACKEND": "transactions.documents.bucket.DocumentBucket", "OPTIONS": bucket}
