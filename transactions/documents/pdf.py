"""PDFs of one page: the demo's documents, and those of the sandbox."""

from collections.abc import Sequence


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
