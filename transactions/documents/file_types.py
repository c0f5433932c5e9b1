"""What a document's file may be, and what it is called where somebody saves it: contract, section 7."""

import re
import unicodedata
from pathlib import PurePath
from urllib.parse import quote

# Each with the ending that its files have. Nothing here runs where it is opened.
ENDINGS = {
    "application/pdf": ".pdf",
    "text/csv": ".csv",
    "text/plain": ".txt",
    "image/png": ".png",
    "image/jpeg": ".jpg",
    "application/zip": ".zip",
    "application/octet-stream": ".bin",
}
UNKNOWN = "application/octet-stream"
_BY_ENDING = {ending: content_type for content_type, ending in ENDINGS.items()} | {".jpeg": "image/jpeg"}

# File systems have a name of 255 bytes at most, and the ending is to come.
_LONGEST_NAME_BYTES = 200
_NOT_IN_NAMES = re.compile(r'[/\\:*?"<>|%;]')
_UNNAMED = "document"


def content_type_of(file_name: str) -> str:
    """The content type that a file's name tells; UNKNOWN, which is saved and not opened, where it tells none."""
    return _BY_ENDING.get(PurePath(file_name).suffix.lower(), UNKNOWN)


def content_disposition(title: str, content_type: str) -> str:
    """Content-Disposition (RFC 6266) of a document: to be saved, under its title.

    The name is given in ASCII, and in UTF-8 besides where that is another. It names no folder and holds no
    character that turns the direction of text, so that it ends as it seems to.
    """
    ending = ENDINGS.get(content_type, ENDINGS[UNKNOWN])
    name = _safe(title) + ending
    ascii_name = _safe(unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode()) + ending
    header = f'attachment; filename="{ascii_name}"'
    return header if name == ascii_name else f"{header}; filename*=UTF-8''{quote(name, safe='')}"


def _safe(title: str) -> str:
    readable = "".join(c if unicodedata.category(c)[0] in "LMNPSZ" else " " for c in title)
    name = " ".join(_NOT_IN_NAMES.sub("-", readable).split())
    cut = name.encode()[:_LONGEST_NAME_BYTES].decode(errors="ignore")
    return cut.strip(" .-") or _UNNAMED
