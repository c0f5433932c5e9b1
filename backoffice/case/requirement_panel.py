"""What the case page shows of the requirements that are not closed, and of the partner's answers."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Prefetch
from django.utils import timezone

from backoffice.case.requirement_forms import CloseForm
from backoffice.lists.cells import made_by, made_through
from staff.models import Staff
from users.decisions.changes import FieldChange
from users.decisions.decision_basis import HISTORY_PERMISSION
from users.models import Requirement, RequirementResponse, RequirementState, User, UserEvent
from users.models.columns import FIELD_NAMES, IDENTITY_COLUMNS, IDENTITY_PERMISSION
from users.profile.labels import LABELS, READING_ORDER
from users.requirements.requirements import has_requirements, not_closed

PERMISSION = "users.view_requirement"
# A requirement takes 100 responses; the timeline and the evidence pack have them all.
MAX_RESPONSES = 10


@dataclass(frozen=True, slots=True)
class ShownResponse:
    """An answer. fields: those asked for, as they were when they were asked for and with the answer."""

    response: RequirementResponse
    actor: str
    source: str
    fields: tuple[FieldChange, ...]


@dataclass(frozen=True, slots=True)
class ShownRequirement:
    """A requirement with its latest answers, the latest first. fields: the docs' names and the reader's."""

    requirement: Requirement
    state: RequirementState
    fields: tuple[tuple[str, object], ...]
    responses: tuple[ShownResponse, ...]
    is_overdue: bool
    is_cut: bool
    close: CloseForm


@dataclass(frozen=True, slots=True)
class Profiles:
    """Profiles of the history, by the event's id, and what the reader may see of them."""

    events: Mapping[int | None, UserEvent]
    hidden: frozenset[str]

    def changes(self, asked: Requirement, answered: RequirementResponse) -> Iterable[FieldChange]:
        """The fields that were asked for, before and after; of an answer by note, those that differ."""
        before, after = self.events.get(asked.profile_event), self.events.get(answered.profile_event)
        if before is None or after is None:
            return
        for column in READING_ORDER:
            if column not in asked.fields or column in self.hidden:
                continue
            change = FieldChange(column, getattr(before, column), getattr(after, column))
            # An update that repeats a value confirms it.
            if not answered.note or change.before != change.after:
                yield change


def requirements_of(user: User, reader: Staff, *, close: tuple[str, CloseForm] | None = None) -> list[ShownRequirement]:
    """The requirements that are not closed, oldest first, in a bounded number of statements; none without one.

    close: a refused form to show again, with the id of its requirement.
    """
    if not has_requirements(user) or not reader.has_perm(PERMISSION):
        return []
    responses = Prefetch("responses", RequirementResponse.objects.order_by("-pk")[:MAX_RESPONSES], to_attr="latest")
    found = list(not_closed(user.pk).select_related("by").prefetch_related(responses))
    profiles = _profiles(found, reader)
    return [_shown(one, profiles, now=timezone.now(), close=close) for one in found]


def _profiles(found: Sequence[Any], reader: Staff) -> Profiles:
    hidden = frozenset() if reader.has_perm(IDENTITY_PERMISSION) else frozenset(IDENTITY_COLUMNS)
    wanted = {one.profile_event for one in found if one.fields}
    wanted |= {answer.profile_event for one in found if one.fields for answer in one.latest}
    events = UserEvent.objects.in_bulk(wanted) if reader.has_perm(HISTORY_PERMISSION) else {}
    return Profiles(events, hidden)


def _shown(
    requirement: Any, profiles: Profiles, *, now: datetime, close: tuple[str, CloseForm] | None
) -> ShownRequirement:
    columns = [column for column in READING_ORDER if column in requirement.fields]
    return ShownRequirement(
        requirement,
        RequirementState(requirement.state),
        tuple((FIELD_NAMES[column], LABELS[column]) for column in columns),
        tuple(
            ShownResponse(
                one, made_by(one.context), made_through(one.context), tuple(profiles.changes(requirement, one))
            )
            for one in requirement.latest
        ),
        not requirement.latest and requirement.due_at < now,
        not profiles.hidden.isdisjoint(columns),
        close[1] if close and close[0] == str(requirement.pk) else CloseForm(requirement_id=requirement.pk),
    )
