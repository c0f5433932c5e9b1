"""How risky compliance rates a person, and when that is reviewed: by another rating, or the same one again."""

from collections.abc import Mapping
from datetime import date
from typing import Any

from django.db.models import TextChoices
from django.utils.translation import gettext_lazy as _

from partners.api.serializers import ChoiceField, Errors
from users.file.kinds import DateField, EntrySerializer, Kind, NoteField, out_of_range, register
from users.models import FileKind
from users.profile import field_rules

REASON_LENGTH = 2000
MAX_REVIEW_YEARS = 5


class Rating(TextChoices):
    """How risky."""

    LOW = "low", _("Low")
    MEDIUM = "medium", _("Medium")
    HIGH = "high", _("High")


class _RiskRating(EntrySerializer):
    rating = ChoiceField(Rating)
    reason = NoteField(longest=REASON_LENGTH)
    reviewOn = DateField()

    def check(self, values: dict[str, Any], errors: Errors, *, born: date, ended: Mapping[str, Any]) -> None:
        today = field_rules.today()
        # On 29 February, the text is that of a day which a common year does not have: it compares as one of its end.
        latest = f"{today.year + MAX_REVIEW_YEARS}{today.isoformat()[4:]}"
        if values.get("reviewOn", "") > latest:
            errors["reviewOn"] = out_of_range(f"Must be at most {MAX_REVIEW_YEARS} years ahead.")


RISK_RATING = register(
    Kind(
        code=FileKind.RISK_RATING,
        serializer=_RiskRating(),
        labels={"rating": _("Rating"), "reason": _("Reason"), "reviewOn": _("Review on")},
        choices={"rating": Rating},
        hints={"reviewOn": _("At most 5 years ahead.")},
        due="reviewOn",
        icon="speed",
        list_title=_("Reviews"),
        lists_all=False,
    )
)
