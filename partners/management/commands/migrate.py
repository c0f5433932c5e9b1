"""`manage.py migrate`, run by the owner of the schema."""

from typing import Any

from django.core.management.base import CommandParser
from django.core.management.commands import migrate

from partners import roles


class Command(migrate.Command):
    """Django's migrate, as the role of OWNER_DATABASE_URL; the serving role's grants follow the tables."""

    def add_arguments(self, parser: CommandParser) -> None:
        """Django's own, with the owner as the default database."""
        super().add_arguments(parser)
        parser.set_defaults(database=roles.owner_alias())

    def handle(self, *args: Any, **options: Any) -> None:
        """Migrates, then grants, so that a new table is never left without."""
        super().handle(*args, **options)
        role = roles.serving_role()
        if role is not None and options["database"] == roles.OWNER and roles.exists(role):
            roles.grant(role)
