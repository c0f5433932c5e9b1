"""Where the files of documents are kept: DOCUMENT_STORAGE_URL as Django's STORAGES takes it."""

import re
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

_NAME = "DOCUMENT_STORAGE_URL"
_FORMS = "set it to file:///an/absolute/folder or s3://bucket/prefix?region=…"
_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]", re.ASCII)
_PREFIX = re.compile(r"(/[A-Za-z0-9!_.*'()-]+)*/?", re.ASCII)
_REGION = re.compile(r"[a-z0-9-]{1,40}", re.ASCII)
_ENCRYPTIONS = ("AES256", "aws:kms")


def document_storage_setting(url: str, *, debug: bool, local_folder: Path) -> dict[str, Any]:
    """The storage that a URL names; `local_folder` where it is empty and `debug` is true.

    Raises ImproperlyConfigured, with the mend and without the URL, which can hold what is secret.
    """
    if not url:
        if not debug:
            raise ImproperlyConfigured(f"{_NAME} is not set: {_FORMS} (a local folder by itself is for DEBUG=true).")
        return _folder(local_folder)
    try:
        parts = urlsplit(url)
        credentials = parts.username is not None or parts.password is not None
    except ValueError:
        raise ImproperlyConfigured(f"{_NAME} is not a URL: {_FORMS}.") from None
    if credentials:
        raise ImproperlyConfigured(f"{_NAME} must hold no user and no password: S3's come from AWS's own environment.")
    if parts.fragment or parts.scheme not in {"file", "s3"}:
        raise ImproperlyConfigured(f"{_NAME} must begin with file:// or s3://: {_FORMS}.")
    return _file_url(parts) if parts.scheme == "file" else _s3_url(parts)


def _file_url(parts: SplitResult) -> dict[str, Any]:
    folder = Path(unquote(parts.path))
    if parts.netloc or parts.query or not folder.is_absolute() or folder == Path("/") or ".." in folder.parts:
        raise ImproperlyConfigured(f"{_NAME} must name an absolute folder: set it to file:///an/absolute/folder.")
    return _folder(folder)


def _folder(folder: Path) -> dict[str, Any]:
    return {
        "BACKEND": "transactions.documents.storage.folder.DocumentFolder",
        # For the service's own account alone.
        "OPTIONS": {
            "location": str(folder),
            "file_permissions_mode": 0o600,
            "directory_permissions_mode": 0o700,
        },
    }


def _s3_url(parts: SplitResult) -> dict[str, Any]:
    if not _BUCKET.fullmatch(parts.netloc):
        raise ImproperlyConfigured(f"{_NAME} must name a bucket: set it to s3://bucket/prefix?region=….")
    if not _PREFIX.fullmatch(parts.path) or {".", ".."}.intersection(parts.path.split("/")):
        raise ImproperlyConfigured(f"{_NAME} has a prefix of other than letters, digits, -_.!*'() and slashes.")
    return {
        "BACKEND": "transactions.documents.storage.bucket.DocumentBucket",
        "OPTIONS": {"bucket_name": parts.netloc, "location": parts.path.strip("/"), **_s3_options(parts.query)},
    }


def _s3_options(query: str) -> dict[str, Any]:
    pairs = parse_qsl(query, keep_blank_values=True)
    given = dict(pairs)
    known = {"region": _is_region, "endpoint": _is_endpoint, "encryption": _ENCRYPTIONS.__contains__}
    if len(given) != len(pairs) or not given.keys() <= known.keys():
        raise ImproperlyConfigured(f"{_NAME} takes region, endpoint and encryption, each once: {_FORMS}.")
    for name, value in given.items():
        if not known[name](value):
            raise ImproperlyConfigured(f"{_NAME} has a bad {name}: {_MENDS[name]}.")
    options: dict[str, Any] = {"region_name": given.get("region"), "endpoint_url": given.get("endpoint")}
    if "encryption" in given:
        options["object_parameters"] = {"ServerSideEncryption": given["encryption"]}
    return options


_MENDS = {
    "region": "set it to the bucket's region, such as ca-central-1",
    "endpoint": "set it to https://host, percent-encoded, with neither user nor password",
    "encryption": "set it to AES256 or aws:kms",
}


def _is_region(value: str) -> bool:
    return _REGION.fullmatch(value) is not None


def _is_endpoint(value: str) -> bool:
    try:
        parts = urlsplit(value)
        has_port = parts.port != 0
    except ValueError:
        return False
    plain = not (parts.path.strip("/") or parts.query or parts.fragment or "@" in parts.netloc)
    return parts.scheme in {"http", "https"} and bool(parts.hostname) and has_port and plain
