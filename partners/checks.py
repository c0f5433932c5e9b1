"""What `check --deploy --database default` finds in an installation (docs/operations.md): system checks with hints.

They look at the database, Redis, the storage and the provider that the settings name, so they run only with both
options. A check that fails ends none of the others. No text holds an address or a value.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from typing import Any

import psycopg
from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register  # noqa: A004 - Django's name
from django.db import DatabaseError, InterfaceError, connections
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone
from redis.exceptions import RedisError

from core.database import serving_role
from partners.models import ApiKey, Partner, in_force
from partners.monitoring import health
from partners.monitoring.health import named

# Seconds. The window of signatures is far wider, but a clock that is wrong at all is not synchronised.
CLOCK_WARNING, CLOCK_ERROR = 1.0, 10.0
ENDING_SOON = timedelta(days=14)

Found = Iterator[CheckMessage]


def installation_check(function: Callable[[], Found]) -> Callable[[], Found]:
    """Register a check of the installation. Where it meets a database that is away, check_readiness alone says so."""

    @register(Tags.database, deploy=True)
    def check(*, databases: Sequence[str] | None = None, **_: Any) -> list[CheckMessage]:
        if serving_role.SERVING not in (databases or ()):
            return []
        found: list[CheckMessage] = []
        try:
            found.extend(function())
        except (DatabaseError, InterfaceError, psycopg.Error, RedisError, OSError) as error:
            ready, _warnings = health.readiness()
            # Otherwise that is the cause, and has its own message.
            if all(ready.get(name, health.OK) == health.OK for name in ("database", "redis", "migrations")):
                what = function.__name__.removeprefix("check_").replace("_", " ")
                text = f"Could not be checked: {what} ({type(error).__name__})."
                found.append(Error(text, hint="Repeat; then see the database's log.", id="psi.E000"))
        return found

    return function


_READINESS = {
    "database": ("psi.E001", "See docs/operations.md, “The database is unreachable”."),
    "redis": ("psi.E002", "See docs/operations.md, “Redis is unreachable”."),
    "migrations": ("psi.E003", "Run `migrate` with OWNER_DATABASE_URL."),
    "apiKeys": ("psi.E004", "Add the encryption key of their time to SECRETS_ENCRYPTION_KEYS, or issue new keys."),
}


@installation_check
def check_readiness() -> Found:
    """What /readyz says."""
    checks, warnings = health.readiness()
    for name, problem in checks.items():
        if problem != health.OK:
            id_, hint = _READINESS[name]
            yield Error(f"{name}: {problem}.", hint=hint, id=id_)
    for name, problem in warnings.items():
        yield Warning(f"{name}: {problem}.", hint=_READINESS[name][1], id="psi.W004")
    if not settings.REDIS_URL:
        text = "REDIS_URL is not set: each process counts a partner's requests by itself."
        yield Warning(text, hint="Set it, unless one process serves.", id="psi.W002")


@installation_check
def check_grants() -> Found:
    """The serving role's privileges: none missing, none beyond."""
    connection = connections[serving_role.SERVING]
    with connection.cursor() as cursor:
        cursor.execute("SELECT rolname, rolsuper FROM pg_roles WHERE rolname = current_user")
        role, is_superuser = cursor.fetchone() or ("", False)
    hint = "Run `setup_database_roles` with OWNER_DATABASE_URL; DATABASE_URL names a role of its own."
    if is_superuser:
        yield Error("The role of DATABASE_URL is a SUPERUSER: history could be altered.", hint=hint, id="psi.E005")
        return
    lacking, excess = serving_role.differences(connection, role)
    if excess:
        yield Error(f"The serving role may do more than it should: {named(excess)}.", hint=hint, id="psi.E006")
    if lacking:
        yield Error(f"The serving role lacks privileges: {named(lacking)}.", hint=hint, id="psi.E007")


@installation_check
def check_clock() -> Found:
    """This machine's clock against the database's."""
    before = time.time()
    there = _database_time()
    # Nothing within the time that reading took.
    difference = abs(min(there - before, 0.0) + max(there - time.time(), 0.0))
    if difference > CLOCK_WARNING:
        text = f"The clocks of this machine and of the database differ by {difference:.1f} s."
        hint = "Synchronise both with a time server (`timedatectl`, chrony)."
        is_error = difference > CLOCK_ERROR
        yield Error(text, hint=hint, id="psi.E008") if is_error else Warning(text, hint=hint, id="psi.W008")


def _database_time() -> float:
    with connections[serving_role.SERVING].cursor() as cursor:
        cursor.execute("SELECT extract(epoch FROM clock_timestamp())::float8")
        (seconds,) = cursor.fetchone() or (0.0,)
    return float(seconds)


@installation_check
def check_evidence_key() -> Found:
    """Whether evidence packs are signed."""
    if settings.EVIDENCE_SIGNING_KEY is None:
        hint = "Set EVIDENCE_SIGNING_KEY: see docs/operations.md, “Sign evidence packs”."
        yield Warning("Evidence packs are unsigned.", hint=hint, id="psi.W009")


@installation_check
def check_api_keys() -> Found:
    """Enabled partners without a key in force, and those whose last key ends soon."""
    keys = ApiKey.objects.filter(in_force(), partner=OuterRef("pk"))
    lasting = keys.filter(Q(expires_at=None) | Q(expires_at__gt=timezone.now() + ENDING_SOON))
    partners = Partner.objects.filter(enabled=True).order_by("slug")
    if without := list(partners.filter(~Exists(keys)).values_list("slug", flat=True)):
        hint = "Issue one (`issue_api_key`), or disable the partner (`set_partner SLUG --disable`)."
        yield Warning(f"Enabled partners without a key in force: {named(without)}.", hint=hint, id="psi.W011")
    # A key that was rotated ends as it should: the partner has another one.
    if ending := list(partners.filter(Exists(keys), ~Exists(lasting)).values_list("slug", flat=True)):
        text = f"Partners whose last key ends within {ENDING_SOON.days} days: {named(ending)}."
        yield Warning(text, hint="Rotate them with the partners: `rotate_api_key`.", id="psi.W012")
