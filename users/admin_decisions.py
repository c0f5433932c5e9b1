"""The form by which staff decide about a user: contract, section 8."""

from django import forms
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, QueryDict
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from partners.admin_sections import Action, ActionForm
from users import compliance
from users.models import Staff, User
from users.statuses import Status


class DecisionForm(ActionForm):
    """Where the user is to move, and why."""

    # Text with a choice of what is allowed: whether a move is allowed is said by the rule alone.
    to_status = forms.CharField(label=_("New status"), widget=forms.Select)
    reason = forms.CharField(
        label=_("Reason"),
        max_length=compliance.REASON_LENGTH,
        widget=forms.Textarea(attrs={"rows": 4, "cols": 80}),
        help_text=_("Kept for good, with your name."),
    )
    reason_code = forms.CharField(label=_("Reason code"), max_length=compliance.REASON_CODE_LENGTH, required=False)

    def __init__(self, *, user: User, data: QueryDict | None = None) -> None:
        # With each change of profile or status updatedAt moves, never to where it was.
        super().__init__(version=user.updated_at.isoformat(), data=data)
        moves = [(status.value, status.label) for status in compliance.allowed_moves(user.status)]
        self.fields["to_status"].widget.choices = [("", "---------"), *moves]


def decision_action(user: User, data: QueryDict | None = None) -> Action:
    """The form for this user as it stands."""
    return Action(
        title=_("Change status"),
        button=_("Change status"),
        url=reverse("admin:users_user_status", args=(user.pk,)),
        form=DecisionForm(user=user, data=data),
        note=_("Now: %(status)s.") % {"status": Status(user.status).label},
    )


def staff_of(request: HttpRequest) -> Staff:
    """Who is asking. Raises PermissionDenied for nobody."""
    if isinstance(request.user, AnonymousUser):
        raise PermissionDenied
    return request.user
