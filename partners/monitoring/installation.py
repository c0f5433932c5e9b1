"""What `doctor` looks at before going live and after each upgrade (docs/operations.md).

What `/readyz` and the metrics know is read by the same functions. The apps above register their checks.
"""

import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import psycopg
from django.conf import settings
from django.core import checks
from django.db import DatabaseError, InterfaceError, connections
from django.db.models import Count
from django.utils import timezone
from redis import Redis
from redis.exceptions import RedisError

from partners.db import serving_role
from partners.evidence.keys import key_id, signing_key
from partners.models import ApiKey, in_force
from partners.monitoring import health
from partners.monitoring.found import ENDING_SOON, Found, Result, named
from partners.monitoring.probes import REDIS_SECONDS, connect
from partners.monitoring.proxy_check import check_proxy
from partners.monitoring.service_gauges import event_feed_lag, last_purge, stopped_feeds
from partners.rfc_3339 import format_timestamp

# Seconds. The window of signatures is far wider, but a clock that is wrong at all is not synchronised.
CLOCK_WARNING, CLOCK_FAILURE = 1.0, 10.0
# An event is in its feed within 2 s.
LAG_FAILURE = 30.0
# The alert has the same limit: the purge runs every hour, or every day without systemd.
PURGE_WARNING = timedelta(hours=26)
# deliver_events has a session of this name; behind PgBouncer only while it works, which is every 0.3 s.
DELIVERER = "partner-service-deliverer"
DELIVERER_SECONDS = 2.0


class Finding(NamedTuple):
    """A line of `doctor`. advice: what to do; empty where nothing has to be done."""

    check: str
    result: Result
    text: str
    advice: str = ""


Check = Callable[[], Found]
_checks: dict[str, Check] = {}


def register(name: str) -> Callable[[Check], Check]:
    """Have `findings` run a check, after those registered before it."""

    def decorate(check: Check) -> Check:
        _checks[name] = check
        return check

    return decorate


def findings(*, url: str = "") -> Iterator[Finding]:
    """Run all checks. url: of the proxy, if it is to be checked too. A check that fails ends none of the others."""
    yield from (Finding("settings", *found) for found in _settings())
    ready = health.readiness()
    for name, problem in ready.checks.items():
        result = Result.OK if problem == health.OK else Result.FAILURE
        yield Finding(name, result, problem, "" if result is Result.OK else _ADVICE[name])
    for name, problem in ready.warnings.items():
        yield Finding(name, Result.WARNING, problem, _ADVICE[name])
    if ready.is_healthy:
        yield from (Finding(name, *_guarded(check)) for name, check in _checks.items())
    else:
        text = "Not checked: see the failures above."
        yield from (Finding(name, Result.FAILURE, text) for name in _checks)
    if url:
        yield Finding("proxy", *_guarded(lambda: check_proxy(url)))


_ADVICE = {
    "database": "See the runbook, “The database is unreachable”.",
    "redis": "See the runbook, “Redis is unreachable”.",
    "migrations": "Run `migrate` with OWNER_DATABASE_URL.",
    "apiKeys": "See the runbook, “An API secret cannot be decrypted”.",
}


def _guarded(check: Check) -> Found:
    try:
        return check()
    except (DatabaseError, InterfaceError, psycopg.Error, RedisError, OSError) as error:
        # Its text may contain an address or values.
        return Found(Result.FAILURE, f"Could not be checked: {type(error).__name__}.", "Repeat; then see the log.")


def _settings() -> Iterator[Found]:
    if settings.DEBUG:
        # The others follow from it.
        yield Found(Result.FAILURE, "DEBUG is true.", "Set DEBUG=false.")
        return
    yield Found(Result.OK, "The settings were read; DEBUG is false.")
    for message in checks.run_checks(include_deployment_checks=True):
        if message.level >= checks.WARNING and not message.is_silenced():
            result = Result.FAILURE if message.is_serious() else Result.WARNING
            hint = message.hint or "Compare deploy/environment.example."
            yield Found(result, " ".join(str(message.msg).split()), " ".join(hint.split()))
    if not settings.REDIS_URL:
        text = "REDIS_URL is not set: each process counts a partner's requests by itself."
        yield Found(Result.WARNING, text, "Set REDIS_URL, unless one process serves.")


@register("grants")
def _grants() -> Found:
    connection = connections[serving_role.SERVING]
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_user")
        (role,) = cursor.fetchone() or ("",)
    lacking, excess = serving_role.differences(connection, role)
    advice = "Run `setup_database_roles` with OWNER_DATABASE_URL."
    if excess:
        return Found(Result.FAILURE, f"The serving role may more than it should: {named(excess)}.", advice)
    if lacking:
        return Found(Result.FAILURE, f"The serving role lacks: {named(lacking)}.", advice)
    return Found(Result.OK, "The serving role has its privileges, and no others.")


@register("clock")
def _clock() -> Found:
    differences = {"the database": _difference(_database_time)}
    if settings.REDIS_URL:
        differences["Redis"] = _difference(_redis_time)
    other, most = max(differences.items(), key=lambda one: abs(one[1]))
    text = f"This machine's clock and that of {other} differ by {abs(most):.1f} s."
    if abs(most) <= CLOCK_WARNING:
        return Found(Result.OK, text)
    result = Result.FAILURE if abs(most) > CLOCK_FAILURE else Result.WARNING
    return Found(result, text, "Synchronise both with a time server (`timedatectl`, chrony).")


def _difference(read: Callable[[], float]) -> float:
    """By how many seconds the clock that is read is ahead; 0 within the time that reading it took."""
    before = time.time()
    there = read()
    after = time.time()
    return min(there - before, 0.0) + max(there - after, 0.0)


def _database_time() -> float:
    with connections[serving_role.SERVING].cursor() as cursor:
        cursor.execute("SELECT extract(epoch FROM clock_timestamp())::float8")
        (seconds,) = cursor.fetchone() or (0.0,)
    return float(seconds)


def _redis_time() -> float:
    with Redis.from_url(
        settings.REDIS_URL, socket_timeout=REDIS_SECONDS, socket_connect_timeout=REDIS_SECONDS
    ) as client:
        seconds, microseconds = client.time()
    return float(seconds) + float(microseconds) / 1e6


@register("evidence key")
def _evidence_key() -> Found:
    key = signing_key()
    if key is None:
        advice = "Set EVIDENCE_SIGNING_KEY: see the runbook, “Sign evidence packs”."
        return Found(Result.WARNING, "Evidence packs are unsigned.", advice)
    return Found(Result.OK, f"Evidence packs are signed by key {key_id(key.public_key())}.")


@register("deliverer")
def _deliverer() -> Found:
    until = time.monotonic() + DELIVERER_SECONDS
    with connect() as database:
        while True:
            (sessions,) = database.execute(_SESSIONS_OF_DELIVERERS, (DELIVERER,)).fetchone() or (0,)
            if sessions:
                return Found(Result.OK, "deliver_events is connected to the database.")
            if time.monotonic() > until:
                advice = "Start it (`systemctl start psi-deliver`), on one machine or more."
                return Found(Result.FAILURE, "deliver_events is not connected to the database.", advice)
            time.sleep(0.1)


_SESSIONS_OF_DELIVERERS = """
    SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = %s
"""


@register("events")
def _events() -> Found:
    with connect() as database:
        lag, stopped = event_feed_lag(database), stopped_feeds(database)
    if stopped:
        return Found(Result.FAILURE, f"Feeds stopped: {named(stopped)}.", "See the runbook, “A feed stops”.")
    if lag > LAG_FAILURE:
        text = f"The oldest event that is not in its feed is {lag:.0f} s old."
        return Found(Result.FAILURE, text, "See the runbook, “Events do not arrive”.")
    return Found(Result.OK, "No event waits for its place in a feed.")


@register("purge")
def _purge() -> Found:
    advice = "Start psi-purge.timer, or schedule `purge_expired` and `clearsessions` daily."
    with connect() as database:
        seconds = last_purge(database)
    if seconds is None:
        return Found(Result.WARNING, "purge_expired has never run to its end.", advice)
    ended = datetime.fromtimestamp(seconds, UTC)
    text = f"purge_expired last ended at {format_timestamp(ended)}."
    if timezone.now() - ended > PURGE_WARNING:
        return Found(Result.WARNING, text, advice)
    return Found(Result.OK, text)


@register("API keys")
def _keys() -> Found:
    until = timezone.now() + ENDING_SOON
    live = ApiKey.objects.filter(in_force(), partner__enabled=True).select_related("partner")
    # A key that was rotated ends as it should: the partner has another one.
    ending = live.filter(expires_at__lte=until).order_by("expires_at")
    lasting = dict(
        live.exclude(expires_at__lte=until)
        .values_list("partner_id")
        .annotate(Count("pk"))
        .values_list("partner_id", "pk__count")
    )
    names = [
        f"{key.prefix} of {key.partner.slug} on {key.expires_at:%Y-%m-%d}"
        for key in ending[:1000]
        if key.partner_id not in lasting and key.expires_at
    ]
    if names:
        text = f"Partners whose last key ends within {ENDING_SOON.days} days: {named(names)}."
        return Found(Result.WARNING, text, "Rotate them with the partners: `rotate_api_key`.")
    return Found(Result.OK, f"No partner's last key ends within {ENDING_SOON.days} days.")
