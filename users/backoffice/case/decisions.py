"""The form and the buttons of a decision. Its rules are in users/services/decisions.py."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from users.models import Status, User
from users.services import compliance
from users.services.reasons import needs_note, reasons_for


class DecisionForm(forms.Form):
    """Why a user is to move: a reason of the list, and a note where that is too little."""

    reason_code = forms.ChoiceField(
        label=_("Reason"), widget=forms.RadioSelect, error_messages={"required": _("Choose a reason.")}
    )
    note = forms.CharField(
        label=_("Note"),
        max_length=compliance.REASON_LENGTH,
        required=False,
        widget=forms.Textarea(attrs={"rows": 3}),
    )

    def __init__(self, *, present: Status, to_status: Status, data: Mapping[str, Any] | None = None) -> None:
        super().__init__(data, auto_id=f"decide-{to_status.value}-%s")
        self.to_status = to_status
        self._reasons = {reason.code: reason for reason in reasons_for(present, to_status)}
        self.fields["reason_code"].choices = [(code, reason.label) for code, reason in self._reasons.items()]  # type: ignore[attr-defined]
        if needs_note(to_status, ""):
            # Of the label and of the field that assistive technology reads, not of the browser's own check alone.
            self.fields["note"].required = True
            self.fields["note"].error_messages["required"] = _("A note is required.")

    def clean(self) -> dict[str, Any]:
        """Adds that some reasons need a note, where their move does not."""
        cleaned = super().clean() or {}
        code = cleaned.get("reason_code", "")
        if not self.errors and needs_note(self.to_status, code) and not cleaned.get("note"):
            self.add_error("note", _("A note is required."))
        return cleaned

    def reason(self) -> dict[str, str]:
        """The arguments `reason` and `reason_code` of a decision; empty for a form that is not valid.

        The reason is the note, or else the meaning of the code.
        """
        if not self.is_valid():
            return {"reason": "", "reason_code": ""}
        code = self.cleaned_data["reason_code"]
        return {"reason": self.cleaned_data["note"] or self._reasons[code].text(), "reason_code": code}


@dataclass(frozen=True, slots=True)
class Move:
    """A button and its dialog. tone: a class of the style sheet. is_open: whether the dialog is shown at once.

    shortcut: the key that presses the button, of a first decision.
    """

    to_status: Status
    verb: Any
    consequence: Any
    tone: str
    form: DecisionForm
    is_open: bool = False
    shortcut: str = ""


_APPROVE = (_("Approve"), _("The user may convert money from now on."), "case-good")
_WORDS: Mapping[tuple[Status, Status], tuple[Any, Any, str]] = {
    (Status.PENDING_COMPLIANCE, Status.ACTIVE): _APPROVE,
    (Status.PENDING_COMPLIANCE, Status.REJECTED): (
        _("Reject"),
        _("The user may not convert money. The case can be reopened later."),
        "bo-danger",
    ),
    (Status.ACTIVE, Status.SUSPENDED): (
        _("Suspend"),
        _("The user may not convert money until somebody reinstates them."),
        "",
    ),
    (Status.SUSPENDED, Status.ACTIVE): (_("Reinstate"), _APPROVE[1], "case-good"),
    (Status.REJECTED, Status.PENDING_COMPLIANCE): (
        _("Reopen"),
        _("The case goes back to the queue, to be decided anew."),
        "",
    ),
}
_SHORTCUTS = {(Status.PENDING_COMPLIANCE, Status.ACTIVE): "a", (Status.PENDING_COMPLIANCE, Status.REJECTED): "r"}
_CLOSE = (_("Close account"), _("For good: a closed user can never be opened again."), "bo-danger")


def moves(user: User, *, asked: DecisionForm | None = None, is_open: bool = False) -> Iterator[Move]:
    """The moves that the rules allow now. asked: a form that was refused, shown as it was filled in."""
    present = Status(user.status)
    for to_status in compliance.allowed_moves(present):
        verb, consequence, tone = _WORDS.get((present, to_status), _CLOSE)
        is_asked = asked is not None and asked.to_status is to_status
        # Made anew: its reasons are those of the present status.
        form = DecisionForm(present=present, to_status=to_status, data=asked.data if asked and is_asked else None)
        shortcut = _SHORTCUTS.get((present, to_status), "")
        yield Move(to_status, verb, consequence, tone, form, is_asked and is_open, shortcut)
