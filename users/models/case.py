"""Cases: claims, notes, the access log; real users and those of sandbox partners."""

from datetime import datetime
from typing import TypeVar

from django.db import models
from django.db.models import Model, Q, QuerySet
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from core.database.schema import Record
from core.database.triggers import append_only, stamped
from partners.models import Mode, Partner
from staff.models import Staff
from users.models.triggers import ACCESS_TRIGGERS, by_active_staff
from users.models.user import User


class Claim(Record):
    """A staff member's claim on a case, until it is decided or released."""

    user = models.OneToOneField(User, models.PROTECT, primary_key=True, related_name="claim")
    staff = models.ForeignKey(Staff, models.PROTECT, related_name="claims")
    claimed_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        triggers = (stamped("claimed_at"), by_active_staff("staff_id"))


class CaseNote(Record):
    """What a staff member noted about a user without deciding. Never updated or deleted."""

    user = models.ForeignKey(User, models.PROTECT, related_name="case_notes", db_index=False)
    staff = models.ForeignKey(Staff, models.PROTECT, related_name="+", db_index=False)
    text = models.CharField(max_length=2000)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        default_permissions = ("view",)
        indexes = (models.Index(fields=("user", "id"), name="case_note_of_user"),)
        constraints = (models.CheckConstraint(condition=Q(text__regex=r"\S"), name="case_note_given"),)
        triggers = [stamped("created_at"), by_active_staff("staff_id"), *append_only()]


class AccessKind(models.TextChoices):
    """The kinds of access to a user's data."""

    OPENED = "opened", _("Opened")
    CLAIMED = "claimed", _("Claimed")
    RELEASED = "released", _("Released")
    EXPORTED = "exported", _("Exported")
    REVEALED = "revealed", _("Number shown")


class OpenedPage(models.TextChoices):
    """The detail of an opening: the page that showed the user. The case alone has risk flags."""

    CASE = "", ""
    HISTORY = "history", _("Profile history.")
    FILE = "file", _("File of the user.")


# Details that are recorded in English, in whatever language the person reads.
_DETAILS = {**dict(OpenedPage.choices), "Evidence pack": _("Evidence pack"), "Person's copy": _("Person's copy")}


def detail_in_words(detail: str) -> str:
    """A recorded detail in the reader's language where it is one of the fixed ones; any other is as it was recorded."""
    return str(_DETAILS.get(detail, detail))


class AccessRecord(Record):
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

    @staticmethod
    def last_opening(user: User, *, by: Staff, since: datetime) -> datetime | None:
        """When this person last opened a page with the user's risk flags; None where that was not since then."""
        opened = AccessRecord.objects.filter(user=user, staff=by, kind=AccessKind.OPENED, created_at__gte=since)
        row = opened.filter(detail=OpenedPage.CASE).order_by("-id").values_list("created_at").first()
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
    is_sandbox = mode == Mode.SANDBOX
    if rows.model is AccessRecord and not is_sandbox:
        # An exported list is no user's, and stays in the log whatever it held.
        return rows.filter(Q(user__isnull=True) | Q(user__is_sandbox=False))
    if rows.model in {AccessRecord, Claim}:
        return rows.filter(user__is_sandbox=is_sandbox)
    return rows.filter(mode=mode) if rows.model is Partner else rows.filter(is_sandbox=is_sandbox)
