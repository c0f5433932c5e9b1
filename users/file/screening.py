"""Results of screening a person against a list, and how staff resolved possible matches."""

from collections.abc import Mapping
from datetime import date, datetime
from typing import Any, Self

from django.db.models import Exists, OuterRef, Q, TextChoices
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from rest_framework.exceptions import ErrorDetail

from partners.api.serializers import ChoiceField, Errors, TextField
from users.decisions import risk_flags
from users.decisions.risk_flags import RiskFlag, Weight
from users.file.kinds import DateField, EntrySerializer, Kind, NoteField, register
from users.models import FileEntry, FileKind, User
from users.profile.labels import display_moment

NOTE_LENGTH = 2000


class Result(TextChoices):
    """What the other system found."""

    CLEAR = "clear", gettext_lazy("Clear")
    POSSIBLE_MATCH = "possibleMatch", gettext_lazy("Possible match")


class Resolution(TextChoices):
    """What staff found of a possible match."""

    FALSE_POSITIVE = "falsePositive", gettext_lazy("False positive")
    CONFIRMED = "confirmed", gettext_lazy("Confirmed")


class _Screening(EntrySerializer):
    list = TextField(max_length=100)
    listDate = DateField(is_past=True)
    result = ChoiceField(Result)
    reference = TextField(max_length=100, required=False)

    def check(self, values: dict[str, Any], errors: Errors, *, born: date, ended: Mapping[str, Any]) -> None:
        if values.get("result") == Result.POSSIBLE_MATCH and not {"reference"} & {*values, *errors}:
            errors["reference"] = [ErrorDetail("This field is required.", "required")]


class _Resolution(EntrySerializer):
    resolution = ChoiceField(Resolution)
    note = NoteField(longest=NOTE_LENGTH)


def _topic(values: Mapping[str, Any]) -> str:
    """A match is of one reference of one list; neither has a line break."""
    return f"{values['list']}\n{values.get('reference', '')}"


SCREENING = register(
    Kind(
        code=FileKind.SCREENING,
        serializer=_Screening(),
        ending=_Resolution(),
        labels={
            "list": gettext_lazy("List"),
            "listDate": gettext_lazy("Date of the list"),
            "result": gettext_lazy("Result"),
            "reference": gettext_lazy("Reference"),
            "resolution": gettext_lazy("Resolution"),
            "note": gettext_lazy("Note"),
        },
        choices={"result": Result, "resolution": Resolution},
        hints={"reference": gettext_lazy("Of the entry in the list; needed for a possible match.")},
        topic=_topic,
        icon="person_search",
        list_title=gettext_lazy("Screening"),
    )
)


class UnresolvedMatch(RiskFlag):
    """A possible match that no person has resolved."""

    code, weight, is_indexed, needs_note = "unresolvedMatch", Weight.GRAVE, True, True
    # It says what the file has, which few see.
    shows_identity = True
    title = gettext_lazy("Possible match not resolved")
    meaning = gettext_lazy("Screening found a possible match that nobody has resolved.")
    matches = FileEntry.objects.filter(kind=FileKind.SCREENING, is_open=True)
    condition = Q(Exists(matches.filter(user=OuterRef("pk"))))

    @classmethod
    def of(cls, user: User) -> Self | None:
        oldest = cls.matches.filter(user=user).order_by("created_at").first()
        return cls({"list": oldest.fields["list"], "at": oldest.created_at.isoformat()}) if oldest else None

    @property
    def why(self) -> str:
        at = display_moment(datetime.fromisoformat(self.data["at"]))
        return _("%(list)s, found on %(at)s.") % {"list": self.data["list"], "at": at}


risk_flags.register(UnresolvedMatch)
