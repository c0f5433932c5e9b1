"""What compliance needs from a partner about a user: contract, section 13.

The partner's responses and the end are rows that never change. Triggers bring the user's columns up to date, and write
one event for each statement and user, also where a decision closes several.
"""

import uuid
from typing import Any

import pgtrigger
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Func, Q
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from core.database.schema import Record, context_shape
from core.database.triggers import append_only, trigger
from events.models import EventType, outbox_entry
from staff.models import Staff
from users.models.columns import PROFILE_COLUMNS
from users.models.triggers import NOT_SIMULATED, by_active_staff, staff_entry
from users.models.user import StatusChange, User

# A user has at most so many that are not closed, and so many in all; one of them has at most so many answers.
MAX_REQUIREMENTS = 10
MAX_REQUIREMENTS_EVER = 1_000
MAX_RESPONSES = 100
MAX_DUE_DAYS = 90
MESSAGE_LENGTH = 500
RESPONSE_LENGTH = 1000
CLOSURE_NOTE_LENGTH = 500


def _event(source: str, opened: str) -> str:
    """The SQL that writes an event for each user. source: of users as u. opened: SQL of the requirement's id."""
    data = {"openRequirements": "u.open_requirements", "openedRequirementId": opened}
    return outbox_entry(EventType.REQUIREMENTS_CHANGED, source=source, **data)


_OF_USER = "(SELECT r.user_id FROM users_requirement r WHERE r.id = NEW.requirement_id)"
_OF_INSERTED = "SELECT r.user_id FROM inserted i JOIN users_requirement r ON r.id = i.requirement_id"

REQUIREMENT_TRIGGERS = [
    trigger(
        "of_present",
        "before insert",
        function="users_requirement_of_present",
        arguments=(MAX_REQUIREMENTS, MAX_REQUIREMENTS_EVER),
    ),
    trigger(
        "user_columns",
        "after insert",
        f"""
            PERFORM users_refresh_requirements(ARRAY[NEW.user_id]);
            {_event("users_user u WHERE u.id = NEW.user_id", "NEW.id")};
        """,
    ),
    staff_entry(
        "requirement.opened",
        _("Requirement opened"),
        {"requirement": "NEW.id", "code": "NEW.code", "fields": "array_to_string(NEW.fields, ', ')"}
        | {"message": "nullif(NEW.message, '')", "dueInDays": "NEW.due_in_days"},
        where=NOT_SIMULATED,
    ),
    trigger("closes_once", "before update", function="users_requirement_closes_once"),
    *append_only(pgtrigger.Delete),
]

RESPONSE_TRIGGERS = [
    trigger("of_present", "before insert", function="users_response_of_present", arguments=(MAX_RESPONSES,)),
    # No event: the partner did it.
    trigger("user_columns", "after insert", f"PERFORM users_refresh_requirements(ARRAY[{_OF_USER}]);"),
]

CLOSURE_TRIGGERS = [
    trigger("of_present", "before insert", function="users_closure_of_present"),
    trigger(
        "user_columns",
        "after insert",
        f"""
            UPDATE users_requirement r SET closed_at = i.created_at FROM inserted i WHERE r.id = i.requirement_id;
            PERFORM users_refresh_requirements(ARRAY({_OF_INSERTED}));
            {_event(f"users_user u WHERE u.id IN ({_OF_INSERTED})", "NULL::uuid")};
        """,
        rows="inserted",
    ),
    # A decision that closes some has a line of its own.
    staff_entry(
        "requirement.closed",
        _("Requirement closed"),
        {"requirement": "NEW.requirement_id", "note": "nullif(NEW.note, '')"},
        user=_OF_USER,
        condition="NEW.decision_id IS NULL",
        where=NOT_SIMULATED,
    ),
]


class RequirementCode(models.TextChoices):
    """What is needed."""

    NAME_UNCLEAR = "nameUnclear", _("Name unclear")
    DATE_OF_BIRTH_UNCLEAR = "dateOfBirthUnclear", _("Date of birth unclear")
    ADDRESS_UNCLEAR = "addressUnclear", _("Address unclear")
    OCCUPATION_UNCLEAR = "occupationUnclear", _("Occupation unclear")
    EMAIL_UNCLEAR = "emailUnclear", _("Email unclear")
    PURPOSE_OF_USE = "purposeOfUse", _("Purpose of use")
    SOURCE_OF_FUNDS = "sourceOfFunds", _("Source of funds")
    OTHER = "other", _("Other")


class RequirementState(models.TextChoices):
    """Open, answered by the partner, or closed by compliance."""

    OPEN = "open", pgettext_lazy("requirement", "Open")
    SUBMITTED = "submitted", pgettext_lazy("requirement", "Answered")
    CLOSED = "closed", pgettext_lazy("requirement", "Closed")


class RequirementQuerySet(models.QuerySet["Requirement"]):
    """Requirements."""

    def with_state(self) -> models.QuerySet[Any]:
        """These, each with its `state`, of RequirementState: users/sql/users_requirement_state.sql."""
        state = Func("id", function="users_requirement_state", output_field=models.CharField())
        return self.annotate(state=state)


class Requirement(Record):
    """What compliance asked a partner for. Triggers set the partner, the mode, the times and the profile event."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey(User, models.PROTECT, related_name="requirements", db_index=False)
    code = models.CharField(max_length=30, choices=RequirementCode)
    # Columns of the profile, which an update of them all answers.
    fields = ArrayField(models.CharField(max_length=30), default=list, blank=True)
    # The partner reads it; it is in English.
    message = models.CharField(max_length=MESSAGE_LENGTH, blank=True, db_default="")
    due_in_days = models.PositiveSmallIntegerField()
    due_at = models.DateTimeField(db_default=Now(), editable=False)
    by = models.ForeignKey(Staff, models.PROTECT, related_name="+", db_index=False)
    # The profile as it was: the user's newest UserEvent.
    profile_event = models.BigIntegerField(null=True, editable=False)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    # When its closure was recorded, by a trigger: the few that are not closed have an index of their own.
    closed_at = models.DateTimeField(null=True, editable=False)

    objects = RequirementQuerySet.as_manager()

    class Meta:
        default_permissions = ("view",)
        indexes = (
            models.Index(fields=("user", "created_at", "id"), name="requirement_of_user"),
            models.Index(
                fields=("user", "created_at", "id"), condition=Q(closed_at=None), name="requirement_not_closed"
            ),
        )
        constraints = (
            models.CheckConstraint(condition=Q(code__in=RequirementCode.values), name="requirement_code_known"),
            models.CheckConstraint(
                condition=Q(fields__contained_by=list(PROFILE_COLUMNS)), name="requirement_fields_of_profile"
            ),
            models.CheckConstraint(condition=Q(due_in_days__range=(1, MAX_DUE_DAYS)), name="requirement_due_in_days"),
        )
        triggers = [by_active_staff("by_id"), *REQUIREMENT_TRIGGERS]

    @property
    def days_left(self) -> int:
        """Whole days to answer: 0 on the last one, negative once it has passed."""
        return (self.due_at - timezone.now()).days


class RequirementResponse(Record):
    """A partner's answer: a note, or without one an update that has every field. Triggers set the rest."""

    requirement = models.ForeignKey(Requirement, models.PROTECT, related_name="responses", db_index=False)
    note = models.CharField(max_length=RESPONSE_LENGTH, blank=True, db_default="")
    # Who sent it, as in the profile's history; and the profile as it was then.
    context = models.JSONField(null=True, editable=False)
    profile_event = models.BigIntegerField(null=True, editable=False)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        default_permissions = ("view",)
        indexes = (models.Index(fields=("requirement", "id"), name="response_to_requirement"),)
        constraints = (context_shape("context", name="response_context_readable"),)
        triggers = [*RESPONSE_TRIGGERS, *append_only()]


class RequirementClosure(Record):
    """The end of a requirement: by a person, or by a decision that closes it."""

    requirement = models.OneToOneField(Requirement, models.PROTECT, primary_key=True, related_name="closure")
    by = models.ForeignKey(Staff, models.PROTECT, related_name="+", db_index=False)
    note = models.CharField(max_length=CLOSURE_NOTE_LENGTH, blank=True, db_default="")
    decision = models.ForeignKey(StatusChange, models.PROTECT, related_name="+", db_index=False, null=True)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        default_permissions = ("view",)
        indexes = (
            # The foreign key is looked up when a user is erased.
            models.Index(fields=("decision",), condition=Q(decision__isnull=False), name="closure_of_decision"),
        )
        triggers = [by_active_staff("by_id"), *CLOSURE_TRIGGERS, *append_only()]
