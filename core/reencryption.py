"""Moves stored secrets to the newest of SECRETS_ENCRYPTION_KEYS, so that older keys can be retired.

Safe while serving: a batch's rows are locked while they are written, and the plain texts stay the same.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from cryptography.fernet import InvalidToken
from django.db import transaction
from django.db.models import QuerySet

from core import encryption


class EncryptedColumn(NamedTuple):
    """A table that holds one encrypted text in each row.

    key: the column's name in `--json`. title: its name for people. label: names a row whose text cannot be decrypted;
    None if it does not matter.
    """

    key: str
    title: str
    purpose: str
    rows: Callable[[], QuerySet[Any]]
    read: Callable[[Any], str]
    write: Callable[[Any, str], object]
    label: Callable[[Any], str | None]


@dataclass
class Count:
    """The rows of a column: re-encrypted, already under the newest key, or under no present key."""

    renewed: int = 0
    current: int = 0
    unreadable: list[str] = field(default_factory=list)


def reencrypt(column: EncryptedColumn, *, batch_size: int, dry_run: bool) -> Count:
    """Re-encrypt the rows that are not under the newest key, in one transaction per batch. dry_run: only count."""
    count, last_pk = Count(), 0
    while True:
        with transaction.atomic():
            rows = column.rows().filter(pk__gt=last_pk).order_by("pk")
            if not dry_run:
                # Requests and deliveries do not wait for this lock; revoking and rotating do.
                rows = rows.select_for_update(no_key=True, of=("self",))
            batch = list(rows[:batch_size])
            for row in batch:
                try:
                    renewed = encryption.reencrypt(column.read(row), purpose=column.purpose)
                except InvalidToken:
                    if label := column.label(row):
                        count.unreadable.append(label)
                    continue
                if renewed is None:
                    count.current += 1
                    continue
                count.renewed += 1
                if not dry_run:
                    column.write(row, renewed)
        if len(batch) < batch_size:
            return count
        last_pk = batch[-1].pk
