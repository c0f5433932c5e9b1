"""`manage.py migrate`, run by the owner of the schema."""

from typing import Any

from django.core.management.base import CommandParser
from django.core.management.commands import migrate

from partners.db import serving_role


class Command(migrate.Command):
    """Django's migrate, as the role of OWNER_DATABASE_URL; the serving role's grants follow the tables."""

    def add_arguments(self, parser: CommandParser) -> None:
        """Django's own, with the owner as the default database."""
        super().add_arguments(parser)
        parser.set_defaults(database=serving_role.owner_alias())

    def handle(self, *args: Any, **options: Any) -> None:
        """Migrates, then grants, so that a new table is never left without."""
        super().handle(*args, **options)
        role = serving_role.serving_role()
        if role is not None and options["database"] == serving_role.OWNER and serving_role.exists(role):
            serving_role.grant(role)
