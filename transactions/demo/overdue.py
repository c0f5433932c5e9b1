"""Dates a requirement of the demo back, so that an answer is overdue."""

from datetime import timedelta
from typing import Any

from django.db import connections, transaction
from django.utils import timezone

from partners.db import serving_role
from users.models import Requirement, User

AGE: Any = timedelta(days=3)


def make_overdue(user: User) -> None:
    """Make the open requirement of a user older, unless it is overdue already.

    No role may do this, as the rows never change: so the owner, for this one row, without its triggers. It waits for
    transactions that use the table.
    """
    due = Requirement.objects.filter(user=user, closed_at=None, due_at__gt=timezone.now())
    if not (found := list(due.values_list("pk", flat=True))):
        return
    owner = connections[serving_role.OWNER]
    with transaction.atomic(using=serving_role.OWNER), owner.cursor() as cursor:
        cursor.execute("ALTER TABLE users_requirement DISABLE TRIGGER USER")
        cursor.execute(
            "UPDATE users_requirement SET created_at = created_at - %s, due_at = due_at - %s WHERE id = ANY(%s)",
            [AGE, AGE, found],
        )
        cursor.execute("ALTER TABLE users_requirement ENABLE TRIGGER USER")
        cursor.execute(
            "UPDATE users_user SET requirements_due_at = requirements_due_at - %s WHERE id = %s", [AGE, user.pk]
        )
    owner.close()
