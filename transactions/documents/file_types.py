"""The content types of documents, and the file names of downloads: contract, section 7."""

import re
import unicodedata
from pathlib import PurePath
from urllib.parse import quote

# Each with its file extension. Browsers execute none of them.
EXTENSIONS = {
    "application/pdf": ".pdf",
    "text/csv": ".csv",
    "text/plain": ".txt",
    "image/png": ".png",
    "image/jpeg": ".jpg",
    "application/zip": ".zip",
    "application/octet-stream": ".bin",
}
UNKNOWN = "application/octet-stream"
_BY_EXTENSION = {extension: content_type for content_type, extension in EXTENSIONS.items()} | {".jpeg": "image/jpeg"}

# File systems allow 255 bytes, the extension included.
_MAX_NAME_BYTES = 200
_NOT_IN_NAMES = re.compile(r'[/\\:*?"<>|%;]')
_UNNAMED = "document"


def content_type_of(file_name: str) -> str:
    """The content type by a file's extension; browsers download and do not open an unknown one."""
    return _BY_EXTENSION.get(PurePath(file_name).suffix.lower(), UNKNOWN)


def content_disposition(title: str, content_type: str) -> str:
    """Content-Disposition (RFC 6266) of an attachment named after its title, in ASCII, and in UTF-8 if that differs."""
    extension = EXTENSIONS.get(content_type, EXTENSIONS[UNKNOWN])
    name = _safe(title) + extension
    ascii_name = _safe(unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode()) + extension
    header = f'attachment; filename="{ascii_name}"'
    return header if name == ascii_name else f"{header}; filename*=UTF-8''{quote(name, safe='')}"


def _safe(title: str) -> str:
    # No folder, and no character that changes the direction of text and could disguise the extension.
    readable = "".join(c if unicodedata.category(c)[0] in "LMNPSZ" else " " for c in title)
    name = " ".join(_NOT_IN_NAMES.sub("-", readable).split())
    cut = name.encode()[:_MAX_NAME_BYTES].decode(errors="ignore")
    return cut.strip(" .-") or _UNNAMED
