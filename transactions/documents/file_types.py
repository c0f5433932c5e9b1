"""The content types of documents: whether a file is of its type, and the names of downloads (contract, section 7)."""

import re
import unicodedata
from collections.abc import Sequence
from pathlib import PurePath

from django.core.exceptions import ValidationError
from django.utils.http import content_disposition_header

PDF, PNG, JPEG, CSV = "application/pdf", "image/png", "image/jpeg", "text/csv"
SIGNATURES = {PDF: b"%PDF", PNG: b"\x89PNG\r\n\x1a\n", JPEG: b"\xff\xd8\xff"}
NAMES = {PDF: "PDF", PNG: "PNG image", JPEG: "JPEG image", CSV: "CSV file in UTF-8"}
# Each with its file extension. Browsers execute none of them.
EXTENSIONS = {
    PDF: ".pdf",
    CSV: ".csv",
    "text/plain": ".txt",
    PNG: ".png",
    JPEG: ".jpg",
    "application/zip": ".zip",
    "application/octet-stream": ".bin",
}
UNKNOWN = "application/octet-stream"
MAX_BYTES = 100 * 1024 * 1024
_BY_EXTENSION = {extension: content_type for content_type, extension in EXTENSIONS.items()} | {".jpeg": JPEG}

# File systems allow 255 bytes, the extension included.
_MAX_NAME_BYTES = 200
_NOT_IN_NAMES = re.compile(r'[/\\:*?"<>|%;]')


def content_type_of(file_name: str) -> str:
    """The content type by a file's extension; browsers download and do not open an unknown one."""
    return _BY_EXTENSION.get(PurePath(file_name).suffix.lower(), UNKNOWN)


def check_content(content: bytes, content_type: str) -> None:
    """Raise ValidationError unless a file may be published: what partners have read cannot be changed any more."""
    if not content:
        raise ValidationError("The file is empty.")
    if len(content) > MAX_BYTES:
        raise ValidationError(f"The file is larger than {MAX_BYTES // 1024**2} MiB.")
    fits = content.startswith(SIGNATURES.get(content_type, b""))
    if content_type == PDF:
        fits &= content[-1024:].rstrip(b"\r\n").endswith(b"%%EOF")
    elif content_type == CSV:
        try:
            fits = "\0" not in content.decode()
        except UnicodeDecodeError:
            fits = False
    if not fits:
        raise ValidationError(f"The file is not a {NAMES[content_type]}, as its name or content type says.")


def content_disposition(title: str, content_type: str) -> str:
    """The header of an attachment that is named after its title."""
    # No folder, and no character that changes the direction of text and could disguise the extension.
    readable = "".join(c if unicodedata.category(c)[0] in "LMNPSZ" else " " for c in title)
    name = " ".join(_NOT_IN_NAMES.sub("-", readable).split())
    cut = name.encode()[:_MAX_NAME_BYTES].decode(errors="ignore").strip(" .-")
    return str(
        content_disposition_header(
            as_attachment=True, filename=f"{cut or 'document'}{EXTENSIONS.get(content_type, '.bin')}"
        )
    )


def pdf(lines: Sequence[str]) -> bytes:
    """A PDF of one page. lines: ASCII without brackets and backslashes."""
    text = " ".join(f"({line}) Tj T*" for line in lines)
    stream = f"BT /F1 14 Tf 18 TL 72 720 Td {text} ET"
    objects = (
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources <</Font <</F1 5 0 R>>>> >>",
        f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    )
    body, xref, count = "%PDF-1.4\n", "0000000000 65535 f \n", len(objects) + 1
    for number, content in enumerate(objects, 1):
        xref += f"{len(body):010} 00000 n \n"
        body += f"{number} 0 obj\n{content}\nendobj\n"
    trailer = f"trailer\n<< /Size {count} /Root 1 0 R >>\nstartxref\n{len(body)}\n%%EOF\n"
    return f"{body}xref\n0 {count}\n{xref}{trailer}".encode("ascii")
