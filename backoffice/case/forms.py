"""The forms and buttons of decisions. The rules are in users/decisions/compliance.py."""

from collections.abc import Collection, Iterator, Mapping
from functools import partial
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from users.decisions import compliance
from users.decisions.reasons import REASONS, Reason, needs_note
from users.models import Status, User
from users.models.approvals import NOTE_LENGTH, REASON_LENGTH
from users.models.statuses import TRANSITIONS

_NOTE, _NOTE_REQUIRED = _("Note"), _("A note is required.")


class NoteForm(forms.Form):
    """A text. name: of the form, unique on its page."""

    def __init__(
        self,
        data: Mapping[str, Any] | None = None,
        *,
        name: str,
        max_length: int = NOTE_LENGTH,
        label: Any = _NOTE,
        required: bool = True,
    ) -> None:
        super().__init__(data, auto_id=f"{name}-%s")
        self.name = name
        self.fields["note"] = _text(max_length, label=label, required=required)


def _text(max_length: int, **options: Any) -> forms.CharField:
    errors = {"required": _NOTE_REQUIRED}
    return forms.CharField(max_length=max_length, widget=forms.Textarea({"rows": 3}), error_messages=errors, **options)


class DecisionForm(forms.Form):
    """The reason of a decision, and a note if it needs one. asks_note: whether the user's risk flags do."""

    reason_code = forms.ChoiceField(
        label=_("Reason"), widget=forms.RadioSelect, error_messages={"required": _("Choose a reason.")}
    )
    note = _text(REASON_LENGTH, label=_NOTE, required=False)

    def __init__(
        self, data: Mapping[str, Any] | None = None, *, present: Status, to_status: str, asks_note: bool = False
    ) -> None:
        super().__init__(data, auto_id=f"decide-{to_status}-%s")
        self.to_status = to_status
        reasons = REASONS.get((present, to_status), ())
        self.fields["reason_code"].choices = [(one.value, one.label) for one in reasons]  # type: ignore[attr-defined]
        # Also marks the field as required for assistive technology.
        self.fields["note"].required = asks_note or needs_note(to_status, "")

    def clean_note(self) -> str:
        """Require a note for a reason that says nothing by itself."""
        note = str(self.cleaned_data["note"])
        if not note and needs_note(self.to_status, self.cleaned_data.get("reason_code", "")):
            raise ValidationError(_NOTE_REQUIRED)
        return note

    def reason(self) -> dict[str, str | None]:
        """Return `reason` (the note, or else the code's text) and `reason_code`; neither if the form is invalid."""
        if not self.is_valid():
            return {"reason": "", "reason_code": None}
        code = self.cleaned_data["reason_code"]
        return {"reason": self.cleaned_data["note"] or Reason(code).text(), "reason_code": code}


AddNoteForm = partial(NoteForm, name="add-note", max_length=compliance.CASE_NOTE_LENGTH)
# What the second person adds, and why a proposal is declined.
ApproveForm = partial(NoteForm, name="approve", max_length=compliance.CASE_NOTE_LENGTH, required=False)
DeclineForm = partial(NoteForm, name="decline")


# The verb, and what the dialog says will follow.
_CONVERTS = _("The user can convert money.")
_BUTTONS = {
    (Status.PENDING_COMPLIANCE, Status.ACTIVE): (_("Approve"), _CONVERTS),
    (Status.PENDING_COMPLIANCE, Status.REJECTED): (
        *(_("Reject"), _("The user cannot convert money. The case can be reopened.")),
    ),
    (Status.ACTIVE, Status.SUSPENDED): (_("Suspend"), _("The user cannot convert money until reinstated.")),
    (Status.SUSPENDED, Status.ACTIVE): (_("Reinstate"), _CONVERTS),
    (Status.REJECTED, Status.PENDING_COMPLIANCE): (_("Reopen"), _("The case returns to the queue.")),
}
_CLOSE = (_("Close account"), _("Final: a closed account cannot be reopened."))
# The verbs of moves that take two people.
_PROPOSALS = {
    (Status.PENDING_COMPLIANCE, Status.ACTIVE): _("Propose approval"),
    (Status.SUSPENDED, Status.ACTIVE): _("Propose reinstatement"),
    (Status.REJECTED, Status.PENDING_COMPLIANCE): _("Propose reopening"),
}
_SECOND_PERSON = _("Another person approves or declines it, within 72 hours.")
_CLASSES = {Status.ACTIVE: "case-good", Status.REJECTED: "bo-danger", Status.CLOSED: "bo-danger"}
_SHORTCUTS = {Status.ACTIVE: "a", Status.REJECTED: "r"}


def moves(
    user: User, *, two_person_moves: Collection[Status], proposed: str, needs_note: bool, sent: DecisionForm | None
) -> Iterator[dict[str, Any]]:
    """The moves that the rules allow, but the proposed one: buttons with dialogs. needs_note: of approvals."""
    present = Status(user.status)
    for to_status in [one for one in TRANSITIONS[present] if one != proposed]:
        takes_two = to_status in two_person_moves
        verb, consequence = _BUTTONS.get((present, to_status), _CLOSE)
        if takes_two:
            verb, consequence = _PROPOSALS[present, to_status], _SECOND_PERSON
        # A new form: the user's status, and with it the reasons, may have changed since.
        data = sent.data if sent and sent.to_status == to_status else None
        asks_note = needs_note and to_status == Status.ACTIVE
        yield {
            "to_status": to_status,
            "verb": verb,
            "consequence": consequence,
            "css_class": _CLASSES.get(to_status, ""),
            "shortcut": _SHORTCUTS.get(to_status, ""),
            "form": DecisionForm(data, present=present, to_status=to_status, asks_note=asks_note),
            # Why the button does nothing yet. A proposal may wait for the partner together with the case.
            "blocking_reason": "" if takes_two else compliance.blocking_reason(user, to_status),
        }
