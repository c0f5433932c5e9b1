"""Indexes that several models have."""

from django.db import models
from django.db.models import Q


def newest_of_each_mode(name: str, *columns: str) -> list[models.Index]:
    """The order of a list of staff, by an index of the rows of real users and one of those of sandbox users.

    columns: those of the order.
    Instead of an index that begins with is_sandbox, PostgreSQL would choose the primary key's, whose order the rows
    have on disk, and read past all rows of the other mode.
    """
    return [
        models.Index(fields=columns, condition=Q(is_sandbox=is_sandbox), name=f"{name}_{mode}")
        for mode, is_sandbox in (("live", False), ("sandbox", True))
    ]
