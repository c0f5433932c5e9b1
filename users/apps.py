"""The app of partners' users."""

from django.apps import AppConfig


class UsersConfig(AppConfig):
    """Partners' users and their compliance cases."""

    name = "users"

    def ready(self) -> None:
        """Connect the signals, and register what a folder has."""
        from staff.access import account_disabled, account_disabling  # noqa: PLC0415 - models are ready only now
        from users import claims  # noqa: PLC0415
        from users.decisions import proposals  # noqa: PLC0415 - with its check
        from users.file import risk_flags  # noqa: F401, PLC0415 - registers them

        account_disabling.connect(claims.release_all, dispatch_uid="users.claims")
        account_disabled.connect(proposals.decline_all, dispatch_uid="users.proposals")
