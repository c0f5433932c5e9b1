"""Latency of a page of conversions: `python -m bench.lists [--base-url URL] [--against DATABASE_URL]`.

Needs a database of `bench.load` (docs/scaling.md). Measures the service's prepared statement; with --base-url also
signed requests to a running service, one after the other; with --against the statement in two databases in turn, warm,
and the ratio.
"""

import argparse
import http.client
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import django
import environ
from django.db import DEFAULT_DB_ALIAS, connection, connections

LIMIT = 25
# Of the users with the most conversions; the first of bench.load's have them.
HEAVIEST = 100
OTHER = "other"
ROUNDS = 8
# Users with a full first page.
_RANDOM_USERS = f"""
    SELECT external_id FROM (SELECT id, external_id FROM users_user WHERE partner_id = %s ORDER BY random()) AS u
     WHERE EXISTS (SELECT FROM transactions_conversion AS c WHERE c.user_id = u.id OFFSET {LIMIT}) LIMIT %s
"""
# Positions followed by a full page.
_DEEP_PLACES = f"""
    SELECT external_id, to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), tiebreak
      FROM (SELECT *, row_number() OVER (PARTITION BY external_id ORDER BY random()) AS place
              FROM (SELECT u.external_id, c.created_at, c.tiebreak,
                           row_number() OVER (PARTITION BY c.user_id ORDER BY c.created_at) AS behind
                      FROM (SELECT * FROM users_user WHERE partner_id = %s AND external_id LIKE 'load-%%'
                             ORDER BY external_id LIMIT %s) AS u
                      JOIN transactions_conversion c ON c.user_id = u.id) AS numbered
             WHERE behind > {LIMIT} + 1) AS placed
     WHERE place <= %s ORDER BY random()
"""


def main() -> None:
    """Print a table: measurement, number, median and 99th percentile in milliseconds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--base-url")
    parser.add_argument("--against", metavar="DATABASE_URL")
    parser.add_argument("--users", type=int, default=2000)
    options = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    if options.against:
        _compare(options.against, options.users)
        return
    from partners.models import Partner  # noqa: PLC0415 - models need Django's setup

    partner = Partner.objects.get(slug=PARTNER)
    first, deep = _pages(options.users)
    _report("SQL, first page", map(_statement, first))
    _report("SQL, first page again", map(_statement, first))
    _report("SQL, deep page", map(_statement, deep))
    if options.base_url:
        send = _sender(options.base_url, partner)
        _report("request, first page", (partial(send, page) for page in first))
        _report("request, deep page", (partial(send, page) for page in deep))


# Partner, externalId, and the position where the page starts.
Place = tuple[int, str, Any]
PARTNER = "load-01"


def _compare(url: str, users: int) -> None:
    """Print the latency of the same pages in both databases, and the ratio."""
    config = {**environ.Env.db_url_config(url)}
    config["HOST"] = config.pop("OPTIONS", {}).get("host", config["HOST"])
    connections.settings[OTHER] = connections.settings[DEFAULT_DB_ALIAS] | config
    # A thread for each, as connections belong to threads.
    with (
        ThreadPoolExecutor(1, initializer=_use_database, initargs=(DEFAULT_DB_ALIAS,)) as own,
        ThreadPoolExecutor(1, initializer=_use_database, initargs=(OTHER,)) as other,
    ):
        pages = [thread.submit(_pages, users).result() for thread in (own, other)]
        for number, what in enumerate(("SQL, first page", "SQL, deep page")):
            rounds = [
                [thread.submit(_warm, of[number]).result() for thread, of in zip((own, other), pages, strict=True)]
                for _ in range(ROUNDS)
            ]
            ratios = sorted(there / here for here, there in rounds)
            here, there = (statistics.median(times) for times in zip(*rounds, strict=True))
            spread = f"{statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})"
            print(f"| {what} | {len(pages[0][number])} | {here:.3f} | {there:.3f} | {spread} |")  # noqa: T201


def _use_database(alias: str) -> None:
    """Send this thread's statements to a database, and keep it and its session on one core.

    To wake another core takes as long as the statement.
    """
    connections[DEFAULT_DB_ALIAS] = connections[alias]
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        for process in (0, cursor.fetchone()[0]):
            os.sched_setaffinity(process, {0})


def _warm(pages: list[Place]) -> float:
    """Return the median in milliseconds, after a first run that fills caches."""
    calls = [_statement(page) for page in pages]
    for call in calls:
        call()
    return statistics.median(map(_milliseconds, calls))


def _pages(users: int) -> tuple[list[Place], list[Place]]:
    """Return first pages and deep ones."""
    from partners.models import Partner  # noqa: PLC0415

    partner_id = Partner.objects.get(slug=PARTNER).pk
    # To choose pages may take long.
    with connection.cursor() as cursor:
        cursor.execute("SET statement_timeout = 0")
    return _first_pages(partner_id, users), _deep_pages(partner_id, users)


def _first_pages(partner_id: int, users: int) -> list[Place]:
    with connection.cursor() as cursor:
        cursor.execute(_RANDOM_USERS, [partner_id, users])
        return [(partner_id, external_id, None) for (external_id,) in cursor]


def _deep_pages(partner_id: int, users: int) -> list[Place]:
    from transactions.keyset import Position  # noqa: PLC0415

    with connection.cursor() as cursor:
        cursor.execute(_DEEP_PLACES, [partner_id, HEAVIEST, max(1, users // HEAVIEST)])
        return [(partner_id, external_id, Position(*position)) for external_id, *position in cursor]


def _statement(place: Place) -> Callable[[], object]:
    from transactions.keyset import CONVERSIONS, Owner  # noqa: PLC0415

    partner_id, external_id, start = place
    owner = Owner(partner_id, external_id)
    return partial(CONVERSIONS.fetch, owner, start, LIMIT + (1 if start is None else 2))


def _sender(base_url: str, partner: Any) -> Callable[[Place], None]:
    from partners.authentication import keys  # noqa: PLC0415
    from partners.client import SignedClient, split_base_url  # noqa: PLC0415

    issued, base = keys.issue(partner=partner, label="bench"), split_base_url(base_url)
    client = SignedClient(base_url, issued.api_key, issued.secret)
    wire = http.client.HTTPConnection(base.hostname or "", base.port, timeout=30)

    def send(place: Place) -> None:
        _, external_id, start = place
        target = f"/v1/users/{external_id}/transactions" + (f"?cursor={start.cursor()}" if start else "")
        wire.request("GET", target, headers=client.headers("GET", target, b"", None))
        answer = wire.getresponse()
        if answer.read() and answer.status != http.HTTPStatus.OK:
            sys.exit(f"Status {answer.status}: is PARTNER_RATE_LIMIT high enough?")

    return send


def _report(what: str, calls: Iterable[Callable[[], object]]) -> None:
    times = sorted(map(_milliseconds, calls))
    cuts = statistics.quantiles(times, n=100)
    print(f"| {what} | {len(times)} | {cuts[49]:.2f} | {cuts[98]:.2f} |")  # noqa: T201


def _milliseconds(call: Callable[[], object]) -> float:
    begin = time.perf_counter()
    call()
    return (time.perf_counter() - begin) * 1000


if __name__ == "__main__":
    main()
