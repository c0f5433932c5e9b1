"""The forms and buttons of decisions. The rules are in users/decisions/compliance.py."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from users.decisions import compliance
from users.decisions.reasons import REASONS, Reason, needs_note
from users.models import Status, User
from users.models.approvals import NOTE_LENGTH, REASON_LENGTH
from users.models.statuses import TRANSITIONS

_NOTE_REQUIRED = _("A note is required.")


def _note(max_length: int, *, required: bool = True) -> forms.CharField:
    return forms.CharField(
        label=_("Note"),
        max_length=max_length,
        required=required,
        widget=forms.Textarea(attrs={"rows": 3}),
        error_messages={"required": _NOTE_REQUIRED},
    )


class DecisionForm(forms.Form):
    """The reason of a decision, with a note where the reason, the decision or the user needs one.

    asks_note: whether the user's risk flags ask for one (risk_flags.approval_needs_note).
    """

    reason_code = forms.ChoiceField(
        label=_("Reason"), widget=forms.RadioSelect, error_messages={"required": _("Choose a reason.")}
    )
    note = _note(REASON_LENGTH, required=False)

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


class _FormOfCase(forms.Form):
    """A form whose elements have ids of their own on the page of a case: `<id_prefix>-<field>`."""

    id_prefix: str

    def __init__(self, data: Mapping[str, Any] | None = None) -> None:
        super().__init__(data, auto_id=f"{self.id_prefix}-%s")


class NoteForm(_FormOfCase):
    """A note without a decision."""

    id_prefix = "add-note"
    text = _note(compliance.CASE_NOTE_LENGTH)


class ApproveForm(_FormOfCase):
    """What the second person adds."""

    id_prefix = "approve"
    note = _note(compliance.CASE_NOTE_LENGTH, required=False)


class DeclineForm(_FormOfCase):
    """Why a proposal is declined."""

    id_prefix = "decline"
    note = _note(NOTE_LENGTH)


class Button(NamedTuple):
    """The button of a move. consequence: what the dialog says. shortcut: its key."""

    verb: Any
    consequence: Any
    css_class: str = ""
    shortcut: str = ""


_CONVERTS = _("The user can convert money.")
_BUTTONS = {
    (Status.PENDING_COMPLIANCE, Status.ACTIVE): Button(_("Approve"), _CONVERTS, "case-good", "a"),
    (Status.PENDING_COMPLIANCE, Status.REJECTED): Button(
        _("Reject"), _("The user cannot convert money. The case can be reopened."), "bo-danger", "r"
    ),
    (Status.ACTIVE, Status.SUSPENDED): Button(_("Suspend"), _("The user cannot convert money until reinstated.")),
    (Status.SUSPENDED, Status.ACTIVE): Button(_("Reinstate"), _CONVERTS, "case-good"),
    (Status.REJECTED, Status.PENDING_COMPLIANCE): Button(_("Reopen"), _("The case returns to the queue.")),
}
_SECOND_PERSON = _("Another person approves or declines it, within 72 hours.")
# These are the buttons of moves that take two people.
_PROPOSALS = {
    (Status.PENDING_COMPLIANCE, Status.ACTIVE): Button(_("Propose approval"), _SECOND_PERSON, "case-good", "a"),
    (Status.SUSPENDED, Status.ACTIVE): Button(_("Propose reinstatement"), _SECOND_PERSON, "case-good"),
    (Status.REJECTED, Status.PENDING_COMPLIANCE): Button(_("Propose reopening"), _SECOND_PERSON),
}
_CLOSE = Button(_("Close account"), _("Final: a closed account cannot be reopened."), "bo-danger")


def moves(
    user: User,
    *,
    two_person_moves: Collection[Status] = (),
    proposed: str = "",
    refused: DecisionForm | None = None,
    is_open: bool = False,
    approval_needs_note: bool = False,
) -> Iterator[dict[str, Any]]:
    """Yield the moves that the rules allow, but the one that is proposed already: each a button with its dialog.

    two_person_moves: those that take two people. refused: a form to show again, in an open dialog if is_open.
    approval_needs_note: see users/decisions/risk_flags.py.
    """
    present = Status(user.status)
    for to_status in TRANSITIONS[present]:
        if to_status == proposed:
            continue
        was_refused = refused is not None and refused.to_status == to_status
        # A new form: the user's status, and with it the reasons, may have changed since.
        data = refused.data if refused and was_refused else None
        asks_note = approval_needs_note and to_status is Status.ACTIVE
        form = DecisionForm(data, present=present, to_status=to_status, asks_note=asks_note)
        buttons = _PROPOSALS if to_status in two_person_moves else _BUTTONS
        yield {
            "to_status": to_status,
            "button": buttons.get((present, to_status), _CLOSE),
            "form": form,
            "is_open": was_refused and is_open,
            # Why the button does nothing yet. A proposal may wait for the partner together with the case.
            "blocking_reason": "" if to_status in two_person_moves else compliance.blocking_reason(user, to_status),
        }
