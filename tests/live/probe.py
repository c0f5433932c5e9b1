"""What a create under /v1 finds out about its transaction, in whichever process it is served.

A create of a user in one of CITIES does in its transaction what a developer may do, and notes what comes of it in the
file that PROBE_FILE names. `tests.live.probe_settings` loads this into a server.
"""

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg
from django.apps import AppConfig
from django.db import connection, transaction

KEPT, ROLLED_BACK = CITIES = ("Kept", "Rolled back")


class ProbeConfig(AppConfig):
    """Puts the probe in place of the function that creates users."""

    name = "tests.live"
    label = "probe"

    def ready(self) -> None:
        """Called once the models are there."""
        from users.api.views import UserCollection

        UserCollection.perform = probing(UserCollection.perform)  # type: ignore[method-assign]


def probing(perform: Any) -> Any:
    """A create that notes what it finds out about its transaction."""

    def probe(self: Any) -> Any:
        created, city = perform(self), self.new_user.profile.city
        if city in CITIES:
            observe(created.id, city)
        return created

    return probe


class UndoneError(Exception):
    """Rolls back the inner block, or the request's transaction."""


def observe(user_id: str, city: str) -> None:
    from users.models import User

    seen = {"event": "in the transaction", "in_atomic_block": connection.in_atomic_block, "others": visible(user_id)}
    with suppress(UndoneError), transaction.atomic():
        User.objects.filter(pk=user_id).update(occupation="Of the savepoint")
        raise UndoneError
    seen["after_savepoint"] = User.objects.get(pk=user_id).occupation != "Of the savepoint"
    try:
        with transaction.atomic(durable=True):
            seen["durable"] = "entered"
    except RuntimeError:
        seen["durable"] = "refused"
    transaction.on_commit(
        lambda: note(event="on commit", in_atomic_block=connection.in_atomic_block, others=visible(user_id))
    )
    note(**seen)
    if city == ROLLED_BACK:
        raise UndoneError


def visible(user_id: str) -> bool:
    """Whether another session sees the user."""
    settings = connection.settings_dict
    with psycopg.connect(host=settings["HOST"], dbname=settings["NAME"], user=settings["USER"]) as other:
        return other.execute("SELECT FROM users_user WHERE id = %s", [user_id]).fetchone() is not None


def note(**seen: object) -> None:
    with Path(os.environ["PROBE_FILE"]).open("a") as file:
        file.write(json.dumps(seen) + "\n")


def noted(file: Path) -> list[dict[str, Any]]:
    """What was noted so far."""
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
