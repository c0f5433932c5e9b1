"""The admin of staff accounts and roles."""

from http import HTTPStatus
from typing import Any

from allauth.account.admin import EmailAddress
from allauth.mfa.admin import Authenticator
from django.contrib import admin
from django.contrib.admin.utils import unquote
from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin
from django.contrib.auth.models import Group
from django.db import transaction
from django.db.models import Model
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.html import format_html_join
from django.utils.translation import gettext_lazy as _
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

from partners.admin.bounded_lists import BackOfficeAdmin
from partners.admin.pages import ReadOnlyAdmin
from partners.db import audit
from users.models import Staff
from users.staff_login.sign_ins import PASSWORD_CHANGED


@admin.register(Staff)
class StaffAdmin(BackOfficeAdmin, DjangoUserAdmin):  # type: ignore[type-arg]
    """Staff accounts; they become inactive and are never deleted, since decisions name them.

    Permissions come by roles alone. Only superusers make or change superusers, and nobody changes their own roles.
    """

    form = UserChangeForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm
    list_display = ("username", "first_name", "last_name", "email", "is_active", "is_staff", "is_superuser")
    list_filter = ("is_active", "is_staff", "is_superuser", "groups")
    search_help_text = _("A part of a name or an email address.")
    readonly_fields = ("last_login", "date_joined")
    filter_horizontal = ("groups",)
    fieldsets = (
        (None, {"fields": ("username", "password")}),
        (_("Personal info"), {"fields": ("first_name", "last_name", "email")}),
        (_("Access"), {"fields": ("is_active", "is_staff", "is_superuser", "groups")}),
        (_("Important dates"), {"fields": ("last_login", "date_joined")}),
    )
    add_fieldsets = (
        (None, {"classes": ("wide",), "fields": ("username", "usable_password", "password1", "password2")}),
        (_("Personal info"), {"classes": ("wide",), "fields": ("first_name", "last_name", "email")}),
        (_("Access"), {"classes": ("wide",), "fields": ("is_staff", "groups")}),
    )

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """A superuser's account is changed by superusers, that of simulated decisions by nobody."""
        if isinstance(obj, Staff) and obj.is_superuser and not request.user.is_superuser:
            return False
        if isinstance(obj, Staff) and obj.username == Staff.SANDBOX:
            return False
        return super().has_change_permission(request, obj)

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        """An account that may sign in, as that of create_staff."""
        return {"is_staff": True}

    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> Any:
        """Without privilege escalation, and without another name: decisions name the account by it."""
        fields = tuple(super().get_readonly_fields(request, obj)) + (("username",) if obj else ())
        if request.user.is_superuser:
            return fields
        return (*fields, "is_superuser", *(("groups",) if obj == request.user else ()))

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:  # noqa: FBT001
        """Make the password of a new account a one-time password: a colleague knows it."""
        obj.password_is_one_time = obj.password_is_one_time or not change
        super().save_model(request, obj, form, change)

    @transaction.atomic
    def user_change_password(self, request: HttpRequest, id: str, form_url: str = "") -> HttpResponse:  # noqa: A002
        """Set a colleague's one-time password, in one transaction with its line in the audit log.

        One's own password is changed on the account pages, which ask for the current one.
        """
        person = self.get_object(request, unquote(id))
        if person == request.user:
            return redirect("account_change_password")
        response = super().user_change_password(request, id, form_url)
        if person is not None and response.status_code == HTTPStatus.FOUND:
            Staff.objects.filter(pk=person.pk).update(password_is_one_time=True)
            audit.record(PASSWORD_CHANGED, object=person.get_username())
        return response


# The imports above register Django's admin of groups, and allauth's of second factors. Somebody who may edit a second
# factor could give it to a colleague's account, and decide in their name.
for _model in (Group, EmailAddress, Authenticator):
    admin.site.unregister(_model)


@admin.register(Group)
class RoleAdmin(ReadOnlyAdmin):
    """Roles, which users/services/roles.py defines."""

    list_display = ("name",)
    ordering = ("name",)
    fields = ("name", "allowed")

    @admin.display(description=_("permissions"))
    def allowed(self, group: Group) -> str:
        names = group.permissions.order_by("content_type__app_label", "codename").values_list(
            "name", "content_type__app_label", "codename"
        )
        return format_html_join("", "{} ({}.{})<br>", names)
