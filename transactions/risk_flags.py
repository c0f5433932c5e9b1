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
    """By the list's index, which has the oldest first. The others are by a partial index of the few."""

    code = "earlyConversion"
    title = _("Conversion older than the user")
    meaning = _("A conversion is dated before the user was registered.")
    condition = Q(Exists(Conversion.objects.filter(user=OuterRef("pk"), created_at__lt=OuterRef("created_at"))))
    # The conversion that the text is about is the first of these in this order.
    about: ClassVar[Q] = Q()
    order: ClassVar[str] = "created_at"
    text: ClassVar[Any] = _("The oldest one was made on %(at)s.")

    @classmethod
    def of(cls, user: User) -> Self | None:
        conversions = Conversion.objects.filter(cls.about, user=user).order_by(cls.order)
        at = conversions.values_list(cls.order.lstrip("-"), flat=True).first()
        return cls({"at": at.isoformat()}) if at else None

    @property
    def why(self) -> str:
        return str(self.text) % {"at": display_moment(datetime.fromisoformat(self.data["at"]))}


class InactiveConversion(EarlyConversion):
    """Conversion.while_inactive."""

    code, weight, is_indexed = "inactiveConversion", Weight.GRAVE, True
    title = _("Conversion while not active")
    meaning = _("A conversion was recorded while the user was not active.")
    about, order = Q(while_inactive=True), "-recorded_at"
    condition = Q(Exists(Conversion.objects.filter(about, user=OuterRef("pk"))))
    text = _("The last one was recorded on %(at)s.")


class Threshold(EarlyConversion):
    """Conversion.reaches_threshold."""

    code, is_indexed = "threshold", True
    title = _("10,000 CAD within 24 hours")
    meaning = _("Conversions of the user, from or to CAD, came to 10,000 CAD or more within 24 hours.")
    about, order = Q(reaches_threshold=True), "-created_at"
    condition = Q(Exists(Conversion.objects.filter(about, user=OuterRef("pk"))))
    text = _("The latest conversion with which they did was made on %(at)s.")


register(InactiveConversion, Threshold, EarlyConversion)
