"""How the records of users end: holds, and erasures by two people (docs/operations.md, "Records")."""

from collections.abc import Collection, Mapping
from datetime import timedelta
from functools import partial
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, DatabaseError, IntegrityError, models, transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from core.database import errors, statements
from core.database.base import SET_CONTEXT
from core.database.pipeline import Query
from core.refusals import RefusedError
from partners.models import Partner
from staff.models import Staff
from users.models import Erasure, ErasureProposal, Hold, HoldRelease, ProposalState, ProposedErasure, User
from users.models.approvals import NOTE_LENGTH
from users.models.case import live
from users.models.retention import KEEP_RECORDS
from users.models.statuses import ENDED_STATUSES
from users.profile.labels import display_moment
from users.refusals import refused_by_database, require_open, require_permission, stripped

# Of who may decide, and of auditors.
PERMISSION = f"users.{KEEP_RECORDS}"
# Two proposals at the same time do not name the same users. The first number says whose lock it is: 3 is this one's.
_ONE_AT_A_TIME = "SELECT pg_advisory_xact_lock(3, 0)"
_CONTEXT = f"SELECT {SET_CONTEXT}, set_config('lock_timeout', '3s', true)"
_ERASE = "INSERT INTO users_erasure (user_id, years) VALUES (%s, %s)"
# One statement, which a trigger asks for.
_NAME_USERS = "INSERT INTO users_proposederasure (proposal_id, user_id) SELECT %s, id FROM ({}) AS found (id)"
# A million users may be due.
STATEMENT_SECONDS = 300


# Holds


def held(user_ids: Collection[UUID]) -> set[UUID]:
    """Those of the users whose records a hold, or an open request of the person, keeps."""
    found = _with_clock(User.objects.filter(pk__in=user_ids)).filter(held=True)
    return set(found.values_list("pk", flat=True))


def place_hold(*, user: User, by: Staff, reason: str, source: str = "") -> Hold:
    """Keep the records of a real user until another person releases the hold. source: what the history names.

    Raises RefusedError, User.DoesNotExist.
    """
    reason = stripped(reason)
    with transaction.atomic(), refused_by_database(second=by):
        # Waits for an erasure; then there is no such user.
        locked = User.objects.select_for_update(no_key=True).get(pk=user.pk)
        statements.set_context(staff=by.get_username(), source=source)
        return Hold.objects.create(user=locked, by=by, reason=reason)


def release_hold(*, hold_id: UUID, by: Staff, reason: str, source: str = "") -> HoldRelease:
    """End a hold; `by` is another account than the one that placed it. Raises RefusedError, Hold.DoesNotExist."""
    reason = stripped(reason)
    hold = Hold.objects.get(pk=hold_id)
    with transaction.atomic(), refused_by_database(second=by):
        statements.set_context(staff=by.get_username(), source=source)
        return HoldRelease.objects.create(hold=hold, by=by, reason=reason)


# Whose records are due


def due_users(*, within_days: int = 0, partner: Partner | None = None) -> QuerySet[Any]:
    """The users whose records are due for erasure now, or will be within so many days, oldest first.

    Each with `due_at`, `held`, and `in_erasure`: whether an erasure that is open or approved names the user.
    """
    until = timezone.now() + timedelta(days=within_days)
    found = live(User.objects.filter(status__in=ENDED_STATUSES))
    # A bound for the index `user_retention`: a calendar year has 365 days or more.
    found = found.filter(status_since__lte=until - timedelta(days=365 * settings.RETENTION_YEARS))
    if partner:
        found = found.filter(partner=partner)
    in_erasure = Exists(ProposedErasure.objects.in_force().filter(user=OuterRef("pk")))
    due: QuerySet[Any] = _with_clock(found).annotate(in_erasure=in_erasure).filter(due_at__lte=until)
    return due.select_related("partner").order_by("due_at", "pk")


def _with_clock(rows: Any, user: str = "pk") -> Any:
    """The rows with the user's `due_at` and `held`: calls in FROM, which become a part of the statement."""
    call = partial(models.Func, user, template="(SELECT * FROM %(function)s(%(expressions)s))")
    years = models.Value(settings.RETENTION_YEARS)
    return rows.annotate(
        due_at=call(years, function="users_due_at", output_field=models.DateTimeField()),
        held=call(function="users_is_held", output_field=models.BooleanField()),
    )


# Erasures


def propose_erasure(
    *,
    by: Staff,
    reason: str,
    count: int | None = None,
    partner: Partner | None = None,
    user_ids: Collection[UUID] | None = None,
    source: str = "",
) -> ErasureProposal:
    """Propose the erasure of users who are due, not held and in no other erasure: those chosen, or else all.

    count: how many the caller expects. partner: of all, those of this one. Raises RefusedError.
    """
    require_permission(by, KEEP_RECORDS)
    reason = stripped(reason, NOTE_LENGTH)
    with statements.response_timeout(STATEMENT_SECONDS), transaction.atomic(), refused_by_database():
        statements.fetch_within(STATEMENT_SECONDS, Query(_ONE_AT_A_TIME, ()))
        found = due_users(partner=partner).filter(held=False, in_erasure=False).values("pk")
        if user_ids is not None:
            found = found.filter(pk__in=user_ids)
        users = found.count()
        if user_ids is not None and users < len(set(user_ids)):
            raise RefusedError(_("Some of these are not due any more, are held, or are in another erasure."))
        if count not in {None, users}:
            raise RefusedError(
                _("Not %(expected)s but %(found)s can be proposed now: nothing was proposed.")
                % {"expected": count, "found": users}
            )
        if not users:
            raise RefusedError(_("There is nobody to erase: nothing was proposed."))
        statements.set_context(staff=by.get_username(), source=source)
        proposal = ErasureProposal.objects.create(by=by, reason=reason, partner=partner, users=users)
        query, parameters = found.query.sql_with_params()
        statements.run(_NAME_USERS.format(query), (proposal.pk, *parameters))
    made: ErasureProposal = ErasureProposal.objects.with_states().get(pk=proposal.pk)
    return made


def approve_erasure(*, proposal_id: UUID, by: Staff, source: str = "") -> ErasureProposal:
    """Approve another's proposal: the users may be erased. Raises RefusedError, ErasureProposal.DoesNotExist."""
    return _end(proposal_id, state=ProposalState.APPROVED, by=by, source=source)


def decline_erasure(*, proposal_id: UUID, by: Staff, reason: str, source: str = "") -> ErasureProposal:
    """End a proposal, of one's own too: nobody is erased. Raises RefusedError, ErasureProposal.DoesNotExist."""
    reason = stripped(reason, NOTE_LENGTH)
    return _end(proposal_id, state=ProposalState.DECLINED, by=by, source=source, note=reason)


def _end(proposal_id: UUID, *, by: Staff, source: str, **ended: str) -> ErasureProposal:
    found = ErasureProposal.objects.filter(pk=proposal_id)
    with transaction.atomic():
        found.select_for_update(no_key=True).only("pk").get()
        proposal: ErasureProposal = found.with_states().select_related("by").get()
        require_permission(by, KEEP_RECORDS)
        require_open(proposal)
        statements.set_context(staff=by.get_username(), source=source)
        with refused_by_database(first=proposal.by, second=by):
            found.update(ended_by=by, **ended)
        ended_one: ErasureProposal = found.with_states().get()
    return ended_one


def approved_users(*, using: str = DEFAULT_DB_ALIAS) -> Any:
    """The users of erasures that may be carried out, longest first: rows of `user_id`, with `held` and `is_due`."""
    approved = ProposedErasure.objects.using(using).in_force().filter(proposal__state=ProposalState.APPROVED)
    is_due = models.Q(held=False, due_at__lte=timezone.now())
    return _with_clock(approved, "user_id").annotate(is_due=is_due).order_by("proposal__ended_at", "pk")


def erase(user_id: UUID, *, context: Mapping[str, str], using: str) -> bool:
    """Erase a user in one transaction; False where the database refused it, or others keep it locked."""
    try:
        with transaction.atomic(using=using):
            statements.fetch(Query(_CONTEXT, (statements.context(**context),)), using)
            statements.fetch(Query(_ERASE, (user_id, settings.RETENTION_YEARS)), using)
    except IntegrityError:
        return False
    except DatabaseError as error:
        if errors.sqlstate(error) not in {errors.LOCK_NOT_AVAILABLE, *errors.RETRYABLE_SQLSTATES}:
            raise
        return False
    return True


def erased_text(erased: Erasure) -> str:
    """When a user was erased, and why, in a sentence for people."""
    return _("Erased on %(when)s under the retention rules.") % {"when": display_moment(erased.erased_at)}
