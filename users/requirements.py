"""Requirements: what compliance needs from a partner about a user, and the partner's answers (contract, section 13)."""

from collections.abc import Collection
from collections.abc import Set as AbstractSet
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from core.refusals import RefusedError
from partners.models import Partner
from staff.models import Staff
from users import queries
from users.decisions import compliance
from users.models import Claim, Requirement, RequirementClosure, RequirementResponse, RequirementState, User
from users.models.columns import PROFILE_COLUMNS, Profile
from users.models.requirements import CLOSURE_NOTE_LENGTH, MAX_REQUIREMENTS, MESSAGE_LENGTH
from users.models.statuses import ENDED_STATUSES
from users.queries import StoredUser, UserSummary
from users.refusals import refused_by_database, stripped
from users.wording import forbidden_words, hidden_parts

DEFAULT_DUE_DAYS = 14


def open_requirement(
    *,
    user: User,
    code: str,
    fields: Collection[str] = (),
    message: str = "",
    due_in_days: int = DEFAULT_DUE_DAYS,
    by: Staff,
    source: str = "",
    expected_version: str | None = None,
) -> Requirement:
    """Ask the partner for something; the claim ends. fields: columns. message: for the partner, in English.

    source, expected_version: see compliance.Decision. Raises RefusedError, StaleError; nothing has changed then.
    """
    message = message.strip()
    check_message(message)
    with compliance.acting(user.pk, by=by, source=source, expected_version=expected_version) as locked:
        Claim.objects.filter(user=locked).delete()
        with refused_by_database(status=locked.status):
            requirement = Requirement.objects.create(
                user=locked,
                code=code,
                # The columns are kept in the order of the profile, each once.
                fields=[column for column in PROFILE_COLUMNS if column in fields],
                message=message,
                due_in_days=due_in_days,
                by=by,
            )
    requirement.refresh_from_db()
    user.refresh_from_db()
    return requirement


def may_be_asked(user: User) -> bool:
    """Whether a page offers to ask the partner something about this user. Triggers hold it, and a bound of all."""
    return user.status not in ENDED_STATUSES and user.open_requirements + user.answered_requirements < MAX_REQUIREMENTS


def close_requirement(
    *, requirement_id: UUID, by: Staff, note: str = "", source: str = "", expected_version: str | None = None
) -> RequirementClosure:
    """Close a requirement: it was answered to satisfaction, or is withdrawn. note: for staff.

    Raises RefusedError, StaleError, Requirement.DoesNotExist; nothing has changed then.
    """
    note = stripped(note, CLOSURE_NOTE_LENGTH, is_note=True)
    requirement = Requirement.objects.get(pk=requirement_id)
    acting = compliance.acting(requirement.user_id, by=by, source=source, expected_version=expected_version)
    with acting, refused_by_database():
        closure = RequirementClosure.objects.create(requirement=requirement, by=by, note=note)
    closure.refresh_from_db()
    return closure


def respond(*, requirement: Requirement, note: str) -> RequirementResponse:
    """Record a partner's note on a requirement of a locked user: it is submitted then. Raises RefusedError."""
    with transaction.atomic(), refused_by_database():
        return RequirementResponse.objects.create(requirement=requirement, note=note)


def update_user(*, user: StoredUser, profile: Profile, columns: AbstractSet[str]) -> UserSummary:
    """Store the profile of a locked user, unless it is the same. columns: that were sent; they answer requirements."""
    updated = queries.update(user, profile) if profile != user.profile else user.summary
    if not updated.has_requirements:
        return updated
    # Submitted is one whose fields were all sent, present values too; one without fields is answered by a note.
    for requirement in list(not_closed(updated.id).filter(state=RequirementState.OPEN)):
        if requirement.fields and columns >= set(requirement.fields):
            RequirementResponse.objects.create(requirement=requirement)
    return with_requirements(queries.reread(updated.id))


def with_requirements(user: UserSummary) -> UserSummary:
    """The user with its requirements that are not closed, oldest first."""
    return user._replace(requirements=list(not_closed(user.id)))


def not_closed(user_id: UUID | str) -> QuerySet[Any]:
    """The requirements of a user that are not closed with their states, oldest first."""
    return Requirement.objects.with_state().filter(user_id=user_id, closed_at=None).order_by("created_at", "id")


def not_closed_of_partner(partner: Partner, *, overdue: bool = False) -> QuerySet[Any]:
    """Those of all users of a partner, oldest first. overdue: only open ones whose answer was due before now."""
    found = Requirement.objects.with_state().filter(user__partner=partner, closed_at=None)
    if overdue:
        found = found.filter(state=RequirementState.OPEN, due_at__lt=timezone.now())
    return found.select_related("user").order_by("created_at", "id")


def check_message(message: str) -> None:
    """Raises RefusedError for a message that is too long, names a suspicion, or may hide a word."""
    if len(message) > MESSAGE_LENGTH:
        raise RefusedError(_("The message must be at most %(most)s characters.") % {"most": MESSAGE_LENGTH})
    if parts := hidden_parts(message):
        raise RefusedError(
            _("The message has invisible characters, or letters of two scripts in one word: leave out %(parts)s.")
            % {"parts": ", ".join(f"“{part}”" for part in parts)}
        )
    if words := forbidden_words(message):
        raise RefusedError(
            _("The partner must not learn of a suspicion: leave out %(words)s.")
            % {"words": ", ".join(f"“{word}”" for word in words)}
        )
