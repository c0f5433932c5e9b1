"""The risk flags of users that are about their conversions (users/decisions/risk_flags.py)."""

from datetime import datetime
from typing import Any, ClassVar, Self

from django.db.models import Exists, OuterRef, Q
from django.utils.translation import gettext_lazy as _

from transactions.models import Conversion
from users.decisions.risk_flags import RiskFlag, Weight, register
from users.models import User
from users.profile.labels import display_moment


class EarlyConversion(RiskFlag):
    """The list's index has the oldest first."""

    code = "earlyConversion"
    title = _("Conversion older than the user")
    meaning = _("A conversion is dated before the user was registered.")
    condition = Q(Exists(Conversion.objects.filter(user=OuterRef("pk"), created_at__lt=OuterRef("created_at"))))
    order_by = "created_at"
    text: ClassVar[Any] = _("The oldest one was made on %(at)s.")
    marked = Q()

    @classmethod
    def of(cls, user: User) -> Self | None:
        conversions = Conversion.objects.filter(cls.marked, user=user).order_by(cls.order_by)
        at = conversions.values_list(cls.order_by.lstrip("-"), flat=True).first()
        return cls({"at": at.isoformat()}) if at else None

    @property
    def why(self) -> str:
        return str(self.text) % {"at": display_moment(datetime.fromisoformat(self.data["at"]))}


class InactiveConversion(EarlyConversion):
    """The partial index conversion_while_inactive has them."""

    code, weight, is_indexed = "inactiveConversion", Weight.GRAVE, True
    title = _("Conversion while not active")
    meaning = _("A conversion was recorded while the user was not active.")
    marked = Q(while_inactive=True)
    condition = Q(Exists(Conversion.objects.filter(marked, user=OuterRef("pk"))))
    order_by, text = "-recorded_at", _("The last one was recorded on %(at)s.")


register(InactiveConversion, EarlyConversion)
