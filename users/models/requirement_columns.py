"""The columns of a user that triggers keep from its requirements (users/models/requirement_triggers.py)."""

from datetime import timedelta

from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _


class CaseState(models.IntegerChoices):
    """Who has to act on a user, in the order of the queue."""

    ANSWERED = 0, _("Answered")
    COMPLIANCE = 1, _("To decide")
    PARTNER = 2, _("Waiting for the partner")


class RequirementColumns(models.Model):
    """What the queue and the API read without a join."""

    open_requirements = models.SmallIntegerField(_("open requirements"), db_default=0, editable=False)
    # The earliest of the open ones.
    requirements_due_at = models.DateTimeField(_("due"), null=True, editable=False)
    # The latest response of the partner.
    answered_at = models.DateTimeField(_("answered at"), null=True, editable=False)
    case_state = models.SmallIntegerField(
        _("case state"), choices=CaseState, db_default=CaseState.COMPLIANCE.value, editable=False
    )
    # From when on a case counts against the target: from the answer on, or from the status on, but later by the time
    # that it has waited for the partner. Of one that waits for the partner: since when.
    case_state_since = models.DateTimeField(_("case state since"), db_default=Now(), editable=False)
    # How long the case has waited for the partner in its status, up to the last answer.
    partner_wait = models.DurationField(_("time waiting for the partner"), db_default=timedelta(0), editable=False)

    class Meta:
        abstract = True


# Django's public name; the fields of a model are known before all models are.
REQUIREMENT_COLUMNS = tuple(field.name for field in RequirementColumns._meta.local_fields)  # noqa: SLF001
