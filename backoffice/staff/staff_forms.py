"""The forms of staff accounts."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.html import format_html
from django.utils.translation import gettext_lazy as _

from core.refusals import RefusedError
from staff.access import ADMINISTRATOR, REASON_LENGTH, require_other_administrator
from staff.role_names import DUTIES, in_words
from staff.roles import ROLES


def role_with_duties(role: str) -> str:
    """A role in words, and what it may do."""
    cell = '<strong>{}</strong> <span class="bo-quiet bo-below-name">{}</span>'
    return format_html(cell, in_words(role), DUTIES.get(role, ""))


class InviteForm(forms.Form):
    """Whom to invite, and as what."""

    email = forms.EmailField(label=_("Email address"), help_text=_("For people; no mail is sent to it."))
    username = forms.CharField(
        label=_("Username"),
        max_length=150,
        required=False,
        help_text=_("Decisions name it for good. If empty: what is before the @ of the address."),
    )
    role = forms.ChoiceField(
        label=_("Role"),
        choices=lambda: [(role, role_with_duties(role)) for role in ROLES],
        widget=forms.RadioSelect,
    )


class ReasonForm(forms.Form):
    """Why: permanently in the audit log."""

    reason = forms.CharField(
        label=_("Reason"),
        max_length=REASON_LENGTH,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text=_("Stored permanently in the audit log, such as how you verified who asked for it."),
    )


class StaffForm(forms.ModelForm):  # type: ignore[type-arg]
    """The account of a colleague. Refuses to take the role away from the last administrator."""

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        stays = (
            cleaned.get("is_superuser", self.instance.is_superuser)
            or "groups" not in cleaned
            or any(group.name == ADMINISTRATOR for group in cleaned["groups"])
        )
        if self.instance.pk and not stays:
            # The admin's page opens the transaction.
            try:
                require_other_administrator(self.instance)
            except RefusedError as refusal:
                raise ValidationError(str(refusal)) from None
        return cleaned

    def clean_email(self) -> str:
        """Raises ValidationError for an empty address."""
        email: str = self.cleaned_data["email"]
        if not email:
            raise ValidationError(_("An email address is required."))
        return email
