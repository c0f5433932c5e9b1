"""Real users, and those of sandbox partners: contract, section 11.

Every list, figure, search, risk flag and export of staff reads its rows through this module: those of real users, and
those of sandbox users only where they are asked for.
"""

from typing import TypeVar

from django.db.models import Model, Q, QuerySet

from partners.models import Mode, Partner
from users.models import AccessRecord, Claim

Row = TypeVar("Row", bound=Model)


def live(rows: QuerySet[Row]) -> QuerySet[Row]:
    """The rows of real users."""
    return in_mode(rows, Mode.LIVE)


def in_mode(rows: QuerySet[Row], mode: Mode) -> QuerySet[Row]:
    """The rows of the users of live partners, or of sandbox partners. rows: users, or what belongs to users."""
    return rows.filter(_condition(rows.model, mode))


def _condition(model: type[Model], mode: Mode) -> Q:
    is_sandbox = mode == Mode.SANDBOX
    if issubclass(model, Claim):
        return Q(user__is_sandbox=is_sandbox)
    if issubclass(model, AccessRecord):
        # An exported list is no user's, and stays in the log whatever it held.
        return Q(user__is_sandbox=True) if is_sandbox else Q(user__isnull=True) | Q(user__is_sandbox=False)
    if issubclass(model, Partner):
        return Q(mode=mode)
    return Q(is_sandbox=is_sandbox)
