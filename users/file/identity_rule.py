"""What the newest record of an identity may lack: risk flags, and the rule that a user becomes active with one.

Each is by the same functions (users/sql/users_identity_gap.sql).
"""

import json
from collections.abc import Mapping
from typing import ClassVar

from django.conf import settings
from django.core.checks import Warning as DjangoWarning
from django.db import models, transaction
from django.db.models import Q, Value
from django.db.models.lookups import Exact
from django.utils.functional import classproperty
from django.utils.translation import gettext_lazy as _

from core.database import statements
from core.database.base import SET_CONTEXT
from core.database.pipeline import Query
from partners.checks import Found, installation_check
from users.decisions import risk_flags
from users.decisions.risk_flags import RiskFlag
from users.models import IdentityRule
from users.models.approvals import database_function
from users.profile import field_rules


class VerifiedBeforeChange(RiskFlag):
    """A name or birth date that changed after the newest record of how the identity was verified."""

    code, title = "verifiedBeforeChange", _("Identity verified before a change")
    meaning = _("Name or birth date have changed since the identity was verified.")
    # Of users/sql/users_identity_gap.sql.
    gap: ClassVar[str] = "changed"

    @classproperty
    def condition(cls) -> Q:  # noqa: N805 - the class, as of today
        today = Value(field_rules.today(), models.DateField())
        return Q(Exact(database_function("users_identity_gap", "pk", today, gives=models.CharField()), cls.gap))


class DocumentExpired(VerifiedBeforeChange):
    """An identity document of the newest record that has expired since."""

    code, title, gap = "documentExpired", _("Identity document expired"), "expired"
    meaning = _("The document by which the identity was verified has expired.")


risk_flags.register(VerifiedBeforeChange, DocumentExpired)


def set_rule(*, is_on: bool, using: str, context: Mapping[str, str]) -> None:
    """Set whether a user becomes active only with a record that lacks nothing (contract, section 15).

    using: the alias of the owner's connection. context: who does it (core/database/statements.py).
    """
    with transaction.atomic(using=using):
        statements.fetch(Query(f"SELECT {SET_CONTEXT}", (json.dumps(dict(context)),)), using)
        IdentityRule.objects.using(using).create(is_on=is_on, time_zone=settings.COMPLIANCE_TIME_ZONE)


@installation_check
def check_rule() -> Found:
    """The time zone of the rule in force is COMPLIANCE_TIME_ZONE."""
    rule = IdentityRule.objects.order_by("-id").first()
    if rule and rule.is_on and rule.time_zone != settings.COMPLIANCE_TIME_ZONE:
        text = f"Documents expire in {rule.time_zone} for the identity rule, not in COMPLIANCE_TIME_ZONE."
        yield DjangoWarning(text, hint="Set it again: `set_identity_rule on`.", id="psi.W014")
