"""A user's conversions on the case page and in the evidence pack."""

from collections.abc import Iterator
from datetime import datetime
from functools import partial
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from transactions import keyset
from transactions.case_sections.all_rows import all_rows
from users.backoffice.case.sections import Section
from users.models import User


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
        for row in keyset.CONVERSIONS.fetch(keyset.Owner(user.partner_id, user.external_id), None, count)
    ]


def records(user: User) -> Iterator[dict[str, Any]]:
    """All of a user's conversions as the API shows them, newest first."""
    # With it comes all of DRF, which no command waits for that shows none.
    from transactions.api.serializers import ConversionSerializer  # noqa: PLC0415

    owner = keyset.Owner(user.partner_id, user.external_id)
    return map(ConversionSerializer().to_representation, all_rows(partial(keyset.CONVERSIONS.fetch, owner)))


def _all_rows(user: User) -> str:
    return f"{reverse('admin:transactions_conversion_changelist')}?{urlencode({'user': str(user.pk)})}"


SECTION = Section(
    name="conversions",
    title=_("Conversions"),
    permission="transactions.view_conversion",
    headings=(_("when"), _("from"), _("to"), _("rate"), _("conversion ID")),
    rows=_rows,
    records=records,
    all_rows=_all_rows,
)
