"""Whether a document's content fits its content type: what was published by mistake cannot be changed any more."""

import codecs

from django.core.exceptions import ValidationError

PDF, PNG, JPEG, CSV = "application/pdf", "image/png", "image/jpeg", "text/csv"
_SIGNATURES = {PDF: b"%PDF", PNG: b"\x89PNG\r\n\x1a\n", JPEG: b"\xff\xd8\xff"}
_NAMES = {PDF: "PDF", PNG: "PNG image", JPEG: "JPEG image", CSV: "CSV file in UTF-8"}
_PDF_END = b"%%EOF"
# Line breaks may follow the end of a PDF.
_TAIL_BYTES = 1024


class ContentCheck:
    """Reads a file in chunks and decides whether it is of its content type. Types without a form pass."""

    def __init__(self, content_type: str) -> None:
        self._content_type = content_type
        self._signature = _SIGNATURES.get(content_type, b"")
        self._decoder = codecs.getincrementaldecoder("utf-8")() if content_type == CSV else None
        self._head = self._tail = b""

    def feed(self, chunk: bytes) -> None:
        """Read the next chunk. Raises ValidationError as soon as the content is known not to fit."""
        if len(self._head) < len(self._signature):
            self._head += chunk[: len(self._signature) - len(self._head)]
            self._require(self._signature.startswith(self._head))
        if self._content_type == PDF:
            self._tail = (self._tail + chunk)[-_TAIL_BYTES:]
        if self._decoder is not None:
            self._decode(chunk, final=False)

    def finish(self) -> None:
        """Raise ValidationError unless the whole content fits."""
        self._require(self._head == self._signature)
        if self._content_type == PDF:
            self._require(self._tail.rstrip(b"\r\n").endswith(_PDF_END))
        self._decode(b"", final=True)

    def _decode(self, chunk: bytes, *, final: bool) -> None:
        if self._decoder is not None:
            try:
                text = self._decoder.decode(chunk, final)
            except UnicodeDecodeError:
                text = "\0"
            self._require("\0" not in text)

    def _require(self, condition: bool) -> None:  # noqa: FBT001 - as `assert`
        if not condition:
            raise ValidationError(f"The file is not a {_NAMES[self._content_type]}, as its name or content type says.")
