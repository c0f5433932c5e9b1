"""The admin of users, the queue, histories, staff and roles."""

from users.admin import queue, records, staff_accounts, users  # noqa: F401 - registers the admins
