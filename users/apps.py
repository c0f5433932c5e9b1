"""The app of partners' users and of the staff who decide about them."""

from django.apps import AppConfig
from django.db.models.signals import post_migrate


class UsersConfig(AppConfig):
    """Who the partners' users are."""

    name = "users"

    def ready(self) -> None:
        """Keeps the groups of staff as users/roles.py has them."""
        from users.roles import sync_roles  # noqa: PLC0415 - models are ready only now

        post_migrate.connect(sync_roles, dispatch_uid="users.roles")
