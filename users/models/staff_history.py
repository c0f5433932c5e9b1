"""The history of staff's roles and second factors, and the admin's log: proxies of models that are not ours."""

from allauth.mfa.models import Authenticator
from django.contrib.admin.models import LogEntry
from django.utils.translation import gettext_lazy as _

from partners.db.audit import Labels, tracked
from partners.db.triggers import stamped
from users.models.triggers import by_active_staff
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


class AdminLogEntry(LogEntry):
    """Django's own log of what staff changed in the admin: with the database's time, as all that is kept for good."""

    class Meta:
        proxy = True
        default_permissions = ()
        triggers = (stamped("action_time"), by_active_staff("user_id"))
