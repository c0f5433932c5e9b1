"""DOCUMENT_STORAGE_URL as an entry of Django's STORAGES."""

import re
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

_FORMS = "set it to file:///absolute/folder or s3://bucket/prefix?region=…"
_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]", re.ASCII)
_PREFIX = re.compile(r"(/(?!\.\.?(/|\Z))[A-Za-z0-9!_.*'()-]+)*/?", re.ASCII)
# Parameters of an s3 URL: their form, and what to set.
_PARAMETERS = {
    "region": (re.compile(r"[a-z0-9-]{1,40}", re.ASCII), "the bucket's region, such as ca-central-1"),
    "endpoint": (
        re.compile(r"https?://([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(:\d{1,5})?/?", re.ASCII),
        "https://host, percent-encoded, with neither user nor password",
    ),
    "encryption": (re.compile(r"AES256|aws:kms"), "AES256 or aws:kms"),
}


def document_storage(url: str, *, default: Path | None) -> dict[str, Any]:
    """Return the storage that a URL names. default: the folder for an empty URL, or None to refuse it.

    Raises ValueError with what to set, without the URL, which can hold a password.
    """
    if not url and default is not None:
        return _folder(default)
    try:
        parts = urlsplit(url)
    except ValueError:
        raise ValueError(f"not a URL; {_FORMS}.") from None
    if "@" in parts.netloc:
        raise ValueError("remove user and password; S3 credentials come from AWS's own variables.")
    if parts.scheme not in {"file", "s3"} or parts.fragment:
        raise ValueError(f"{_FORMS}.")
    if parts.scheme == "s3":
        return _bucket(parts)
    folder = Path(unquote(parts.path))
    if parts.netloc or parts.query or not folder.is_absolute() or folder == Path("/") or ".." in folder.parts:
        raise ValueError("set it to an absolute folder: file:///absolute/folder.")
    return _folder(folder)


def _folder(folder: Path) -> dict[str, Any]:
    # Readable by the service's account only.
    options = {"location": str(folder), "file_permissions_mode": 0o600, "directory_permissions_mode": 0o700}
    return {"BACKEND": "transactions.documents.folder.DocumentFolder", "OPTIONS": options}


def _bucket(parts: SplitResult) -> dict[str, Any]:
    if not _BUCKET.fullmatch(parts.netloc):
        raise ValueError("name a bucket: s3://bucket/prefix?region=….")
    if not _PREFIX.fullmatch(parts.path):
        raise ValueError("the prefix may have letters, digits, -_.!*'() and slashes only.")
    pairs = parse_qsl(parts.query, keep_blank_values=True)
    parameters = dict(pairs)
    if len(parameters) != len(pairs) or not parameters.keys() <= _PARAMETERS.keys():
        raise ValueError(f"the parameters are region, endpoint and encryption, each once; {_FORMS}.")
    for name, value in parameters.items():
        pattern, expected = _PARAMETERS[name]
        if not pattern.fullmatch(value):
            raise ValueError(f"set {name} to {expected}.")
    options: dict[str, Any] = {
        "bucket_name": parts.netloc,
        "location": parts.path.strip("/"),
        "region_name": parameters.get("region"),
        "endpoint_url": parameters.get("endpoint"),
    }
    if "encryption" in parameters:
        options["object_parameters"] = {"ServerSideEncryption": parameters["encryption"]}
    return {"BACKEND": "transactions.documents.bucket.DocumentBucket", "OPTIONS": options}
