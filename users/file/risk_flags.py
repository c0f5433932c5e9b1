"""Risk flags of what is in the file of a user; what an identity lacks says users/sql/users_identity_gap.sql."""

from datetime import datetime
from typing import ClassVar, Self

from django.conf import settings
from django.core.checks import Warning as DjangoWarning
from django.db import models
from django.db.models import Exists, OuterRef, Q, Value
from django.db.models.lookups import Exact
from django.utils.functional import classproperty
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from partners.checks import Found, installation_check
from users.decisions import risk_flags
from users.decisions.risk_flags import RiskFlag, Weight
from users.models import FileEntry, FileKind, IdentityRule, User
from users.models.approvals import database_function
from users.profile import field_rules
from users.profile.labels import display_moment


class UnresolvedMatch(RiskFlag):
    """A possible match that no person has resolved."""

    code, weight, is_indexed, needs_note = "unresolvedMatch", Weight.GRAVE, True, True
    # It says what the file has, which few see.
    shows_identity = True
    title = _("Possible match not resolved")
    meaning = _("Screening found a possible match that nobody has resolved.")
    matches = FileEntry.objects.filter(kind=FileKind.SCREENING, is_open=True)
    condition = Q(Exists(matches.filter(user=OuterRef("pk"))))

    @classmethod
    def of(cls, user: User) -> Self | None:
        oldest = cls.matches.filter(user=user).order_by("created_at").first()
        return cls({"list": oldest.fields["list"], "at": oldest.created_at.isoformat()}) if oldest else None

    @property
    def why(self) -> str:
        at = display_moment(datetime.fromisoformat(self.data["at"]))
        return gettext("%(list)s, found on %(at)s.") % {"list": self.data["list"], "at": at}


class VerifiedBeforeChange(RiskFlag):
    """A name or birth date that changed after the newest record of how the identity was verified."""

    code, title = "verifiedBeforeChange", _("Identity verified before a change")
    shows_identity = True
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


risk_flags.register(UnresolvedMatch, VerifiedBeforeChange, DocumentExpired)


@installation_check
def check_rule() -> Found:
    """The time zone of the rule in force is COMPLIANCE_TIME_ZONE."""
    rule = IdentityRule.objects.order_by("-id").first()
    if rule and rule.is_on and rule.time_zone != settings.COMPLIANCE_TIME_ZONE:
        text = f"Documents expire in {rule.time_zone} for the identity rule, not in COMPLIANCE_TIME_ZONE."
        yield DjangoWarning(text, hint="Set it again: `set_identity_rule on`.", id="psi.W014")
