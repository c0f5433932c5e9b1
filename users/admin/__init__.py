"""The admin of users, their histories, the queue, staff and roles."""

from users.admin.queue import ChangedUserAdmin, QueueAdmin
from users.admin.records import AccessRecordAdmin, StatusChangeAdmin, UserEventAdmin
from users.admin.staff_accounts import LogEntryAdmin, RoleAdmin, StaffAdmin
from users.admin.users import UserAdmin

__all__ = (
    "AccessRecordAdmin",
    "ChangedUserAdmin",
    "LogEntryAdmin",
    "QueueAdmin",
    "RoleAdmin",
    "StaffAdmin",
    "StatusChangeAdmin",
    "UserAdmin",
    "UserEventAdmin",
)
