"""The addresses of the lists that the dashboard counts."""

from collections.abc import Mapping
from datetime import date

from django.urls import reverse

from backoffice.dashboard.figures import Bucket
from backoffice.dashboard.period import Period
from backoffice.list_urls import ASKED, DECISIONS, QUEUE
from backoffice.lists.waiting_time import AgeState
from backoffice.users.user_filters import OVERDUE
from partners.models import Partner
from users.models import Status

REJECTED = {"to_status__exact": Status.REJECTED.value}


def waiting(partner: Partner | None = None) -> str:
    """Users who wait for compliance."""
    return reverse(QUEUE, query=_of(partner))


def late(partner: Partner | None = None) -> str:
    """Those who have waited longer than the target."""
    return reverse(QUEUE, query={"waiting": AgeState.LATE.value} | _of(partner))


def waiting_for(bucket: Bucket) -> str:
    """Those who have waited for so long."""
    ends = "" if bucket.ends is None else f"{bucket.ends:g}"
    return reverse(QUEUE, query={"waiting": f"{bucket.begins:g}-{ends}"})


def asked(partner: Partner | None = None) -> str:
    """Pending users who wait for their partner."""
    return reverse(ASKED, query={"status__exact": Status.PENDING_COMPLIANCE.value} | _of(partner))


def overdue(partner: Partner | None = None) -> str:
    """Users, in any status, about whom their partner has not answered in time."""
    return reverse(ASKED, query={"due": OVERDUE} | _of(partner))


def decisions(period: Period, filters: Mapping[str, str] | None = None, *, partner: Partner | None = None) -> str:
    """Decisions of a period. filters: parameters of the list."""
    return reverse(DECISIONS, query=period.query | _of(partner) | dict(filters or {}))


def decisions_of_day(day: date) -> str:
    """Decisions of a day."""
    return decisions(Period(day, day))


def _of(partner: Partner | None) -> dict[str, str]:
    return {"partner__id__exact": str(partner.pk)} if partner else {}
