"""Requirements on the case: the forms by which the partner is asked and a requirement is closed, and what is open."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django import forms
from django.core import signing
from django.core.exceptions import ValidationError
from django.db.models import Prefetch
from django.utils import timezone
from django.utils.translation import gettext, gettext_noop, ngettext
from django.utils.translation import gettext_lazy as _

from backoffice.case.forms import NoteForm
from backoffice.lists.cells import made_by, made_through
from core.formats import format_timestamp
from core.refusals import RefusedError
from staff.models import Staff
from users.api.serializers import asked_json
from users.decisions.decision_basis import HISTORY_PERMISSION, FieldChange
from users.models import Requirement, RequirementCode, RequirementResponse, RequirementState, User, UserEvent
from users.models.columns import FIELD_NAMES, IDENTITY_COLUMNS, IDENTITY_PERMISSION, PROFILE_COLUMNS
from users.models.requirements import CLOSURE_NOTE_LENGTH, MESSAGE_LENGTH
from users.profile.labels import LABELS, READING_ORDER
from users.requirements import DEFAULT_DUE_DAYS, check_message, not_closed

PERMISSION = "users.view_requirement"
DUE_DAYS = (7, 14, 30)
# A requirement takes 100 responses; the timeline and the evidence pack have them all.
MAX_RESPONSES = 10


@dataclass(frozen=True, slots=True)
class Template:
    """The beginning of a request. message: in English. fields: columns of the profile; none: a note answers it."""

    message: str
    fields: tuple[str, ...] = ()

    @property
    def meaning(self) -> str:
        """The message in the reader's language; empty where the reader reads English."""
        meaning = gettext(self.message) if self.message else ""
        return meaning if meaning != self.message else ""


_ADDRESS = ("address_line1", "city", "postal_code", "province", "country")

TEMPLATES: Mapping[RequirementCode, Template] = {
    RequirementCode.NAME_UNCLEAR: Template(
        gettext_noop("Please confirm the first and last name as they are on the user's identity document."),
        ("first_name", "last_name"),
    ),
    RequirementCode.DATE_OF_BIRTH_UNCLEAR: Template(
        gettext_noop("Please confirm the date of birth as it is on the user's identity document."), ("date_of_birth",)
    ),
    RequirementCode.ADDRESS_UNCLEAR: Template(
        gettext_noop("Please confirm the home address of the user, with its postal code."), _ADDRESS
    ),
    RequirementCode.OCCUPATION_UNCLEAR: Template(
        gettext_noop("Please tell us the occupation of the user more precisely."), ("occupation",)
    ),
    RequirementCode.EMAIL_UNCLEAR: Template(
        gettext_noop("Please confirm an email address at which the user can be reached."), ("email",)
    ),
    RequirementCode.PURPOSE_OF_USE: Template(
        gettext_noop("Please tell us in a note what the user will use the account for.")
    ),
    RequirementCode.SOURCE_OF_FUNDS: Template(
        gettext_noop("Please tell us in a note where the money that the user converts comes from.")
    ),
    RequirementCode.OTHER: Template(""),
}


class AskForm(forms.Form):
    """What the partner is asked."""

    code = forms.ChoiceField(
        label=_("What is needed"),
        choices=RequirementCode.choices,
        widget=forms.RadioSelect,
        error_messages={"required": _("Choose what is needed.")},
    )
    fields_asked = forms.MultipleChoiceField(
        label=_("Fields that the partner's update must have"),
        # The reader's own word for each, in the order of the profile.
        choices=[(column, LABELS[column]) for column in PROFILE_COLUMNS],
        required=False,
        widget=forms.CheckboxSelectMultiple,
    )
    message = forms.CharField(
        label=_("Message, in English"),
        max_length=MESSAGE_LENGTH,
        required=False,
        widget=forms.Textarea(attrs={"rows": 3, "lang": "en"}),
    )
    due_in_days = forms.TypedChoiceField(
        label=_("Answer due in"),
        choices=lambda: [(days, ngettext("%(days)s day", "%(days)s days", days) % {"days": days}) for days in DUE_DAYS],
        coerce=int,
        widget=forms.RadioSelect,
        initial=DEFAULT_DUE_DAYS,
    )

    def __init__(self, data: Mapping[str, Any] | None = None) -> None:
        super().__init__(data, auto_id="ask-%s")

    def clean_message(self) -> str:
        """Refuse a message that names a suspicion."""
        # Browsers send line breaks as two characters.
        message = str(self.cleaned_data["message"]).replace("\r\n", "\n")
        try:
            check_message(message)
        except RefusedError as refusal:
            raise ValidationError(str(refusal)) from None
        return message

    def requirement(self) -> dict[str, Any]:
        """The arguments of open_requirement, from a valid form."""
        asked = {name: self.cleaned_data[name] for name in ("code", "message", "due_in_days")}
        return asked | {"fields": self.cleaned_data["fields_asked"]}


def preview(form: AskForm) -> dict[str, Any]:
    """The second step of a valid form: what the partner will read. meaning: of an unchanged text, if translated."""
    asked, now = form.requirement(), timezone.now()
    columns = [column for column in PROFILE_COLUMNS if column in asked["fields"]]
    due_at = now + timedelta(days=asked["due_in_days"])
    requirement = Requirement(code=asked["code"], fields=columns, message=asked["message"].strip(), due_at=due_at)
    template = TEMPLATES[RequirementCode(asked["code"])]
    return {
        "as_json": asked_json(requirement) | {"dueAt": format_timestamp(due_at)},
        "meaning": template.meaning if requirement.message == template.message else "",
        "due_at": due_at,
        "code_label": RequirementCode(asked["code"]).label,
        "field_labels": [LABELS[column] for column in columns],
    }


# The second step: what is sent is what the person saw, signed by the page that showed it

MAX_SECONDS = 15 * 60
_SALT = "backoffice.case.requirements"


def confirmation(form: AskForm, *, user: User, staff: Staff) -> str:
    """The signature of a valid form's second step, for one person and one user."""
    return signing.dumps([str(user.pk), staff.pk, form.requirement()], salt=_SALT, compress=True)


def check_confirmed(form: AskForm, *, user: User, staff: Staff, signed: str) -> None:
    """Raises RefusedError unless the second step showed this person this requirement within MAX_SECONDS."""
    try:
        shown = signing.loads(signed, salt=_SALT, max_age=MAX_SECONDS)
    except signing.BadSignature:
        shown = None
    if shown != [str(user.pk), staff.pk, form.requirement()]:
        raise RefusedError(gettext("See what the partner will read before you send it; it may be sent for 15 minutes."))


# What is not closed


def close_form(data: Mapping[str, Any] | None = None, *, requirement_id: object) -> NoteForm:
    """The form that closes a requirement."""
    return NoteForm(data, name=f"close-{requirement_id}", max_length=CLOSURE_NOTE_LENGTH, required=False)


def requirements_of(user: User, reader: Staff, *, close: NoteForm | None = None) -> list[dict[str, Any]]:
    """The open requirements, oldest first, each with its latest answers. close: a refused form to show again."""
    if not user.open_requirements + user.answered_requirements or not reader.has_perm(PERMISSION):
        return []
    latest = Prefetch("responses", RequirementResponse.objects.order_by("-pk")[:MAX_RESPONSES], to_attr="latest")
    found: list[Any] = list(not_closed(user.pk).select_related("by").prefetch_related(latest))
    hidden = frozenset() if reader.has_perm(IDENTITY_PERMISSION) else frozenset(IDENTITY_COLUMNS)
    asked = [one for one in found if one.fields]
    wanted = {row.profile_event for one in asked for row in (one, *one.latest)}
    profiles: Mapping[Any, Any] = UserEvent.objects.in_bulk(wanted) if reader.has_perm(HISTORY_PERMISSION) else {}
    return [
        {
            "requirement": one,
            "state": RequirementState(one.state),
            # The docs' names and the reader's.
            "fields": [(FIELD_NAMES[column], LABELS[column]) for column in READING_ORDER if column in one.fields],
            "responses": [
                {
                    "response": answer,
                    "actor": made_by(answer.context),
                    "source": made_through(answer.context),
                    "fields": list(_answered_fields(one, answer, profiles, hidden)),
                }
                for answer in one.latest
            ],
            "is_overdue": not one.latest and one.due_at < timezone.now(),
            "is_cut": not hidden.isdisjoint(one.fields),
            "close": close if close and close.name == f"close-{one.pk}" else close_form(requirement_id=one.pk),
        }
        for one in found
    ]


def _answered_fields(
    asked: Requirement, answered: RequirementResponse, profiles: Mapping[Any, Any], hidden: frozenset[str]
) -> Iterator[FieldChange]:
    """The fields that were asked for, when they were and with the answer; of an answer by note, those that differ."""
    before, after = profiles.get(asked.profile_event), profiles.get(answered.profile_event)
    for column in READING_ORDER if before and after else ():
        if column not in asked.fields or column in hidden:
            continue
        change = FieldChange(column, getattr(before, column), getattr(after, column))
        # An update that repeats a value confirms it.
        if not answered.note or change.before != change.after:
            yield change
