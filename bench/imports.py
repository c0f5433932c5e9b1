"""How fast an import is beside a bare COPY of the same rows: `python -m bench.imports [--lines 1000000]`.

On a database that `bench.load` has filled with users (docs/scaling.md). All fill `transactions_conversion` itself, with
its indexes and constraints in force, one after the other, and what they bring stays there.
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
    """Prints for each way: lines a second, and its share of COPY's."""
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
        sys.exit("The database has no users of bench.load's: fill it first (docs/scaling.md).")
    with tempfile.TemporaryDirectory() as folder:
        compare(users, options.lines, Path(folder))


def compare(users: list[tuple[int, str, uuid.UUID, str]], lines: int, folder: Path) -> None:
    """Takes each way once: COPY, an import, the same again, two of the same lines at once."""
    copied = lines / _copy(users, lines)
    _report("bare COPY", lines, lines / copied, copied)
    source = folder / "once.ndjson"
    _write(source, _ndjson(users, lines, "once"))
    _report("import", lines, _import(source), copied)
    _report("all there already", lines, _import(source), copied)
    both = [folder / "one.ndjson", folder / "other.ndjson"]
    for source in both:
        _write(source, _ndjson(users, lines, "both"))
    begun = time.monotonic()
    running = [_start(source) for source in both]
    for process in running:
        _wait(process)
    _report("two of the same lines at once, lines of both", 2 * lines, time.monotonic() - begun, copied)


def _report(name: str, lines: int, seconds: float, copied: float) -> None:
    """copied: the lines a second of the bare COPY."""
    rate = lines / seconds
    sys.stdout.write(f"{name}: {rate:,.0f} lines/s, {rate / copied:.2f} of COPY\n")
    sys.stdout.flush()


def _conversions(users: list[tuple[int, str, uuid.UUID, str]], lines: int) -> Iterator[tuple[int, str, str, str, str]]:
    """By time, users mixed, as a feed brings them: the user's place in `users`, instant, amounts and rate."""
    chance = random.Random(1)  # noqa: S311 - made-up figures
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
        f"{users[who][0]}\t{users[who][2]}\tcopied-{number}\t{at}\tconversion\tCAD\t{given}\tUSD\t{got}\t{rate}\n".encode()
        for number, (who, at, given, got, rate) in enumerate(_conversions(users, lines))
    ]
    blocks = [b"".join(rows[at : at + 5000]) for at in range(0, lines, 5000)]
    connection.ensure_connection()
    begun = time.monotonic()
    # One transaction, as quick as it can be; an import commits every 5,000 lines.
    with connection.connection.cursor().copy(_COPY) as copy:
        for block in blocks:
            copy.write(block)
    return time.monotonic() - begun


def _ndjson(users: list[tuple[int, str, uuid.UUID, str]], lines: int, name: str) -> Iterator[bytes]:
    for number, (who, at, given, got, rate) in enumerate(_conversions(users, lines)):
        line = {
            "partner": users[who][1],
            "externalId": users[who][3],
            "conversionId": f"{name}-{number}",
            "createdAt": at,
            "type": "conversion",
            "from": {"currency": "CAD", "amount": given},
            "to": {"currency": "USD", "amount": got},
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
    begun = time.monotonic()
    _wait(_start(source))
    return time.monotonic() - begun


if __name__ == "__main__":
    main()
