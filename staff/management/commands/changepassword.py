from typing import Any

from django.contrib.auth.management.commands import changepassword
from django.db.models.signals import post_save

from core import audit
from core.database import statements
from core.management.base import operator, translated_errors
from staff.login.sign_ins import PASSWORD_CHANGED
from staff.models import Staff


class Command(changepassword.Command):
    """Django's, with a line in the audit log that names the operator."""

    def handle(self, *args: Any, **options: Any) -> str | None:
        # In the transaction of the change.
        post_save.connect(record, sender=Staff)
        try:
            with translated_errors(), statements.acting(operator=operator(), command="changepassword"):
                return super().handle(*args, **options)
        finally:
            post_save.disconnect(record, sender=Staff)


def record(instance: Staff, **_signal: Any) -> None:
    """Receive post_save."""
    audit.record(PASSWORD_CHANGED, object=instance.get_username())
