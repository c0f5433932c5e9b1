"""The admin of users, their histories, staff and roles."""

from users.admin.staff import LogEntryAdmin, RoleAdmin, StaffAdmin
from users.admin.users import AccessRecordAdmin, StatusChangeAdmin, UserAdmin, UserEventAdmin

__all__ = (
    "AccessRecordAdmin",
    "LogEntryAdmin",
    "RoleAdmin",
    "StaffAdmin",
    "StatusChangeAdmin",
    "UserAdmin",
    "UserEventAdmin",
)
