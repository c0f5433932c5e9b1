from typing import Any

from django.core.management.base import CommandParser
from django.core.management.commands import migrate

from partners.db import serving_role
from partners.management.base import translated_errors


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
