"""The demo's documents: small real files, the same each time."""

import io
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from partners.models import Partner
from transactions.models import Document, DocumentType
from transactions.publishing import publish
from users.models import User

# However many users there are: each paper is a file.
USERS_WITH_PAPERS = 20


class Paper(NamedTuple):
    """A document to be published. content: the file."""

    kind: DocumentType
    title: str
    content_type: str
    created_at: datetime
    content: bytes


def publish_papers(partner: Partner, external_ids: Sequence[str]) -> None:
    """Publishes the papers of the first of these users, but for those that are there already."""
    users = User.objects.filter(partner=partner, external_id__in=external_ids[:USERS_WITH_PAPERS]).order_by(
        "external_id"
    )
    published = set(Document.objects.filter(partner=partner).values_list("user_id", "title"))
    for user in users:
        for paper in papers_of(user.external_id):
            if (user.pk, paper.title) not in published:
                publish(
                    user=user,
                    source=io.BytesIO(paper.content),
                    kind=paper.kind,
                    title=paper.title,
                    content_type=paper.content_type,
                    created_at=paper.created_at,
                )


def papers_of(external_id: str) -> Iterator[Paper]:
    """One of each kind."""
    yield _letter(external_id, DocumentType.AGREEMENT, "Account agreement", datetime(2026, 1, 5, 9, tzinfo=UTC))
    yield Paper(
        DocumentType.TRADE_CONFIRMATION,
        "Trade confirmations, January 2026",
        "text/csv",
        datetime(2026, 2, 1, 6, tzinfo=UTC),
        f"externalId,day,from,to\r\n{external_id},2026-01-15,CAD 100.00,USD 71.82\r\n".encode(),
    )
    yield _letter(
        external_id, DocumentType.ACCOUNT_STATEMENT, "Statement, January 2026", datetime(2026, 2, 1, 6, tzinfo=UTC)
    )
    yield _letter(external_id, DocumentType.TAX_SLIP, "T5 – 2025", datetime(2026, 2, 27, 12, tzinfo=UTC))


def _letter(external_id: str, kind: DocumentType, title: str, created_at: datetime) -> Paper:
    lines = (title.replace("–", "-"), f"For {external_id}", "Made for the demo: nobody's account.")
    return Paper(kind, title, "application/pdf", created_at, pdf(lines))


def pdf(lines: Sequence[str]) -> bytes:
    """A PDF of one page with these lines of ASCII, brackets and backslashes excepted."""
    text = " ".join(f"({line}) Tj T*" for line in lines)
    drawing = f"BT /F1 14 Tf 18 TL 72 720 Td {text} ET"
    objects = (
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources <</Font <</F1 5 0 R>>>> >>",
        f"<< /Length {len(drawing)} >>\nstream\n{drawing}\nendstream",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    )
    body, places = "%PDF-1.4\n", list[int]()
    for number, content in enumerate(objects, 1):
        places.append(len(body))
        body += f"{number} 0 obj\n{content}\nendobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    count = len(objects) + 1
    index = f"xref\n0 {count}\n0000000000 65535 f \n{table}"
    trailer = f"trailer\n<< /Size {count} /Root 1 0 R >>\nstartxref\n{len(body)}\n%%EOF\n"
    return (body + index + trailer).encode("ascii")
