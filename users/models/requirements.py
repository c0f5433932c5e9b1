"""What compliance needs from a partner about a user: contract, section 13.

A requirement, the partner's responses and the end are rows that never change: the state is what they say. Triggers keep
the columns of the user (users/models/user.py) and write the events.
"""

import uuid
from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Func, Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from partners.db.endings import WITH_USER
from partners.db.triggers import append_only
from users.models.columns import PROFILE_COLUMNS
from users.models.requirement_triggers import (
    CLOSURE_TRIGGERS,
    MAX_DUE_DAYS,
    REQUIREMENT_TRIGGERS,
    RESPONSE_TRIGGERS,
)
from users.models.triggers import by_active_staff
from users.models.user import Staff, StatusChange, User

MESSAGE_LENGTH = 500
RESPONSE_LENGTH = 1000
CLOSURE_NOTE_LENGTH = 500


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


class Requirement(models.Model):
    """What compliance asked a partner for. Triggers set the partner, the mode, the times and the profile event."""

    id = models.UUIDField(_("id"), primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey(User, models.PROTECT, verbose_name=_("user"), related_name="requirements", db_index=False)
    code = models.CharField(_("code"), max_length=30, choices=RequirementCode)
    # Columns of the profile, which an update of them all answers.
    fields = ArrayField(models.CharField(max_length=30), verbose_name=_("fields"), default=list, blank=True)
    # The partner reads it; it is in English.
    message = models.CharField(_("message"), max_length=MESSAGE_LENGTH, blank=True, db_default="")
    due_in_days = models.PositiveSmallIntegerField(_("days to answer"))
    due_at = models.DateTimeField(_("due"), db_default=Now(), editable=False)
    by = models.ForeignKey(Staff, models.PROTECT, verbose_name=_("by"), related_name="+", db_index=False)
    # The profile as it was: the user's newest UserEvent.
    profile_event = models.BigIntegerField(null=True, editable=False)
    created_at = models.DateTimeField(_("created at"), db_default=Now(), editable=False)
    # When its closure was recorded, by a trigger: the few that are not closed have an index of their own.
    closed_at = models.DateTimeField(_("closed at"), null=True, editable=False)

    serving_privileges = ("SELECT", "INSERT")
    serving_functions = ("users_requirement_state(uuid)",)
    ending = WITH_USER

    objects = RequirementQuerySet.as_manager()

    class Meta:
        verbose_name = _("requirement")
        verbose_name_plural = _("requirements")
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

    def __str__(self) -> str:
        return f"{self.code} {self.pk}"


class RequirementResponse(models.Model):
    """A partner's answer: a note, or without one an update that has every field. Triggers set the rest."""

    requirement = models.ForeignKey(
        Requirement, models.PROTECT, verbose_name=_("requirement"), related_name="responses", db_index=False
    )
    note = models.CharField(_("note"), max_length=RESPONSE_LENGTH, blank=True, db_default="")
    # Who sent it, as in the profile's history; and the profile as it was then.
    context = models.JSONField(_("context"), null=True, editable=False)
    profile_event = models.BigIntegerField(null=True, editable=False)
    created_at = models.DateTimeField(_("created at"), db_default=Now(), editable=False)

    serving_privileges = ("SELECT", "INSERT (requirement_id, note, context, profile_event, created_at)")
    ending = WITH_USER

    class Meta:
        verbose_name = _("response of the partner")
        verbose_name_plural = _("responses of the partner")
        default_permissions = ("view",)
        indexes = (models.Index(fields=("requirement", "id"), name="response_to_requirement"),)
        triggers = [*RESPONSE_TRIGGERS, *append_only()]

    def __str__(self) -> str:
        # Nothing personal.
        return f"{self.requirement_id} {self.pk}"


class RequirementClosure(models.Model):
    """The end of a requirement: by a person, or by a decision that closes it."""

    requirement = models.OneToOneField(
        Requirement, models.PROTECT, primary_key=True, verbose_name=_("requirement"), related_name="closure"
    )
    by = models.ForeignKey(Staff, models.PROTECT, verbose_name=_("by"), related_name="+", db_index=False)
    note = models.CharField(_("note"), max_length=CLOSURE_NOTE_LENGTH, blank=True, db_default="")
    decision = models.ForeignKey(
        StatusChange, models.PROTECT, verbose_name=_("decision"), related_name="+", db_index=False, null=True
    )
    created_at = models.DateTimeField(_("created at"), db_default=Now(), editable=False)

    serving_privileges = ("SELECT", "INSERT")
    ending = WITH_USER

    class Meta:
        verbose_name = _("closed requirement")
        verbose_name_plural = _("closed requirements")
        default_permissions = ("view",)
        indexes = (
            # The foreign key is looked up when a user is erased.
            models.Index(fields=("decision",), condition=Q(decision__isnull=False), name="closure_of_decision"),
        )
        triggers = [by_active_staff("by_id"), *CLOSURE_TRIGGERS, *append_only()]

    def __str__(self) -> str:
        return str(self.requirement_id)
