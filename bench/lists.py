"""How long a page of conversions takes: `python -m bench.lists [--base-url http://127.0.0.1:8000]`.

On a database that `seed_load` and `seed_load_conversions` have filled (docs/scaling.md). The statement is the
service's own, prepared; with --base-url whole signed requests to a running service besides, one after the other.
"""

import argparse
import http.client
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import django
from django.db import connection

LIMIT = 25
# Of the users with the most conversions; the first of seed_load's have them.
HEAVIEST = 100
_RANDOM_USERS = "SELECT external_id FROM users_user WHERE partner_id = %s ORDER BY random() LIMIT %s"
_DEEP_PLACES = """
    SELECT external_id, to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), tiebreak
      FROM (SELECT u.external_id, c.created_at, c.tiebreak,
                   row_number() OVER (PARTITION BY c.user_id ORDER BY random()) AS place
              FROM (SELECT * FROM users_user WHERE partner_id = %s AND external_id LIKE 'load-%%'
                     ORDER BY external_id LIMIT %s) AS u JOIN transactions_conversion c ON c.user_id = u.id) AS placed
     WHERE place <= %s ORDER BY random()
"""


def main() -> None:
    """Measures and prints lines of a table: what, how often, median and 99th percentile in milliseconds."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--base-url")
    parser.add_argument("--users", type=int, default=2000)
    options = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    from partners.models import Partner  # noqa: PLC0415 - models can be imported from here on

    partner = Partner.objects.get(slug="load-01")
    connection.ensure_connection()
    # Choosing what to read may take long; reading may not.
    connection.cursor().execute("SET statement_timeout = 0")
    first, deep = _first_pages(partner.pk, options.users), _deep_pages(partner.pk, options.users)
    _report("SQL, first page", map(_statement, first))
    _report("SQL, first page again", map(_statement, first))
    _report("SQL, deep page", map(_statement, deep))
    if options.base_url:
        send = _sender(options.base_url, partner)
        _report("request, first page", (partial(send, page) for page in first))
        _report("request, deep page", (partial(send, page) for page in deep))


# The partner, a user's externalId, and where the page begins.
Place = tuple[int, str, Any]


def _first_pages(partner_id: int, users: int) -> list[Place]:
    with connection.cursor() as cursor:
        cursor.execute(_RANDOM_USERS, [partner_id, users])
        return [(partner_id, external_id, None) for (external_id,) in cursor]


def _deep_pages(partner_id: int, users: int) -> list[Place]:
    from transactions.positions import Position  # noqa: PLC0415

    with connection.cursor() as cursor:
        cursor.execute(_DEEP_PLACES, [partner_id, HEAVIEST, max(1, users // HEAVIEST)])
        return [(partner_id, external_id, Position(*position)) for external_id, *position in cursor]


def _statement(place: Place) -> Callable[[], object]:
    from transactions import queries  # noqa: PLC0415
    from transactions.positions import Owner  # noqa: PLC0415

    partner_id, external_id, start = place
    return partial(queries.page, Owner.of(partner_id, external_id), start, LIMIT + (1 if start is None else 2))


def _sender(base_url: str, partner: Any) -> Callable[[Place], None]:
    from partners import keys  # noqa: PLC0415
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
            sys.exit(f"Answered {answer.status}: is PARTNER_RATE_LIMIT high enough?")

    return send


def _report(what: str, calls: Iterator[Callable[[], object]]) -> None:
    times = sorted(map(_milliseconds, calls))
    cuts = statistics.quantiles(times, n=100)
    print(f"| {what} | {len(times)} | {cuts[49]:.2f} | {cuts[98]:.2f} |")  # noqa: T201


def _milliseconds(call: Callable[[], object]) -> float:
    begin = time.perf_counter()
    call()
    return (time.perf_counter() - begin) * 1000


if __name__ == "__main__":
    main()
