"""What tests of imports share: lines for a partner's user, and the command, in this process and in one of its own."""

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import CommandError, call_command

from partners import roles
from partners.models import Partner
from tests.conftest import database_url
from transactions.models import Conversion, ImportRun

Line = Callable[..., dict[str, Any]]


class Result:
    """What the command printed, and how it ended."""

    def __init__(self, file: Path, *options: str) -> None:
        out, err = io.StringIO(), io.StringIO()
        self.status: Any = 0
        self.reason = ""
        try:
            call_command("import_conversions", str(file), "--json", *options, stdout=out, stderr=err)
        except SystemExit as ended:
            self.status = ended.code
        except CommandError as refused:
            self.status, self.reason = refused.returncode, str(refused)
        self.counts = tuple(json.loads(out.getvalue()).values())
        self.errors = err.getvalue().splitlines()


def ndjson(*lines: Any) -> bytes:
    return b"".join((x if isinstance(x, bytes) else json.dumps(x).encode()) + b"\n" for x in lines)


def write(path: Path, *lines: Any) -> Path:
    path.write_bytes(ndjson(*lines))
    return path


def stored(partner: Partner) -> set[str]:
    return set(Conversion.objects.filter(partner=partner).values_list("conversion_id", flat=True))


def last_run() -> ImportRun:
    return ImportRun.objects.latest("id")


def manage(*arguments: str, stderr: int = subprocess.PIPE) -> subprocess.Popen[bytes]:
    """`manage.py` in a process of its own, on the test database."""
    environment = os.environ | {
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "DATABASE_URL": database_url(roles.SERVING),
    }
    return subprocess.Popen(
        [sys.executable, "manage.py", *arguments],
        cwd=settings.BASE_DIR,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=stderr,
    )
