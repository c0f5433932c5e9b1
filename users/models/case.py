"""Cases: claims, notes, the access log; real users and those of sandbox partners."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, TypeVar

from django.db import models
from django.db.models import Model, Q, QuerySet
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from core.database.triggers import append_only, stamped
from partners.models import Mode, Partner
from staff.models import Staff
from users.models.triggers import ACCESS_TRIGGERS, by_active_staff
from users.models.user import User


class Claim(models.Model):
    """A staff member's claim on a case, until it is decided or released."""

    user = models.OneToOneField(User, models.PROTECT, primary_key=True, verbose_name=_("user"), related_name="claim")
    staff = models.ForeignKey(Staff, models.PROTECT, verbose_name=_("staff"), related_name="claims")
    claimed_at = models.DateTimeField(_("claimed at"), db_default=Now(), editable=False)

    class Meta:
        verbose_name = _("claim")
        verbose_name_plural = _("claims")
        triggers = (stamped("claimed_at"), by_active_staff("staff_id"))

    def __str__(self) -> str:
        return f"{self.user_id} by {self.staff_id}"


class CaseNote(models.Model):
    """What a staff member noted about a user without deciding. Never updated or deleted."""

    user = models.ForeignKey(User, models.PROTECT, verbose_name=_("user"), related_name="case_notes", db_index=False)
    staff = models.ForeignKey(Staff, models.PROTECT, verbose_name=_("staff"), related_name="+", db_index=False)
    text = models.CharField(_("text"), max_length=2000)
    created_at = models.DateTimeField(_("created at"), db_default=Now(), editable=False)

    class Meta:
        verbose_name = _("case note")
        verbose_name_plural = _("case notes")
        default_permissions = ("view",)
        indexes = (models.Index(fields=("user", "id"), name="case_note_of_user"),)
        constraints = (models.CheckConstraint(condition=Q(text__regex=r"\S"), name="case_note_given"),)
        triggers = [stamped("created_at"), by_active_staff("staff_id"), *append_only()]

    def __str__(self) -> str:
        # Nothing personal.
        return f"{self.user_id} {self.pk}"


class AccessKind(models.TextChoices):
    """The kinds of access to a user's data."""

    OPENED = "opened", _("Opened")
    CLAIMED = "claimed", _("Claimed")
    RELEASED = "released", _("Released")
    EXPORTED = "exported", _("Exported")
    REVEALED = "revealed", _("Number shown")


class Page(models.TextChoices):
    """The detail of an opening: the page that showed the user. The case alone has risk flags."""

    CASE = "", ""
    HISTORY = "history", _("Profile history.")
    FILE = "file", _("File of the user.")


# Details that are recorded in English, in whatever language the person reads.
_DETAILS: Mapping[str, Any] = {
    Page.HISTORY.value: Page.HISTORY.label,
    Page.FILE.value: Page.FILE.label,
    "Evidence pack": _("Evidence pack"),
    "Person's copy": _("Person's copy"),
}


def detail_in_words(detail: str) -> str:
    """A recorded detail in the reader's language where it is one of the fixed ones; any other is as it was recorded."""
    return str(_DETAILS.get(detail, detail))


class AccessRecord(models.Model):
    """An access of staff to a user's data. Never updated or deleted."""

    kind = models.CharField(_("kind"), max_length=20, choices=AccessKind)
    # None where a list was exported, whose filters are the detail.
    user = models.ForeignKey(
        User, models.PROTECT, verbose_name=_("user"), related_name="accesses", db_index=False, null=True
    )
    staff = models.ForeignKey(Staff, models.PROTECT, verbose_name=_("staff"), related_name="+", db_index=False)
    request_id = models.CharField(_("request id"), max_length=36, blank=True)
    detail = models.CharField(_("detail"), max_length=500, blank=True)
    created_at = models.DateTimeField(_("created at"), db_default=Now(), editable=False)

    class Meta:
        verbose_name = _("access record")
        verbose_name_plural = _("access log")
        ordering = ("-id",)
        indexes = (
            models.Index(fields=("user", "id"), name="access_of_user"),
            models.Index(fields=("staff", "created_at", "id"), name="access_by_staff"),
            # The list, and the export of a period.
            models.Index(fields=("created_at", "id"), name="access_by_time"),
        )
        constraints = (
            models.CheckConstraint(condition=Q(kind__in=AccessKind.values), name="access_kind_known"),
            models.CheckConstraint(condition=Q(user__isnull=False) | Q(kind="exported"), name="access_of_somebody"),
        )
        triggers = [*ACCESS_TRIGGERS, *append_only()]

    def __str__(self) -> str:
        return f"{self.kind} {self.pk}"

    @staticmethod
    def last_opening(user: User, *, by: Staff, since: datetime) -> datetime | None:
        """When this person last opened a page with the user's risk flags; None where that was not since then."""
        opened = AccessRecord.objects.filter(user=user, staff=by, kind=AccessKind.OPENED, created_at__gte=since)
        row = opened.filter(detail=Page.CASE).order_by("-id").values_list("created_at").first()
        return row[0] if row else None

    @property
    def detail_text(self) -> str:
        """The detail, see detail_in_words."""
        return detail_in_words(self.detail)


# Real users, and those of sandbox partners (contract, section 11). Every list, figure, search, risk flag and export of
# staff reads its rows by these: those of real users, and those of sandbox users only where they are asked for.

Row = TypeVar("Row", bound=Model)


def live(rows: QuerySet[Row]) -> QuerySet[Row]:
    """The rows of real users."""
    return in_mode(rows, Mode.LIVE)


def in_mode(rows: QuerySet[Row], mode: Mode) -> QuerySet[Row]:
    """The rows of the users of live partners, or of sandbox partners. rows: users, or what belongs to users."""
    return rows.filter(_condition(rows.model, mode))


def _condition(model: type[Model], mode: Mode) -> Q:
    is_sandbox = mode == Mode.SANDBOX
    if issubclass(model, Claim):
        return Q(user__is_sandbox=is_sandbox)
    if issubclass(model, AccessRecord):
        # An exported list is no user's, and stays in the log whatever it held.
        return Q(user__is_sandbox=True) if is_sandbox else Q(user__isnull=True) | Q(user__is_sandbox=False)
    if issubclass(model, Partner):
        return Q(mode=mode)
    return Q(is_sandbox=is_sandbox)
