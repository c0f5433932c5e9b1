"""Holds, which keep a user's records, and what is left of a user that was erased: docs/operations.md, "Records"."""

import uuid

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _
from django.utils.translation import gettext_noop

from partners.db.endings import WITH_USER, Ending
from partners.db.triggers import append_only
from partners.models import Partner
from users.models.retention_triggers import ERASURE_TRIGGERS, HOLD_TRIGGERS, LEAST_YEARS, RELEASE_TRIGGERS
from users.models.user import Staff, User

HOLD_REASON_LENGTH = 2000


class Hold(models.Model):
    """What keeps a user's records whatever the clock says, until another person releases it. Never updated."""

    id = models.UUIDField(_("id"), primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey(User, models.PROTECT, verbose_name=_("user"), related_name="holds", db_index=False)
    by = models.ForeignKey(Staff, models.PROTECT, verbose_name=_("by"), related_name="+", db_index=False)
    reason = models.CharField(_("reason"), max_length=HOLD_REASON_LENGTH)
    created_at = models.DateTimeField(_("created at"), db_default=Now(), editable=False)

    serving_privileges = ("SELECT", "INSERT")
    ending = WITH_USER

    class Meta:
        verbose_name = _("hold")
        verbose_name_plural = _("holds")
        default_permissions = ("view",)
        indexes = (models.Index(fields=("user", "created_at"), name="hold_of_user"),)
        constraints = (models.CheckConstraint(condition=Q(reason__regex=r"\S"), name="hold_reason_given"),)
        triggers = [*HOLD_TRIGGERS, *append_only()]

    def __str__(self) -> str:
        return str(self.id)


class HoldRelease(models.Model):
    """The end of a hold, by another person than the one who placed it. Never updated."""

    hold = models.OneToOneField(Hold, models.PROTECT, primary_key=True, verbose_name=_("hold"), related_name="release")
    by = models.ForeignKey(Staff, models.PROTECT, verbose_name=_("by"), related_name="+", db_index=False)
    reason = models.CharField(_("reason"), max_length=HOLD_REASON_LENGTH)
    created_at = models.DateTimeField(_("created at"), db_default=Now(), editable=False)

    serving_privileges = ("SELECT", "INSERT")
    ending = WITH_USER

    class Meta:
        verbose_name = _("released hold")
        verbose_name_plural = _("released holds")
        default_permissions = ("view",)
        constraints = (models.CheckConstraint(condition=Q(reason__regex=r"\S"), name="release_reason_given"),)
        triggers = [*RELEASE_TRIGGERS, *append_only()]

    def __str__(self) -> str:
        return str(self.hold_id)


class Erasure(models.Model):
    """What is left of a user: its insert by the owner erases the user, or is refused (users/sql/erase.sql).

    Triggers set the partner, the times and `rows`: how many there were of each table.
    """

    # This is the id of a User that no longer exists.
    user_id = models.UUIDField("userId", primary_key=True)
    partner = models.ForeignKey(
        Partner, models.PROTECT, verbose_name=_("partner"), related_name="+", null=True, editable=False
    )
    by = models.ForeignKey(Staff, models.PROTECT, verbose_name=_("by"), related_name="+", db_index=False)
    # RETENTION_YEARS, as it was.
    years = models.PositiveSmallIntegerField(_("years kept"))
    due_at = models.DateTimeField(_("due since"), null=True, editable=False)
    erased_at = models.DateTimeField(_("erased at"), db_default=Now(), editable=False)
    rows = models.JSONField(_("rows"), db_default=models.Value({}, models.JSONField()), editable=False)

    serving_privileges = ("SELECT",)
    ending = Ending(kept="that there was a user, and when its records ended")

    class Meta:
        verbose_name = _("erased user")
        verbose_name_plural = _("erased users")
        default_permissions = ("view",)
        constraints = (models.CheckConstraint(condition=Q(years__gte=LEAST_YEARS), name="erasure_years_of_the_law"),)
        indexes = (
            # The triggers that refuse DELETE look here: it is empty, but while a user is erased.
            models.Index(fields=("user_id",), condition=Q(rows={}), name="erasure_under_way"),
        )
        permissions = (("view_due_for_erasure", gettext_noop("Can see which records are due for erasure")),)
        triggers = ERASURE_TRIGGERS

    def __str__(self) -> str:
        return str(self.user_id)
