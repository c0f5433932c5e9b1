"""The dashboard's figures, compared with ones computed row by row."""

import math
from collections import Counter
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.db import connection, transaction
from django.utils import timezone

from backoffice.dashboard import backlog
from backoffice.dashboard.figures import DecisionTimes, Figures, Percentiles, gather
from backoffice.dashboard.period import Period, midnight
from bench.load import users
from partners.models import Partner
from users.models import Status, StatusChange, User

# As autovacuum keeps a table of production: an index alone answers where all rows are known to be visible to all.
ALL_VISIBLE = """
    SELECT pg_restore_relation_stats('schemaname', 'public', 'relname', %s::text,
                                     'relpages', 1000, 'reltuples', 50000::real, 'relallvisible', 1000)
"""
TORONTO = ZoneInfo("America/Toronto")
DAYS = 90


pytestmark = pytest.mark.usefixtures("within_one_day")


@pytest.fixture
def snapshot(committed_partner: Partner, settings: Any) -> tuple[Figures, datetime]:
    """The figures, and the instant for which PostgreSQL worked them out."""
    settings.COMPLIANCE_TARGET_HOURS = 20
    if not User.objects.filter(external_id="load-00000001").exists():
        users.fill(users=400)
    # In one transaction now() is one instant.
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT now()")
        return gather(Period.of_last(DAYS)), cursor.fetchone()[0]


@pytest.fixture
def figures(snapshot: tuple[Figures, datetime]) -> Figures:
    return snapshot[0]


@pytest.fixture
def now(snapshot: tuple[Figures, datetime]) -> datetime:
    return snapshot[1]


def day_of(change: StatusChange) -> date:
    return change.created_at.astimezone(TORONTO).date()


def decided() -> list[StatusChange]:
    first = timezone.now().astimezone(TORONTO).date() - timedelta(days=DAYS - 1)
    return [change for change in StatusChange.objects.all() if day_of(change) >= first]


def waited(changes: list[StatusChange]) -> DecisionTimes | None:
    first = [one for one in changes if one.from_status == Status.PENDING_COMPLIANCE]
    if not first:
        return None
    own = [one.created_at - one.waiting_since for one in first]
    return DecisionTimes(
        percentiles([one.created_at - one.since for one in first]),
        percentiles(own),
        len(first),
        sum(time <= timedelta(hours=20) for time in own),
    )


def percentiles(times: list[timedelta]) -> Percentiles:
    took = sorted(round(one.total_seconds()) for one in times)
    return Percentiles(*(took[math.ceil(part * len(took)) - 1] for part in (0.5, 0.9)))


def test_each_waiting_user_is_in_one_bucket(figures: Figures, now: datetime) -> None:
    assert [(one.begins, one.ends, one.is_late) for one in figures.buckets] == [
        (0, 10, False),
        (10, 20, False),
        (20, 40, True),
        (40, 80, True),
        (80, None, True),
    ]
    counts = Counter[float]()
    for user in User.objects.filter(status=Status.PENDING_COMPLIANCE):
        hours = (now - user.waiting_since).total_seconds() / 3600
        counts[max(one.begins for one in figures.buckets if one.begins <= hours)] += 1
    assert {one.begins: one.count for one in figures.buckets if one.count} == dict(counts)
    assert figures.late == sum(count for begins, count in counts.items() if begins >= 20)


def test_each_decision_is_counted_on_its_day(figures: Figures) -> None:
    expected = Counter((day_of(one), one.to_status) for one in decided())
    assert {
        (day, outcome): count for day, one in figures.by_day.items() for outcome, count in one.outcomes.items()
    } == dict(expected)
    assert len(figures.by_day) == DAYS


def test_the_percentiles_are_those_of_first_decisions(figures: Figures) -> None:
    assert figures.decision_times == waited(decided())


def test_each_partner_has_its_own_figures(figures: Figures, now: datetime) -> None:
    assert len(figures.partners) > 1
    for one in figures.partners:
        theirs = [change for change in decided() if change.partner_id == one.partner.pk]
        pending = User.objects.filter(partner=one.partner, status=Status.PENDING_COMPLIANCE)
        assert dict(one.outcomes) == dict(Counter(change.to_status for change in theirs))
        assert one.decision_times == waited(theirs)
        assert one.waiting == pending.count()
        assert one.late == pending.filter(waiting_since__lte=now - timedelta(hours=20)).count()


def test_the_backlog_of_each_day_is_of_those_who_waited_at_its_end(figures: Figures) -> None:
    # One that does not end today, and begins so late that the one before has figures too.
    period = Period(figures.period.last - timedelta(days=40), figures.period.last - timedelta(days=10))
    found = backlog.gather(period)
    waits = [
        (change.since, change.created_at)
        for change in StatusChange.objects.filter(from_status=Status.PENDING_COMPLIANCE, is_sandbox=False)
    ]
    pending = User.objects.filter(status=Status.PENDING_COMPLIANCE, is_sandbox=False)
    waits += [(user.status_since, datetime.max.replace(tzinfo=UTC)) for user in pending]
    assert [one.day for one in found.days] == period.days
    for one in found.days:
        begins, ends = midnight(one.day), midnight(one.day + timedelta(days=1))
        assert one.waiting == sum(began < ends <= ended for began, ended in waits)
        assert one.began == sum(begins <= began < ends for began, _ in waits)
        assert one.decided == sum(begins <= ended < ends for _, ended in waits)
    assert found.before == sum(began < period.begins <= ended for began, ended in waits)
    assert found.began_before == sum(period.before.begins <= began < period.begins for began, _ in waits)
    assert any(one.waiting != found.before for one in found.days)


def test_the_period_before_has_figures_too(figures: Figures) -> None:
    half = Period(figures.period.first + timedelta(days=45), figures.period.last)
    recent = gather(half)
    assert half.before.first == figures.period.first
    first = [one for day, one in figures.by_day.items() if day < half.first]
    assert recent.before.outcomes == sum((one.outcomes for one in first), Counter())
    earlier = [one for one in decided() if day_of(one) < half.first]
    assert recent.times_before == waited(earlier)


def test_partners_with_the_most_waiting_users_come_first(figures: Figures) -> None:
    order = [(-one.late, -one.waiting) for one in figures.partners]
    assert order == sorted(order)
    assert sum(one.waiting for one in figures.partners) == figures.waiting
    assert sum(one.outcomes.total() for one in figures.partners) == figures.decisions.total
