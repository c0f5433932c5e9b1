"""The app of partners' users and of staff."""

from django.apps import AppConfig
from django.contrib.auth.signals import user_logged_in, user_logged_out
from django.db.models.signals import post_migrate


class UsersConfig(AppConfig):
    """Partners' users, their compliance cases, and staff."""

    name = "users"

    def ready(self) -> None:
        """Connect the signals."""
        from allauth.account.signals import password_changed  # noqa: PLC0415 - models are ready only now

        from users import checks  # noqa: F401, PLC0415 - it registers them
        from users.staff.roles import sync_roles  # noqa: PLC0415
        from users.staff_login import sessions, sign_ins  # noqa: PLC0415

        post_migrate.connect(sync_roles, sender=self, dispatch_uid="users.staff.roles")
        user_logged_in.connect(sessions.start, dispatch_uid="users.staff_login")
        user_logged_in.connect(sign_ins.record_sign_in, dispatch_uid="users.sign_ins")
        user_logged_out.connect(sign_ins.record_sign_out, dispatch_uid="users.sign_ins")
        password_changed.connect(sign_ins.record_password_change, dispatch_uid="users.sign_ins")
