from typing import Any

from django.conf import settings
from django.core.management.base import CommandError, CommandParser
from django.core.management.commands import migrate
from django.db.migrations import Migration
from django.db.models.signals import pre_migrate

from core.database import serving_role
from core.management.base import translated_errors


def refuse_backwards(plan: list[tuple[Migration, bool]], **_signal: Any) -> None:
    """Receive pre_migrate. Raises CommandError for a step backwards: it drops histories that are kept for good."""
    if not settings.DEBUG and any(is_backwards for _migration, is_backwards in plan):
        raise CommandError("Migrations are not reversed: it would drop rows that are kept for good. Restore a backup.")


pre_migrate.connect(refuse_backwards, dispatch_uid="core.refuse_backwards")


class Command(migrate.Command):
    """Django's migrate, by the role of OWNER_DATABASE_URL; then grants, so that no table is left without."""

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.set_defaults(database=serving_role.owner_alias())

    def handle(self, *args: Any, **options: Any) -> None:
        with translated_errors():
            super().handle(*args, **options)
            role = serving_role.serving_role()
            if role is not None and options["database"] == serving_role.OWNER and serving_role.exists(role):
                serving_role.grant(role)
