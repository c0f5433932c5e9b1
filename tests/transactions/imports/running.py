"""Helpers for tests of imports: lines, and the command in this process or another one."""

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.conf import settings
from django.core.management import CommandError, call_command

from core.database import serving_role
from core.models import AuditEntry
from partners.models import Partner
from tests.conftest import database_url
from tests.factories import ConversionFactory, columns_of
from tests.support.commands import obey_all_signals
from tests.support.watched import wait_until
from transactions.management.commands import import_conversions
from transactions.models import IMPORT_ENDED, Conversion
from users.models import User

Line = Callable[..., dict[str, Any]]


class Result:
    """The command's output and exit status."""

    def __init__(self, file: Path, *options: str) -> None:
        out, err = io.StringIO(), io.StringIO()
        self.status: Any = 0
        self.reason = ""
        try:
            call_command("import_conversions", str(file), "--json", *options, stdout=out, stderr=err)
        except SystemExit as ended:
            self.status = ended.code
        except CommandError as error:
            self.status, self.reason = error.returncode, str(error)
        self.counts = tuple(json.loads(out.getvalue()).values()) if out.getvalue() else ()
        self.errors = err.getvalue().splitlines()


def in_batches(monkeypatch: pytest.MonkeyPatch, lines: int) -> None:
    monkeypatch.setattr(import_conversions.Command, "batch_lines", lines)


def last_counts() -> dict[str, Any]:
    """What the audit log has of the last import: its file and counts."""
    detail = AuditEntry.objects.filter(action=IMPORT_ENDED).latest("id").detail
    return {name: detail[name] for name in ("file", "imported", "unchanged", "rejected")}


def ndjson(*lines: Any) -> bytes:
    return b"".join((x if isinstance(x, bytes) else json.dumps(x).encode()) + b"\n" for x in lines)


def write(path: Path, *lines: Any) -> Path:
    path.write_bytes(ndjson(*lines))
    return path


def stored(partner: Partner) -> set[str]:
    return set(Conversion.objects.filter(partner=partner).values_list("conversion_id", flat=True))


@contextmanager
def held_up(partner: Partner, conversion_id: str) -> Iterator[psycopg.Connection[Any]]:
    """Keeps imports of this conversion waiting inside their transaction, until the block ends or rolls back."""
    user = User.objects.get(partner=partner)
    # One with CAD would keep all imports of the partner with CAD waiting (transactions_mark_threshold).
    fields = columns_of(ConversionFactory, user=user, conversion_id=conversion_id, from_currency="EUR")
    fields |= {"partner": partner.pk, "user": user.pk}
    columns = ", ".join(f"{name}_id" if name in {"partner", "user"} else name for name in fields)
    places = ", ".join(["%s"] * len(fields))
    with psycopg.connect(database_url(serving_role.OWNER)) as blocker:
        blocker.execute(f"INSERT INTO transactions_conversion ({columns}) VALUES ({places})", [*fields.values()])
        yield blocker
        blocker.rollback()


_HELD_UP = "FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"


def wait_until_held_up() -> None:
    """Waits until an import waits for what `held_up` holds."""
    with psycopg.connect(database_url(serving_role.SERVING), autocommit=True) as observer:
        wait_until(lambda: observer.execute(f"SELECT 1 {_HELD_UP}").fetchone())


def end_waiting_session() -> None:
    """Ends the database session of the import that waits, as a restart of the server does."""
    wait_until_held_up()
    with psycopg.connect(database_url(serving_role.SERVING), autocommit=True) as observer:
        assert observer.execute(f"SELECT pg_terminate_backend(pid, 60000) {_HELD_UP}").fetchall() == [(True,)]


def manage(*arguments: str, stderr: int = subprocess.PIPE) -> subprocess.Popen[bytes]:
    """`manage.py` in a process of its own, on the test database."""
    environment = os.environ | {
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "DATABASE_URL": database_url(serving_role.SERVING),
    }
    return subprocess.Popen(
        [sys.executable, "manage.py", *arguments],
        cwd=settings.BASE_DIR,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=stderr,
        preexec_fn=obey_all_signals,  # noqa: PLW1509 - it only sets what happens at signals
    )
