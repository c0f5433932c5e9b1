"""Cases: the lists of users who wait, claims, and the access log."""

from datetime import datetime

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from partners.db import statements
from partners.db.endings import WITH_USER
from partners.db.triggers import append_only, stamped
from users.models.triggers import ACCESS_TRIGGERS, DECISION_BASIS_TRIGGERS, by_active_staff
from users.models.user import Staff, StatusChange, User


class _ListMeta:
    # The admin has one page for each model: each list of users is one of a proxy, with the permissions of users.
    proxy = True
    default_permissions = ()
    verbose_name = _("user")
    verbose_name_plural = _("users")


class QueuedUser(User):  # type: ignore[django-manager-missing]  # as of User
    """A user who waits for a decision."""

    class Meta(_ListMeta):
        pass


class ChangedUser(User):  # type: ignore[django-manager-missing]
    """An active user whose name or birth date changed since the approval."""

    class Meta(_ListMeta):
        pass


class AnsweredUser(User):  # type: ignore[django-manager-missing]
    """A user whose partner has answered what compliance asked."""

    class Meta(_ListMeta):
        pass


class AskedUser(User):  # type: ignore[django-manager-missing]
    """A user who waits for an answer of the partner."""

    class Meta(_ListMeta):
        pass


class Claim(models.Model):
    """A staff member's claim on a case, until it is decided or released."""

    user = models.OneToOneField(User, models.PROTECT, primary_key=True, verbose_name=_("user"), related_name="claim")
    staff = models.ForeignKey(Staff, models.PROTECT, verbose_name=_("staff"), related_name="claims")
    claimed_at = models.DateTimeField(_("claimed at"), db_default=Now(), editable=False)

    serving_privileges = ("SELECT", "INSERT", "DELETE")
    ending = WITH_USER

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

    serving_privileges = ("SELECT", "INSERT")
    ending = WITH_USER

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
    REVIEWED = "reviewed", _("Reviewed")
    EXPORTED = "exported", _("Exported")


class Page(models.TextChoices):
    """The detail of an opening: the page that showed the user. The history has no risk flags."""

    CASE = "", ""
    USER = "userPage", _("User page.")
    HISTORY = "history", _("Profile history.")


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

    serving_privileges = ("SELECT", "INSERT")
    serving_functions = ("users_opened_at(uuid, bigint, timestamptz)",)
    ending = WITH_USER._replace(kept="exports of lists, which are no user's")

    class Meta:
        verbose_name = _("access record")
        verbose_name_plural = _("access log")
        ordering = ("-id",)
        indexes = (
            models.Index(fields=("user", "id"), name="access_of_user"),
            models.Index(fields=("staff", "id"), name="access_by_staff"),
            # The export of a period.
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
    def was_opened(user: User, *, by: Staff, since: datetime) -> bool:
        """Whether this person has opened a page with the user's risk flags since then."""
        row = statements.fetch_one("SELECT users_opened_at(%s, %s, %s) IS NOT NULL", (user.pk, by.pk, since))
        return bool(row and row[0])

    @property
    def detail_text(self) -> str:
        """The detail in the reader's language where it is the name of a page; any other is as it was recorded."""
        return str(Page(self.detail).label) if self.detail in Page.values else self.detail


class DecisionBasis(models.Model):
    """What the person saw who made a decision or a review: the row is inserted with it, and never changes.

    A trigger sets staff, mode, time, is_of_two and open_seconds. data: see users/decisions/decision_basis.py.
    """

    decision = models.OneToOneField(
        StatusChange, models.PROTECT, verbose_name=_("decision"), related_name="basis", null=True
    )
    review = models.OneToOneField(
        AccessRecord, models.PROTECT, verbose_name=_("review"), related_name="basis", null=True
    )
    staff = models.ForeignKey(
        Staff, models.PROTECT, verbose_name=_("staff"), related_name="+", db_index=False, null=True, editable=False
    )
    is_sandbox = models.BooleanField(_("sandbox"), db_default=False, editable=False)
    # False where there was no page, and the data is what one would have shown.
    was_shown = models.BooleanField(_("shown"))
    data = models.JSONField(_("data"))
    # Whether the decision is what another person proposed.
    is_of_two = models.BooleanField(_("of two people"), db_default=False, editable=False)
    # They count from the person's last opening of the case in this status; None where there was none.
    open_seconds = models.IntegerField(_("seconds open"), null=True, editable=False)
    created_at = models.DateTimeField(_("created at"), db_default=Now(), editable=False)

    serving_privileges = (
        "SELECT",
        "INSERT (decision_id, review_id, staff_id, is_sandbox, was_shown, data, is_of_two, open_seconds, created_at)",
    )
    ending = WITH_USER

    class Meta:
        verbose_name = _("basis of a decision")
        verbose_name_plural = _("bases of decisions")
        indexes = (
            # An index-only scan for the dashboard.
            models.Index(
                fields=("is_sandbox", "created_at"),
                include=("staff", "open_seconds", "is_of_two"),
                condition=Q(decision__isnull=False),
                name="decision_basis_by_day",
            ),
        )
        constraints = (
            models.CheckConstraint(
                condition=Q(decision__isnull=False, review__isnull=True)
                | Q(decision__isnull=True, review__isnull=False),
                name="decision_basis_of_one",
            ),
        )
        triggers = [*DECISION_BASIS_TRIGGERS, *append_only()]

    def __str__(self) -> str:
        return f"{self.decision_id or self.review_id}"
