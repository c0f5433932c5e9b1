"""The app of staff."""

from django.apps import AppConfig
from django.contrib.auth.signals import user_logged_in, user_logged_out
from django.db.models.signals import post_migrate


class StaffConfig(AppConfig):
    """Accounts of staff, their roles, and how they sign in."""

    name = "staff"

    def ready(self) -> None:
        """Connect the signals."""
        from allauth.account.signals import password_changed  # noqa: PLC0415 - models are ready only now

        from staff.login import sign_ins  # noqa: PLC0415
        from staff.oidc import provider  # noqa: F401, PLC0415 - it registers a check
        from staff.roles import sync_roles  # noqa: PLC0415

        post_migrate.connect(sync_roles, sender=self, dispatch_uid="staff.roles")
        user_logged_in.connect(sign_ins.record_sign_in, dispatch_uid="staff.sign_ins")
        user_logged_out.connect(sign_ins.record_sign_out, dispatch_uid="staff.sign_ins")
        password_changed.connect(sign_ins.record_password_change, dispatch_uid="staff.sign_ins")
