"""Deciding from the case page: what may be pressed, what is asked for, and the press itself.

Whether a move is allowed is compliance's rule alone; what is added here is that a person decides on
what they saw, and not on a case that somebody else is working on.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django import forms
from django.db import transaction
from django.utils.translation import gettext_lazy as _

from users.models import Claim, Staff, Status, StatusChange, User
from users.services import compliance
from users.services.changes import Meanwhile, Version, meanwhile
from users.services.reasons import needs_note, reasons_for


class StaleError(Exception):
    """The page showed another state than the present one; `meanwhile` says what happened."""

    def __init__(self, happened: Meanwhile) -> None:
        super().__init__("The user has changed since the page was loaded.")
        self.meanwhile = happened


class ClaimedError(Exception):
    """Somebody else is working on the case."""

    def __init__(self, claim: Claim) -> None:
        super().__init__("Somebody else has claimed this case.")
        self.claim = claim


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

    def reason(self) -> str:
        """What is kept as the reason of a valid form: the note, or else what the code means."""
        return self.cleaned_data["note"] or self._reasons[self.cleaned_data["reason_code"]].text()


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


def somebody_elses(user: User, staff: Staff) -> Claim | None:
    """The claim on this case of anybody but this person."""
    return Claim.objects.select_related("staff").filter(pk=user.pk).exclude(staff=staff).first()


def decide(
    *, user_id: UUID, shown: Version | None, form: DecisionForm, by: Staff, source: str, sees_identity: bool
) -> StatusChange | None:
    """Makes the move that a form asks for; None where the form lacks something, and says so.

    shown: the version on which the person decided.
    Raises StaleError, ClaimedError, compliance.DecisionRefusedError; nothing has changed then.
    """
    with transaction.atomic():
        # Held until the move is made: what was shown is compared with what the move starts from.
        user = User.objects.select_for_update(no_key=True).get(pk=user_id)
        if shown is None or shown != Version.of(user):
            raise StaleError(meanwhile(user, shown, sees_identity=sees_identity))
        if claim := somebody_elses(user, by):
            raise ClaimedError(claim)
        is_complete = form.is_valid()
        if not is_complete and form.to_status in compliance.allowed_moves(user.status):
            return None
        return compliance.change_status(
            user=user,
            to_status=form.to_status,
            by=by,
            # The list has no reason for a move that is not allowed: refusing it is the rule's.
            reason=form.reason() if is_complete else str(form.to_status),
            reason_code=form.cleaned_data.get("reason_code", ""),
            source=source,
        )
