"""The admin of users, the queue, histories, the audit log, staff and roles."""

from users.admin import audit_log, proposals, queue, records, staff_accounts, users  # noqa: F401 - registers the admins
