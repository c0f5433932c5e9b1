"""Speed of an import compared with a bare COPY of the same rows: `python -m bench.imports [--lines 1000000]`.

Needs a database with users of `bench.load` (docs/scaling.md). All rows go to `transactions_conversion`, with indexes
and constraints, and stay there.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import django
from django.db import connection

LINES = 1_000_000
_COPY = """
    COPY transactions_conversion (partner_id, user_id, conversion_id, created_at, type, from_currency, from_amount,
                                  to_currency, to_amount, rate) FROM STDIN
"""


def main() -> None:
    """Print lines a second of each method, and the share of COPY's."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--lines", type=int, default=LINES)
    options = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    with connection.cursor() as cursor:
        cursor.execute("SET statement_timeout = 0")
        cursor.execute(
            "SELECT u.partner_id, p.slug, u.id, u.external_id FROM users_user u JOIN partners_partner p"
            " ON p.id = u.partner_id WHERE u.external_id LIKE 'load-%%' ORDER BY u.id LIMIT 20000"
        )
        users = cursor.fetchall()
    if not users:
        sys.exit("The database has no users of bench.load (docs/scaling.md).")
    with tempfile.TemporaryDirectory() as folder:
        compare(users, options.lines, Path(folder))


def compare(users: list[tuple[int, str, uuid.UUID, str]], lines: int, folder: Path) -> None:
    """Measure COPY, an import, the same import again, and two imports of the same lines at once."""
    copied = lines / _copy(users, lines)
    _report("bare COPY", lines, lines / copied, copied)
    source = folder / "once.ndjson"
    _write(source, _ndjson(users, lines, "once"))
    _report("import", lines, _import(source), copied)
    _report("import again", lines, _import(source), copied)
    both = [folder / "one.ndjson", folder / "other.ndjson"]
    for source in both:
        _write(source, _ndjson(users, lines, "both"))
    start = time.monotonic()
    running = [_start(source) for source in both]
    for process in running:
        _wait(process)
    _report("two imports of the same lines at once", 2 * lines, time.monotonic() - start, copied)


def _report(name: str, lines: int, seconds: float, copied: float) -> None:
    """Print a line. copied: the rate of the bare COPY."""
    rate = lines / seconds
    sys.stdout.write(f"{name}: {rate:,.0f} lines/s, {rate / copied:.2f} of COPY\n")
    sys.stdout.flush()


def _conversions(users: list[tuple[int, str, uuid.UUID, str]], lines: int) -> Iterator[tuple[int, str, str, str, str]]:
    """Yield in order of time: a random user's index in `users`, time, amounts and rate."""
    chance = random.Random(1)  # noqa: S311 - generated amounts
    for number in range(lines):
        cents, rate = chance.randrange(1000, 500_000), chance.randrange(700_000, 800_000)
        at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(1_767_225_600 + number * 10))
        to = cents * rate // 1_000_000
        yield (
            chance.randrange(len(users)),
            at,
            f"{cents // 100}.{cents % 100:02}",
            f"{to // 100}.{to % 100:02}",
            f"0.{rate:06}",
        )


def _copy(users: list[tuple[int, str, uuid.UUID, str]], lines: int) -> float:
    rows = [
        f"{users[user][0]}\t{users[user][2]}\tcopied-{number}\t{at}\tconversion\tCAD\t{sent}\tUSD\t{received}\t{rate}\n".encode()
        for number, (user, at, sent, received, rate) in enumerate(_conversions(users, lines))
    ]
    blocks = [b"".join(rows[at : at + 5000]) for at in range(0, lines, 5000)]
    connection.ensure_connection()
    start = time.monotonic()
    # In one transaction, which is faster; an import commits every 5,000 lines.
    with connection.connection.cursor().copy(_COPY) as copy:
        for block in blocks:
            copy.write(block)
    return time.monotonic() - start


def _ndjson(users: list[tuple[int, str, uuid.UUID, str]], lines: int, name: str) -> Iterator[bytes]:
    for number, (user, at, sent, received, rate) in enumerate(_conversions(users, lines)):
        line = {
            "partner": users[user][1],
            "externalId": users[user][3],
            "conversionId": f"{name}-{number}",
            "createdAt": at,
            "type": "conversion",
            "from": {"currency": "CAD", "amount": sent},
            "to": {"currency": "USD", "amount": received},
            "rate": rate,
        }
        yield json.dumps(line).encode() + b"\n"


def _write(path: Path, lines: Iterator[bytes]) -> None:
    with path.open("wb") as file:
        file.writelines(lines)


def _start(source: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "manage.py", "import_conversions", str(source)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # noqa: S603


def _wait(process: subprocess.Popen[bytes]) -> None:
    if process.wait():
        sys.exit(f"an import failed with {process.returncode}")


def _import(source: Path) -> float:
    start = time.monotonic()
    _wait(_start(source))
    return time.monotonic() - start


if __name__ == "__main__":
    main()
