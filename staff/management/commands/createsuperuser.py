from typing import Any

from django.contrib.auth.management.commands import createsuperuser

from core.database import statements
from core.management.base import operator, translated_errors


class Command(createsuperuser.Command):
    """Django's, whose line in the audit log names the operator."""

    def handle(self, *args: Any, **options: Any) -> str | None:
        with translated_errors(), statements.acting(operator=operator(), command="createsuperuser"):
            return super().handle(*args, **options)
