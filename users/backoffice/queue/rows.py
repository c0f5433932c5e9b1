"""The queue's rows as the page shows them to one reader."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from users.backoffice.queue.filters import View
from users.backoffice.queue.page import Page
from users.backoffice.waiting_time import Age, age_of
from users.models import Claim, Staff, Status, StatusChange, User
from users.services import claims, compliance
from users.services.bulk_approval import Choice
from users.services.changes import Version


@dataclass(frozen=True, slots=True)
class Row:
    """A user of the list. age: how long they stand so; is_due: whether that is measured against the target.

    version, choice: what a form sends back; choice is empty where the row cannot be approved from here.
    """

    user: User
    status: Status
    hints: int
    age: Age
    is_due: bool
    claim: Claim | None
    is_mine: bool
    may_claim: bool
    may_release: bool
    may_review: bool
    version: str
    choice: str


def rows_of(page: Page, *, view: View, reader: Staff, now: datetime) -> list[Row]:
    """The rows of a page, with one statement for the versions of all of them."""
    versions = versions_of(page.rows)
    may_claim, may_decide = reader.has_perm(claims.PERMISSION), reader.has_perm(compliance.PERMISSION)
    return list(_rows(page, view, reader, now, versions, may_claim=may_claim, may_decide=may_decide))


def _rows(
    page: Page,
    view: View,
    reader: Staff,
    now: datetime,
    versions: Mapping[UUID, Version],
    *,
    may_claim: bool,
    may_decide: bool,
) -> Iterator[Row]:
    for user in page.rows:
        held: Claim | None = getattr(user, "claim", None)
        is_free = held is None or held.staff_id == reader.pk
        is_pending = user.status == Status.PENDING_COMPLIANCE
        version = versions[user.pk]
        # Of one that was decided while the page was made, the list's own column may be empty by now.
        since = getattr(user, view.since) or user.status_since
        yield Row(
            user=user,
            status=Status(user.status),
            hints=page.hints.get(user.pk, 0),
            age=age_of(since, now=now),
            is_due=is_pending or view.since != "status_since",
            claim=held,
            is_mine=held is not None and is_free,
            may_claim=may_claim and held is None and claims.waits(user),
            may_release=may_claim and held is not None and claims.may_release(held, reader),
            may_review=may_decide and is_free and user.identity_changed_at is not None,
            version=str(version),
            choice=str(Choice(user.pk, version)) if may_decide and is_free and is_pending else "",
        )


def versions_of(users: Sequence[User]) -> dict[UUID, Version]:
    """The version of each, as Version.of would have it."""
    last = (
        StatusChange.objects.filter(user__in=[user.pk for user in users])
        .order_by("user", "-created_at", "-id")
        .distinct("user")
        .values_list("user", "pk")
    )
    decisions: dict[UUID, int] = dict(last) if users else {}
    return {user.pk: Version(user.updated_at.isoformat(), decisions.get(user.pk, 0)) for user in users}
