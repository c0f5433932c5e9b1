"""The demo's documents: small real files that agree with the user's conversions."""

import io
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from partners.models import Partner
from transactions.demo.plans import Life
from transactions.documents.publishing import publish
from transactions.models import Conversion, Document, DocumentType
from users.models import User

# However many users there are: each paper is a file.
USERS_WITH_PAPERS = 20
# Statements are of the last whole months.
MONTHS = 3
LINES_ON_A_PAGE = 36


class Paper(NamedTuple):
    """A document to be published. content: the file."""

    kind: DocumentType
    title: str
    content_type: str
    created_at: datetime
    content: bytes


def publish_papers(partner: Partner, lives: Sequence[Life]) -> None:
    """Publishes the papers of the first users who have been active, but for those that are there already."""
    with_papers = [life for life in lives if life.active_from][:USERS_WITH_PAPERS]
    users = {user.external_id: user for user in User.objects.filter(partner=partner)}
    published = set(Document.objects.filter(partner=partner).values_list("user_id", "title"))
    for life in with_papers:
        user = users[life.external_id]
        conversions = list(Conversion.objects.filter(user=user).order_by("created_at"))
        for paper in papers_of(life, conversions):
            if (user.pk, paper.title) not in published:
                publish(
                    user=user,
                    source=io.BytesIO(paper.content),
                    kind=paper.kind,
                    title=paper.title,
                    content_type=paper.content_type,
                    created_at=paper.created_at,
                )


def papers_of(life: Life, conversions: Sequence[Conversion]) -> Iterator[Paper]:
    """What was issued to a user: the agreement, papers of the last months, tax slips of the years before this."""
    begun = life.active_from
    if begun is None:
        return
    yield _letter(life, DocumentType.AGREEMENT, "Account agreement", begun)
    for first, after in _months_before(life.seen_at):
        if begun < after:
            of_month = [one for one in conversions if first <= one.created_at < after]
            month = f"{first:%B %Y}"
            lines = [_on_paper(one) for one in of_month[:LINES_ON_A_PAGE]] or ["No conversions."]
            yield _letter(life, DocumentType.ACCOUNT_STATEMENT, f"Statement, {month}", after, lines)
            if of_month:
                yield _confirmations(month, after, of_month)
    for year in range(begun.year, life.seen_at.year):
        issued = datetime(year + 1, 2, 20, 12, tzinfo=UTC)
        if issued < life.seen_at:
            yield _letter(life, DocumentType.TAX_SLIP, f"T5 – {year}", issued)


def _months_before(now: datetime) -> Iterator[tuple[datetime, datetime]]:
    """When each of the last whole months began and ended, the latest first."""
    after = datetime(now.year, now.month, 1, tzinfo=UTC)
    for _ in range(MONTHS):
        first = (after - timedelta(days=1)).replace(day=1)
        yield first, after
        after = first


def _on_paper(one: Conversion) -> str:
    return (
        f"{one.created_at:%Y-%m-%d}   {one.from_amount:f} {one.from_currency} -> {one.to_amount:f} {one.to_currency}"
        f"   at {one.rate:f}"
    )


def _confirmations(month: str, issued: datetime, conversions: Sequence[Conversion]) -> Paper:
    rows = "".join(
        f"{one.conversion_id},{one.created_at:%Y-%m-%d},{one.from_currency} {one.from_amount:f},"
        f"{one.to_currency} {one.to_amount:f},{one.rate:f}\r\n"
        for one in conversions
    )
    content = f"conversionId,day,from,to,rate\r\n{rows}".encode()
    return Paper(DocumentType.TRADE_CONFIRMATION, f"Trade confirmations, {month}", "text/csv", issued, content)


def _letter(life: Life, kind: DocumentType, title: str, created_at: datetime, lines: Sequence[str] = ()) -> Paper:
    written = (
        title.replace("–", "-"),
        f"For {life.external_id}",
        "",
        *lines,
        "",
        "Made for the demo: nobody's account.",
    )
    return Paper(kind, title, "application/pdf", created_at, pdf(written))


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
