"""The demo's documents: small real files that agree with the user's conversions."""

import io
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta

from partners.models import Partner
from transactions.documents.pdf import pdf
from transactions.documents.publishing import publish
from transactions.models import Conversion, Document, DocumentType
from users.models import User

# Every document is a file, so that only the first users have any.
USERS_WITH_DOCUMENTS = 20
STATEMENTS, CONFIRMATIONS = 3, 2
LINES_ON_A_PAGE = 36


# Type, title, content type, time and content.
Paper = tuple[DocumentType, str, str, datetime, bytes]


def publish_documents(partner: Partner, external_ids: Sequence[str]) -> None:
    """Publish the missing documents of the first of these users."""
    published = set(Document.objects.filter(partner=partner).values_list("user_id", "title"))
    for user in User.objects.filter(partner=partner, external_id__in=external_ids[:USERS_WITH_DOCUMENTS]):
        for kind, title, content_type, at, content in _papers(user, now=partner.created_at):
            if (user.pk, title) not in published:
                file = io.BytesIO(content)
                publish(user=user, kind=kind, title=title, content_type=content_type, created_at=at, source=file)


def _papers(user: User, *, now: datetime) -> Iterator[Paper]:
    """The agreement, a tax slip, and statements and confirmations of the last months."""
    yield _letter(user, DocumentType.AGREEMENT, "Account agreement", now - timedelta(days=365))
    slip = datetime(now.year, 2, 20, 12, tzinfo=UTC)
    slip = slip if slip < now else slip.replace(year=now.year - 1)
    yield _letter(user, DocumentType.TAX_SLIP, f"T5 – {slip.year - 1}", slip)
    issued = datetime(now.year, now.month, 1, tzinfo=UTC)
    for months_ago in range(STATEMENTS):
        first = (issued - timedelta(days=1)).replace(day=1)
        month = user.conversions.filter(created_at__gte=first, created_at__lt=issued)
        rows = [_columns(one) for one in month.order_by("created_at")]
        lines = ["   ".join(row) for row in rows[:LINES_ON_A_PAGE]] or ["No conversions."]
        yield _letter(user, DocumentType.ACCOUNT_STATEMENT, f"Statement, {first:%B %Y}", issued, *lines)
        if months_ago < CONFIRMATIONS:
            csv = "".join(",".join(row) + "\r\n" for row in (("day", "from", "to", "rate", "conversionId"), *rows))
            title = f"Trade confirmations, {first:%B %Y}"
            yield DocumentType.TRADE_CONFIRMATION, title, "text/csv", issued, csv.encode()
        issued = first


def _columns(one: Conversion) -> tuple[str, ...]:
    source, target = f"{one.from_currency} {one.from_amount:f}", f"{one.to_currency} {one.to_amount:f}"
    return f"{one.created_at:%Y-%m-%d}", source, target, f"{one.rate:f}", one.conversion_id


def _letter(user: User, kind: DocumentType, title: str, created_at: datetime, *lines: str) -> Paper:
    text = (title.replace("–", "-"), f"For {user.external_id}", "", *lines, "", "A demo document, not a real one.")
    return kind, title, "application/pdf", created_at, pdf(text)
