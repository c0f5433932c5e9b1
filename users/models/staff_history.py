"""The history of staff's roles and second factors: proxies of models that are not ours."""

from allauth.mfa.models import Authenticator
from django.utils.translation import gettext_lazy as _

from partners.db.audit import Labels, tracked
from users.models.user import Staff


@tracked(
    *("staff", "group"),
    action="staffRole",
    labels=Labels(_("Role given"), _("Role changed"), _("Role taken away")),
    object="(SELECT username FROM users_staff WHERE id = NEW.staff_id)",
    detail={"role": "(SELECT name FROM auth_group WHERE id = NEW.group_id)"},
    shown=(),
)
class StaffRole(Staff.groups.through):  # type: ignore[name-defined,misc]
    """A role of a staff account."""

    class Meta:
        proxy = True
        default_permissions = ()


@tracked(
    *("user", "type", "created_at"),
    action="secondFactor",
    labels=Labels(_("Second factor enrolled"), _("Second factor changed"), _("Second factor removed")),
    object="(SELECT username FROM users_staff WHERE id = NEW.user_id)",
    detail={"type": "NEW.type"},
    shown=(),
    app_label="users",
)
class SecondFactor(Authenticator):  # type: ignore[misc]
    """A second factor of a staff account, or its recovery codes."""

    class Meta:
        proxy = True
        default_permissions = ()
