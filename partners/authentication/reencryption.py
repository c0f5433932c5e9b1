"""Stored secrets moved to the newest of SECRETS_ENCRYPTION_KEYS, so that the older ones can be retired.

Safe while serving: a batch's rows are locked while they are written anew, and what they hold stays
the same. A layer above adds what it keeps encrypted by `register`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from cryptography.fernet import InvalidToken
from django.db import transaction

from partners.authentication import encryption
from partners.models import ApiKey


class Row(NamedTuple):
    """A row that holds encrypted texts.

    name: how ops know it, where it matters that it cannot be decrypted; otherwise None.
    write: stores the texts anew, in their order.
    """

    pk: int
    name: str | None
    texts: Sequence[str]
    write: Callable[[Sequence[str]], None]


class Store(NamedTuple):
    """Where encrypted texts of one purpose are.

    name: in camelCase, as `--json` has it. title: for people.
    rows: by primary key, those after `after` and at most `limit`; locked, but for reading, where `lock` is true.
    """

    name: str
    title: str
    purpose: str
    rows: Callable[[int, int, bool], Sequence[Row]]


@dataclass
class Count:
    """How a store's rows fared: written anew, found under the newest key, or under no present key."""

    renewed: int = 0
    current: int = 0
    unreadable: list[str] = field(default_factory=list)


_stores: list[Store] = []


def register(store: Store) -> None:
    """Adds a store. Called in the ready() of the app that keeps it."""
    _stores.append(store)


def stores() -> list[Store]:
    """All stores, this layer's first."""
    return [Store("apiKeys", "API keys", encryption.API_SECRETS, _api_keys), *_stores]


def reencrypt(*, batch_size: int, dry_run: bool) -> dict[str, Count]:
    """Encrypts anew whatever is not under the newest key; each store's count by its name.

    Each batch is a transaction of its own: what is done stays done, and a further run goes on with the rest.
    dry_run: counts alone.
    """
    return {store.name: _reencrypt_store(store, batch_size=batch_size, dry_run=dry_run) for store in stores()}


def _reencrypt_store(store: Store, *, batch_size: int, dry_run: bool) -> Count:
    count, after = Count(), 0
    while True:
        with transaction.atomic():
            rows = store.rows(after, batch_size, not dry_run)
            for row in rows:
                _reencrypt_row(row, store.purpose, count, dry_run=dry_run)
        if len(rows) < batch_size:
            return count
        after = rows[-1].pk


def _reencrypt_row(row: Row, purpose: str, count: Count, *, dry_run: bool) -> None:
    try:
        renewed = [encryption.renewed(text, purpose=purpose) for text in row.texts]
    except InvalidToken:
        if row.name is not None:
            count.unreadable.append(row.name)
        return
    if not any(renewed):
        count.current += 1
        return
    count.renewed += 1
    if not dry_run:
        row.write([new or old for new, old in zip(renewed, row.texts, strict=True)])


def _api_keys(after: int, limit: int, lock: bool) -> Sequence[Row]:  # noqa: FBT001 - as Store has it
    keys = ApiKey.objects.filter(pk__gt=after).order_by("pk")
    if lock:
        # Requests that use a key do not wait for it; revoking and rotating it do, until the batch is done.
        keys = keys.select_for_update(no_key=True)
    # Of a revoked key nobody misses the secret.
    return [
        Row(key.pk, None if key.revoked_at else key.prefix, [key.encrypted_secret], _writer_of(key.pk))
        for key in keys[:limit]
    ]


def _writer_of(key_id: int) -> Callable[[Sequence[str]], None]:
    def write(texts: Sequence[str]) -> None:
        ApiKey.objects.filter(pk=key_id).update(encrypted_secret=texts[0])

    return write
