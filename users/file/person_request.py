"""What a person asked of its data, by when it is answered, and how it ended."""

from collections.abc import Mapping
from datetime import date, timedelta
from typing import Any

from django.db.models import TextChoices
from django.utils.translation import gettext_lazy as _

from partners.api.serializers import ChoiceField, Errors, TextField
from users.file.kinds import DateField, EntrySerializer, Kind, NoteField, out_of_range, register
from users.models import FileKind

# Personal Information Protection and Electronic Documents Act, section 8(3).
DAYS_TO_ANSWER = 30
OUTCOME_LENGTH = 2000


class Request(TextChoices):
    """What is asked."""

    ACCESS = "access", _("Access")
    CORRECTION = "correction", _("Correction")
    COMPLAINT = "complaint", _("Complaint")
    ERASURE = "erasure", _("Erasure")


class _PersonRequest(EntrySerializer):
    request = ChoiceField(Request)
    receivedOn = DateField(is_past=True)
    dueOn = DateField(required=False)
    identityCheck = TextField(max_length=500)

    def check(self, values: dict[str, Any], errors: Errors, *, born: date, ended: Mapping[str, Any]) -> None:
        if (received := values.get("receivedOn")) is None:
            return
        due = date.fromisoformat(received) + timedelta(days=DAYS_TO_ANSWER)
        if "dueOn" not in errors and values.setdefault("dueOn", due.isoformat()) < received:
            errors["dueOn"] = out_of_range("Must not be before it was received.")


class _Outcome(EntrySerializer):
    outcome = NoteField(longest=OUTCOME_LENGTH)
    closedOn = DateField(is_past=True)

    def check(self, values: dict[str, Any], errors: Errors, *, born: date, ended: Mapping[str, Any]) -> None:
        if values.get("closedOn", "9999") < ended.get("receivedOn", ""):
            errors["closedOn"] = out_of_range("Must not be before it was received.")


PERSON_REQUEST = register(
    Kind(
        code=FileKind.PERSON_REQUEST,
        serializer=_PersonRequest(),
        ending=_Outcome(),
        labels={
            "request": _("Request"),
            "receivedOn": _("Received on"),
            "dueOn": _("Due on"),
            "identityCheck": _("How the identity was checked"),
            "outcome": _("Outcome"),
            "closedOn": _("Closed on"),
        },
        choices={"request": Request},
        hints={"dueOn": _("30 days after it was received, unless another day is given.")},
        due="dueOn",
        icon="forum",
        list_title=_("Requests"),
        is_imported=False,
        is_told=True,
    )
)
