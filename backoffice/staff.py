"""The admin of staff accounts and roles."""

from functools import partial
from typing import Any

from allauth.account.admin import EmailAddress
from allauth.mfa.admin import Authenticator
from allauth.socialaccount.admin import SocialAccount, SocialApp, SocialToken
from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.contrib.auth import admin as _groups  # noqa: F401 - registers the admin of groups, removed below
from django.contrib.auth.models import Group
from django.core.exceptions import ValidationError
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.html import format_html
from django.utils.translation import gettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _
from unfold.enums import ActionVariant
from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget

from backoffice.actions import Act, RowAction, show_once
from backoffice.lists.cells import badge, column
from backoffice.lists.filters import ChoiceFilter, Conditions
from backoffice.lists.pages import ReadOnlyAdmin
from core.refusals import RefusedError
from staff import access as staff_access
from staff.access import ADMINISTRATOR, REASON_LENGTH, require_other_administrator
from staff.accounts import PREFETCHED, StaffState, create_staff, role_names, second_factors, state_of
from staff.login import invitations
from staff.login.factors import FRESH_SECONDS, OF_PROVIDER, require_fresh_factor
from staff.models import Staff
from staff.roles import DUTIES, ROLES, in_words

MAY_CHANGE = "staff.change_staff"
_BADGES = {StaffState.ACTIVE: "good", StaffState.INVITED: "warning"}
_FACTORS = {
    Authenticator.Type.WEBAUTHN: _("Passkey"),
    Authenticator.Type.TOTP: _("Authenticator app"),
    OF_PROVIDER: pgettext_lazy("sign-in", "Company account"),
}


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
        empty_value=None,
        help_text=_("Decisions name it for good. If empty: what is before the @ of the address."),
    )
    role = forms.ChoiceField(
        label=_("Role"), choices=lambda: [(role, role_with_duties(role)) for role in ROLES], widget=forms.RadioSelect
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
        is_superuser, roles = cleaned.get("is_superuser", self.instance.is_superuser), cleaned.get("groups")
        if roles is not None and not is_superuser and ADMINISTRATOR not in {role.name for role in roles}:
            # The admin's page opens the transaction.
            try:
                require_other_administrator(self.instance)
            except RefusedError as refusal:
                raise ValidationError(str(refusal)) from None
        return cleaned


# An act on an account, with a reason. The links are above the fields.
_StaffAction = partial(
    RowAction, permission=MAY_CHANGE, form_class=ReasonForm, fresh_seconds=FRESH_SECONDS, in_header=False
)
# For a disabled account, only to enable it.
_ActiveAction = partial(_StaffAction, is_possible=lambda staff: staff.is_active)


class StateFilter(ChoiceFilter):
    """By the state of the account."""

    title, parameter_name = _("state"), "state"

    def conditions(self, request: HttpRequest) -> Conditions:
        conditions = {
            StaffState.ACTIVE: Q(is_active=True, password_is_one_time=False),
            StaffState.INVITED: Q(is_active=True, password_is_one_time=True),
            StaffState.DISABLED: Q(is_active=False),
        }
        return {state.value: (state.label, condition) for state, condition in conditions.items()}


@admin.register(Staff)
class StaffAdmin(ReadOnlyAdmin):
    """Staff accounts: never deleted. Only superusers make or change superusers; nobody changes their own roles."""

    audited_by = "username"
    form = StaffForm
    list_display = ("username", "first_name", "last_name", "email", "roles", "second_factor", "last_login", "state")
    list_filter = (StateFilter, "groups")
    search_fields = ("username",)
    search_help_text = _("A part of a name or an email address.")
    ordering = ("username",)
    fieldsets = (
        (None, {"fields": ("username", "state", "second_factor", "last_login", "date_joined")}),
        (_("Personal info"), {"fields": ("first_name", "last_name", "email")}),
        (_("Access"), {"fields": ("groups", "is_superuser", "is_emergency")}),
    )
    editable_fields = ("first_name", "last_name", "email", "groups", "is_superuser")
    addable_fields = ("email",)
    add_label = _("Invite")
    actions_detail = ("invite_again", "reset_second_factor", "end_sessions", "disable", "enable")

    roles = column(_("roles"), lambda staff: ", ".join(map(in_words, role_names(staff))) or "–")
    state = column(_("state"), lambda staff: badge(state_of(staff).label, _BADGES.get(state_of(staff), "off")))

    def get_queryset(self, request: HttpRequest) -> QuerySet[Staff]:
        """Without the account of simulated decisions."""
        accounts: QuerySet[Staff] = super().get_queryset(request).filter(is_staff=True)
        return accounts.prefetch_related(*PREFETCHED)

    @admin.display(description=_("second factor"))
    def second_factor(self, staff: Staff) -> str:
        factors = second_factors(staff)
        return ", ".join(str(text) for kind, text in _FACTORS.items() if kind in factors) or str(_("None yet"))

    def matching(self, request: HttpRequest, term: str) -> Q:
        """Staff are few, so a part is enough."""
        names = ("username", "first_name", "last_name", "email")
        return Q(*((f"{name}__icontains", term) for name in names), _connector=Q.OR)

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """A superuser's account is changed by superusers."""
        if isinstance(obj, Staff) and obj.is_superuser and not request.user.is_superuser:
            return False
        return super().has_change_permission(request, obj)

    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> Any:
        """Without privilege escalation, and without another name: decisions name the account by it."""
        fields = (*super().get_readonly_fields(request, obj), *(("groups",) if obj == request.user else ()))
        # Nobody changes their own is_superuser: the last superuser could lock everybody out.
        return fields if request.user.is_superuser and obj != request.user else (*fields, "is_superuser")

    def formfield_for_manytomany(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """Roles as checkboxes, with what each may do."""
        field: Any = super().formfield_for_manytomany(
            db_field,
            request,
            **kwargs | {"widget": UnfoldAdminCheckboxSelectMultipleWidget(), "label": _("Roles"), "help_text": ""},
        )
        field.label_from_instance = lambda group: role_with_duties(group.name)
        return field

    def change_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Django's; what is sent, such as another role, needs a fresh second factor."""
        fresh = require_fresh_factor(request) if request.method == "POST" else None
        return fresh or super().change_view(request, *args, **kwargs)

    # Invitations

    @RowAction(
        title=_("Invite"),
        permission="staff.add_staff",
        heading=_("Invite a colleague"),
        note=_("The invitation is a link, shown once on the next page: hand it over yourself. It is valid 72 hours."),
        form_class=InviteForm,
        fresh_seconds=FRESH_SECONDS,
    )
    def add_view(self, act: Act) -> HttpResponse:
        """Invite somebody, and show the link once."""
        return self._show_invitation(act, create_staff(**act.form.cleaned_data))

    @_ActiveAction(
        title=_("New invitation link"),
        button=_("Make the link"),
        note=_(
            "For a link that has expired or a lost password: the present password no longer works, sessions end,"
            " and second factors stay. The link is shown once, on the next page."
        ),
    )
    def invite_again(self, act: Act) -> HttpResponse:
        """Take the password away, and show a new link once."""
        return self._show_invitation(act, staff_access.invite_again(**_given(act)))

    def _show_invitation(self, act: Act, staff: Staff) -> HttpResponse:
        if not settings.STAFF_PASSWORD_LOGIN:
            # A link leads to a password.
            text = _("%(name)s is invited, and signs in with %(provider)s by the address %(email)s.")
            names = {"name": staff.get_username(), "provider": settings.STAFF_OIDC_NAME, "email": staff.email}
            messages.success(act.request, text % names)
            return self.redirect_to(staff)
        link = act.request.build_absolute_uri(invitations.link(staff))
        return show_once(
            act,
            staff,
            title=_("Invitation"),
            heading=gettext("The invitation of %(name)s") % {"name": staff.get_username()},
            warning=_("Copy the link now: it is shown this once and cannot be read back."),
            facts=((_("Email address"), staff.email), (_("Valid"), _("72 hours, once"))),
            secrets=(("link", _("Link"), link),),
            hint=_(
                "Hand it over by a way that only this person reads: the first person who opens it chooses the"
                " password. No mail has been sent."
            ),
            button=_("I have copied it"),
        )

    # Access

    @_ActiveAction(
        title=_("Reset the second factor"),
        button=_("Reset"),
        note=_("Second factors and recovery codes are removed, and sessions end. Verify first who asks for it."),
        variant=ActionVariant.DANGER,
    )
    def reset_second_factor(self, act: Act) -> Any:
        staff_access.reset_second_factor(**_given(act))
        return _("The second factor is reset: the person enrols a new one at the next sign-in.")

    @_ActiveAction(
        title=_("End all sessions"),
        button=_("End them"),
        note=_("The person is signed out in all browsers at once, and may sign in again."),
    )
    def end_sessions(self, act: Act) -> Any:
        staff_access.end_sessions(**_given(act))
        return _("All sessions have ended.")

    @_ActiveAction(
        title=_("Disable"),
        heading=_("Disable the account"),
        note=_("The person is signed out at once, and claimed cases return to the queue."),
        variant=ActionVariant.DANGER,
    )
    def disable(self, act: Act) -> Any:
        staff_access.disable(**_given(act))
        return _("The account is disabled.")

    @_StaffAction(
        title=_("Enable"),
        heading=_("Enable the account"),
        note=_("The person signs in with the password and the second factor of before."),
        is_possible=lambda staff: not staff.is_active,
    )
    def enable(self, act: Act) -> Any:
        staff_access.enable(**_given(act))
        return _("The account is enabled.")

    def may_act(self, request: HttpRequest, obj: Staff) -> bool:
        return self.has_change_permission(request, obj)

    def possible_actions(self, request: HttpRequest, obj: Staff) -> list[Any]:
        """None on one's own account."""
        return super().possible_actions(request, obj) if obj != request.user else []


def _given(act: Act) -> dict[str, Any]:
    """The arguments of the rules of staff/access.py."""
    return {"staff": act.row, "reason": act.form.cleaned_data["reason"], "by": act.staff}


# The imports above register Django's admin of groups, and allauth's of second factors and the company's accounts.
# Somebody who may edit one of these could give it to a colleague's account, and decide in their name.
for _model in (Group, EmailAddress, Authenticator, SocialAccount, SocialApp, SocialToken):
    admin.site.unregister(_model)


@admin.register(Group)
class RoleAdmin(ReadOnlyAdmin):
    """Roles, which staff/roles.py defines."""

    list_display = ("role", "duties", "name")
    ordering = ("name",)
    fields = ("role", "duties", "name", "permissions")

    role = column(_("role"), lambda group: in_words(group.name))
    duties = column(_("may do"), lambda group: DUTIES.get(group.name, "–"))
