"""The demo's documents: small real files that agree with the user's conversions."""

import io
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from partners.models import Partner
from transactions.demo.people import Person
from transactions.documents.pdf import pdf
from transactions.documents.publishing import publish
from transactions.models import Conversion, Document, DocumentType
from users.models import User

# Every document is a file, so that only the first users have any.
USERS_WITH_DOCUMENTS = 20
STATEMENT_MONTHS = 3
LINES_ON_A_PAGE = 36


class Paper(NamedTuple):
    """A document to be published."""

    kind: DocumentType
    title: str
    content_type: str
    created_at: datetime
    content: bytes


def publish_documents(partner: Partner, people: Sequence[Person]) -> None:
    """Publish the missing documents of the first people who have been active."""
    users = {user.external_id: user for user in User.objects.filter(partner=partner)}
    published = set(Document.objects.filter(partner=partner).values_list("user_id", "title"))
    for person in [person for person in people if person.active_from][:USERS_WITH_DOCUMENTS]:
        user = users[person.external_id]
        for paper in papers_of(person, list(user.conversions.order_by("created_at"))):
            if (user.pk, paper.title) not in published:
                fields = paper._asdict()
                publish(user=user, source=io.BytesIO(fields.pop("content")), **fields)


def papers_of(person: Person, conversions: Sequence[Conversion]) -> Iterator[Paper]:
    """The agreement, statements and confirmations of the last months, and tax slips of the past years."""
    begun, now = person.active_from, person.planned_at
    if begun is None:
        return
    yield _letter(person, DocumentType.AGREEMENT, "Account agreement", begun)
    issued = datetime(now.year, now.month, 1, tzinfo=UTC)
    for _ in range(STATEMENT_MONTHS):
        if begun >= issued:
            break
        first = (issued - timedelta(days=1)).replace(day=1)
        of_month, month = [one for one in conversions if first <= one.created_at < issued], f"{first:%B %Y}"
        lines = ["   ".join(_columns(one)) for one in of_month[:LINES_ON_A_PAGE]] or ["No conversions."]
        yield _letter(person, DocumentType.ACCOUNT_STATEMENT, f"Statement, {month}", issued, *lines)
        if of_month:
            title = f"Trade confirmations, {month}"
            yield Paper(DocumentType.TRADE_CONFIRMATION, title, "text/csv", issued, _csv(of_month))
        issued = first
    for year in range(begun.year, now.year):
        issued = datetime(year + 1, 2, 20, 12, tzinfo=UTC)
        if issued < now:
            yield _letter(person, DocumentType.TAX_SLIP, f"T5 – {year}", issued)


def _columns(one: Conversion) -> tuple[str, ...]:
    source, target = f"{one.from_currency} {one.from_amount:f}", f"{one.to_currency} {one.to_amount:f}"
    return f"{one.created_at:%Y-%m-%d}", source, target, f"{one.rate:f}", one.conversion_id


def _csv(conversions: Sequence[Conversion]) -> bytes:
    rows = [("day", "from", "to", "rate", "conversionId"), *map(_columns, conversions)]
    return "".join(",".join(row) + "\r\n" for row in rows).encode()


def _letter(person: Person, kind: DocumentType, title: str, created_at: datetime, *lines: str) -> Paper:
    text = (title.replace("–", "-"), f"For {person.external_id}", "", *lines, "", "A demo document, not a real one.")
    return Paper(kind, title, "application/pdf", created_at, pdf(text))
