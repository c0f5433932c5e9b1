"""The admin of staff accounts and roles."""

from functools import partial
from typing import Any

from allauth.account.admin import EmailAddress
from allauth.mfa.admin import Authenticator
from allauth.socialaccount.admin import SocialAccount, SocialApp, SocialToken
from django.conf import settings
from django.contrib import admin, messages
from django.contrib.auth import admin as _groups  # noqa: F401 - registers the admin of groups, removed below
from django.contrib.auth.models import Group
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import transaction
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.html import format_html_join
from django.utils.translation import gettext_lazy as _
from unfold.enums import ActionVariant
from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget

from backoffice.access import staff_of
from backoffice.lists.confirmed_actions import ConfirmedAction, verify_second_factor
from backoffice.lists.pages import ReadOnlyAdmin
from backoffice.staff.staff_columns import (
    StateFilter,
    last_sign_in,
    login_name,
    person,
    roles,
    second_factor,
    sign_in,
    state,
)
from backoffice.staff.staff_forms import InviteForm, ReasonForm, StaffForm, role_with_duties
from staff import access as staff_access
from staff.accounts import create_invited_staff, second_factors, sign_in_methods
from staff.login import invitations
from staff.models import Staff
from staff.role_names import DUTIES, in_words
from staff.roles import display_permission

MAY_CHANGE = "staff.change_staff"
# An act on an account, with a reason.
_StaffAction = partial(ConfirmedAction, permission=MAY_CHANGE, form_class=ReasonForm, needs_fresh_factor=True)


@admin.register(Staff)
class StaffAdmin(ReadOnlyAdmin):
    """Staff accounts; they are disabled and never deleted, since decisions name them.

    Permissions come by roles alone. Only superusers make or change superusers, and nobody changes their own roles.
    """

    audited_by = "username"
    form = StaffForm
    list_display = ("username", person, "email", roles, second_factor, sign_in, last_sign_in, state)
    list_filter = (StateFilter, "groups")
    search_fields = ("username",)
    search_help_text = _("A part of a name or an email address.")
    ordering = ("username",)
    fieldsets = (
        (None, {"fields": (login_name, state, second_factor, sign_in, last_sign_in, "date_joined")}),  # type: ignore[typeddict-item]
        (_("Personal info"), {"fields": ("first_name", "last_name", "email")}),
        (_("Access"), {"fields": ("groups", "is_superuser")}),
    )
    editable_fields = ("first_name", "last_name", "email", "groups", "is_superuser")
    addable_fields = ("email",)
    change_form_template = "admin/change_form_with_actions.html"
    add_label = _("Invite")
    actions_detail = ("invite_again", "reset_second_factor", "end_sessions", "disable", "enable")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Staff]:
        """Accounts with their roles."""
        accounts: QuerySet[Staff] = super().get_queryset(request).prefetch_related("groups")
        return accounts

    def matching(self, request: HttpRequest, term: str) -> Q:
        """Staff are few, so a part is enough."""
        names = ("username", "first_name", "last_name", "email")
        return Q(*((f"{name}__icontains", term) for name in names), _connector=Q.OR)

    def prepare_rows(self, request: HttpRequest, rows: list[Staff]) -> None:
        """Load the second factors of all rows at once, and how they sign in."""
        factors, methods = second_factors(rows), sign_in_methods(rows)
        for row in rows:
            row.sign_in_method = methods[row.pk]  # type: ignore[attr-defined]  # for the column
            row.second_factors = factors.get(row.pk, set())  # type: ignore[attr-defined]  # for the column

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """A superuser's account is changed by superusers, that of simulated decisions by nobody."""
        if isinstance(obj, Staff) and obj.is_superuser and not request.user.is_superuser:
            return False
        if isinstance(obj, Staff) and obj.username == Staff.SANDBOX:
            return False
        return super().has_change_permission(request, obj)

    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> Any:
        """Without privilege escalation, and without another name: decisions name the account by it."""
        fields = (*super().get_readonly_fields(request, obj), *(("groups",) if obj == request.user else ()))
        # Nobody changes their own is_superuser: the last superuser could lock everybody out.
        return fields if request.user.is_superuser and obj != request.user else (*fields, "is_superuser")

    def get_fieldsets(self, request: HttpRequest, obj: Model | None = None) -> Any:
        """Whether somebody is a superuser, for superusers; others see it among the roles of the list."""
        hidden = set() if request.user.is_superuser else {"is_superuser"}
        return [
            (title, {**options, "fields": [one for one in options["fields"] if one not in hidden]})
            for title, options in super().get_fieldsets(request, obj)
        ]

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
        return verify_second_factor(request) or super().change_view(request, *args, **kwargs)

    # Invitations

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Any = None) -> HttpResponse:
        """Invite somebody, and show the link once."""
        if not self.has_add_permission(request):
            raise PermissionDenied
        if (second_factor := verify_second_factor(request)) is not None:
            return second_factor
        form = InviteForm(request.POST if request.method == "POST" else None)
        if form.is_valid():
            try:
                with transaction.atomic():
                    return self._show_invitation(request, create_invited_staff(**form.cleaned_data))
            except ValidationError as error:
                form.add_error(None, error)
        return self.action_form_page(
            request,
            None,
            form,
            title=_("Invite a colleague"),
            button=_("Invite"),
            note=_(
                "The invitation is a link, shown once on the next page: hand it over yourself. It is valid 72 hours."
            ),
        )

    @_StaffAction(
        description=_("New invitation link"),
        button=_("Make the link"),
        note=_(
            "For a link that has expired or a lost password: the present password no longer works, sessions end,"
            " and second factors stay. The link is shown once, on the next page."
        ),
    )
    def invite_again(self, request: HttpRequest, staff: Staff, form: ReasonForm) -> HttpResponse:
        """Take the password away, and show a new link once."""
        return self._show_invitation(request, staff_access.invite_again(**_given(request, staff, form)))

    def _show_invitation(self, request: HttpRequest, staff: Staff) -> HttpResponse:
        if not settings.STAFF_PASSWORD_LOGIN:
            # A link leads to a password.
            text = _("%(name)s is invited, and signs in with %(provider)s by the address %(email)s.")
            names = {"name": staff.get_username(), "provider": settings.STAFF_OIDC_NAME, "email": staff.email}
            messages.success(request, text % names)
            return self.redirect_to(staff)
        context = self.admin_site.each_context(request) | {
            "opts": self.opts,
            "title": _("Invitation"),
            "staff": staff,
            "link": request.build_absolute_uri(invitations.link(staff)),
        }
        return TemplateResponse(request, "admin/staff/staff/invited.html", context)

    # Access

    @_StaffAction(
        description=_("Reset the second factor"),
        button=_("Reset"),
        note=_("Second factors and recovery codes are removed, and sessions end. Verify first who asks for it."),
        is_dangerous=True,
    )
    def reset_second_factor(self, request: HttpRequest, staff: Staff, form: ReasonForm) -> Any:
        """For a lost one."""
        staff_access.reset_second_factor(**_given(request, staff, form))
        return _("The second factor is reset: the person enrols a new one at the next sign-in.")

    @_StaffAction(
        description=_("End all sessions"),
        button=_("End them"),
        note=_("The person is signed out in all browsers at once, and may sign in again."),
    )
    def end_sessions(self, request: HttpRequest, staff: Staff, form: ReasonForm) -> Any:
        """Sign the person out everywhere."""
        staff_access.end_sessions(**_given(request, staff, form))
        return _("All sessions have ended.")

    @_StaffAction(
        description=_("Disable"),
        title=_("Disable the account"),
        note=_("The person is signed out at once, and claimed cases return to the queue."),
        variant=ActionVariant.DANGER,
        is_dangerous=True,
    )
    def disable(self, request: HttpRequest, staff: Staff, form: ReasonForm) -> Any:
        """No further login."""
        staff_access.disable(**_given(request, staff, form))
        return _("The account is disabled.")

    @_StaffAction(
        description=_("Enable"),
        title=_("Enable the account"),
        note=_("The person signs in with the password and the second factor of before."),
    )
    def enable(self, request: HttpRequest, staff: Staff, form: ReasonForm) -> Any:
        """Let the person sign in again."""
        staff_access.enable(**_given(request, staff, form))
        return _("The account is enabled.")

    def may_act(self, request: HttpRequest, obj: Staff) -> bool:
        return self.has_change_permission(request, obj)

    def render_change_form(self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        """The page with the acts that are possible above the fields."""
        staff: Staff = kwargs["obj"]
        context["show_save_and_add_another"] = False
        if self.has_change_permission(request, staff) and staff != request.user:
            further = super().get_actions_detail(request, staff.pk)  # type: ignore[misc]
            context["more_actions"] = self.action_links(
                staff, [one for one in further if _is_possible(one.action_name, staff)]
            )
        return super().render_change_form(request, context, *args, **kwargs)

    def get_actions_detail(self, request: HttpRequest, object_id: Any) -> Any:
        """None in the header: they are above the fields."""
        return []


def _given(request: HttpRequest, staff: Staff, form: ReasonForm) -> dict[str, Any]:
    """The arguments of the rules of staff/access.py."""
    return {"staff": staff, "reason": form.cleaned_data["reason"], "by": staff_of(request)}


def _is_possible(action_name: str, staff: Staff) -> bool:
    """Whether the account's state allows the act: for a disabled account, only to enable it."""
    return action_name.endswith("_enable") != staff.is_active


# The imports above register Django's admin of groups, and allauth's of second factors and the company's accounts.
# Somebody who may edit one of these could give it to a colleague's account, and decide in their name.
for _model in (Group, EmailAddress, Authenticator, SocialAccount, SocialApp, SocialToken):
    admin.site.unregister(_model)


@admin.register(Group)
class RoleAdmin(ReadOnlyAdmin):
    """Roles, which staff/roles.py defines."""

    list_display = ("role", "duties", "name")
    ordering = ("name",)
    fields = ("role", "duties", "name", "allowed")

    @admin.display(description=_("role"))
    def role(self, group: Group) -> str:
        return in_words(group.name)

    @admin.display(description=_("may do"))
    def duties(self, group: Group) -> str:
        return str(DUTIES.get(group.name, "–"))

    @admin.display(description=_("permissions"))
    def allowed(self, group: Group) -> str:
        permissions = group.permissions.select_related("content_type").order_by("content_type__app_label", "codename")
        return format_html_join("", "{}<br>", ((display_permission(one),) for one in permissions))
