"""A user's conversions on the case page and in the evidence pack."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from transactions import queries
from transactions.queries import ConversionRow
from transactions.serializers import ConversionSerializer
from users.backoffice.sections import Section, register
from users.models import User

ROWS_AT_ONCE = 500
_serializer = ConversionSerializer()


def register_sections() -> None:
    """Adds what this floor has to show of a user."""
    register(
        Section(
            name="conversions",
            title=_("Conversions"),
            permission="transactions.view_conversion",
            headings=(_("when"), _("from"), _("to"), _("rate"), _("conversion ID")),
            rows=_rows,
            records=records,
            all_rows=_all_rows,
        )
    )


def _rows(user: User, count: int) -> list[tuple[Any, ...]]:
    """The latest, the digits as recorded."""
    return [
        (
            datetime.fromisoformat(row.created_at),
            f"{row.from_amount} {row.from_currency}",
            f"{row.to_amount} {row.to_currency}",
            row.rate,
            row.conversion_id,
        )
        for row in queries.page(user.pk, None, count)
    ]


def records(user: User) -> Iterator[dict[str, Any]]:
    """All of a user's conversions as the API shows them, newest first, however many: ROWS_AT_ONCE in memory."""
    rows: list[ConversionRow] = queries.page(user.pk, None, ROWS_AT_ONCE + 1)
    while rows:
        yield from map(_serializer.to_representation, rows[:ROWS_AT_ONCE])
        # The row beyond is where the next statement begins.
        rows = queries.page(user.pk, rows[-1].position, ROWS_AT_ONCE + 1) if len(rows) > ROWS_AT_ONCE else []


def _all_rows(user: User) -> str:
    return f"{reverse('admin:transactions_conversion_changelist')}?{urlencode({'user': str(user.pk)})}"
