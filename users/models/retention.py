"""How the records of a user end: holds, proposed erasures, and what is left (docs/operations.md, "Records").

A row of Erasure, which the owner inserts, erases its user (transactions/sql/erase.sql), or triggers refuse it.
"""

import uuid
from datetime import timedelta
from typing import Any

import pgtrigger
from django.db import models
from django.db.models import Case, Exists, F, OuterRef, Q, Value, When
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _
from django.utils.translation import gettext_noop

from core.audit import entry_trigger, insert_entry, register
from core.database.schema import Record, wire_time
from core.database.triggers import append_only, json_object, stamped, trigger
from events.models import EventType, outbox_entry
from partners.models import Partner
from staff.models import Staff
from users.models.approvals import (
    EXPIRY,
    NOTE_LENGTH,
    REASON_LENGTH,
    TwoPersonProposal,
    database_function,
    proposal_triggers,
)
from users.models.triggers import staff_entry, username
from users.models.user import User

_PROPOSED = register("erasure.proposed", _("Erasure proposed"))
_APPROVED = register("erasure.approved", _("Erasure approved"))
_DECLINED = register("erasure.declined", _("Erasure declined"))
_ERASED = register("user.erased", _("User erased"))

KEEP_RECORDS = "keep_records"
# The law requires so many years; RETENTION_YEARS may be more.
LEAST_YEARS = 5
# How long an approved erasure may be carried out.
CARRIED_OUT_WITHIN = timedelta(days=30)

_HOLD_OF_RELEASE = "(SELECT user_id FROM users_hold WHERE id = NEW.hold_id)"
_PARTNER = "(SELECT slug FROM partners_partner WHERE id = NEW.partner_id)"


class Hold(Record):
    """What keeps a user's records whatever the clock says, until another person releases it. Never updated."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey(User, models.PROTECT, related_name="holds", db_index=False)
    by = models.ForeignKey(Staff, models.PROTECT, related_name="+", db_index=False)
    reason = models.CharField(max_length=REASON_LENGTH)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        default_permissions = ("view",)
        indexes = (models.Index(fields=("user", "created_at"), name="hold_of_user"),)
        constraints = (models.CheckConstraint(condition=Q(reason__regex=r"\S"), name="hold_reason_given"),)
        triggers = [
            stamped("created_at"),
            trigger("of_real_user", "before insert", function="users_hold_of_real_user"),
            staff_entry("user.held", _("User held"), {"hold": "NEW.id", "reason": "NEW.reason"}),
            *append_only(),
        ]


class HoldRelease(Record):
    """The end of a hold, by another person than the one who placed it. Never updated."""

    hold = models.OneToOneField(Hold, models.PROTECT, primary_key=True, related_name="release")
    by = models.ForeignKey(Staff, models.PROTECT, related_name="+", db_index=False)
    reason = models.CharField(max_length=REASON_LENGTH)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        default_permissions = ("view",)
        constraints = (models.CheckConstraint(condition=Q(reason__regex=r"\S"), name="release_reason_given"),)
        triggers = [
            stamped("created_at"),
            trigger("by_another", "before insert", function="users_release_by_another"),
            staff_entry(
                "user.released",
                _("Hold released"),
                {"hold": "NEW.hold_id", "reason": "NEW.reason"},
                user=_HOLD_OF_RELEASE,
            ),
            *append_only(),
        ]


class ErasureProposalQuerySet(models.QuerySet["ErasureProposal"]):
    """Proposed erasures."""

    def with_states(self) -> Any:
        """These, each with its `present_state`, and `expires_at`: approved, until when it may be carried out."""
        left = ProposedErasure.objects.filter(proposal=OuterRef("pk"))
        state = Case(
            When(~Exists(left), state="approved", then=Value("done")),
            When(~Q(state="declined") & Q(expires_at__lte=Now()), then=Value("expired")),
            default="state",
        )
        expiry = Case(When(state="approved", then=F("ended_at") + CARRIED_OUT_WITHIN), default=EXPIRY)
        found: Any = self
        return found.annotate(expires_at=expiry).annotate(present_state=state)


class ErasureProposal(TwoPersonProposal):
    """What the first proposes: that users are erased. The erasure of the first of them blanks what people wrote."""

    # Null where the users are those of several partners.
    partner = models.ForeignKey(Partner, models.PROTECT, related_name="+", null=True, db_index=False)
    users = models.PositiveIntegerField()
    reason = models.CharField(max_length=NOTE_LENGTH, blank=True)
    # Who within 30 days made, re-roled or reset both people.
    common_maker = models.TextField(blank=True, db_default="", editable=False)

    objects = ErasureProposalQuerySet.as_manager()

    class Meta:
        verbose_name = _("proposed erasure")
        default_permissions = ("view",)
        indexes = (models.Index(fields=("created_at", "id"), name="erasure_proposal_by_time"),)
        constraints = (
            *TwoPersonProposal.Meta.constraints,
            models.CheckConstraint(condition=Q(users__gte=1), name="erasure_proposal_of_somebody"),
            models.CheckConstraint(condition=Q(state="approved") | Q(common_maker=""), name="erasure_proposal_maker"),
        )
        triggers = [
            *proposal_triggers(KEEP_RECORDS, blanked="{reason,note}"),
            # By its name it comes after them.
            trigger(
                "two_people",
                "before update",
                function="users_erasure_two_people",
                condition="OLD.state <> NEW.state AND NEW.state = 'approved'",
            ),
            entry_trigger(
                f"'{_PROPOSED}'",
                object="NEW.id::text",
                detail=json_object({"users": "NEW.users", "reason": "NEW.reason", "partner": _PARTNER}),
                actor=username("by_id"),
            ),
            entry_trigger(
                f"CASE NEW.state WHEN 'approved' THEN '{_APPROVED}' ELSE '{_DECLINED}' END",
                name="audit_end",
                timing="after update",
                condition="OLD.state <> NEW.state",
                object="NEW.id::text",
                detail=json_object(
                    {"users": "NEW.users", "reason": "nullif(NEW.note, '')", "proposedBy": username("by_id")}
                    | {"commonMaker": "nullif(NEW.common_maker, '')"}
                ),
                actor=username("ended_by_id"),
            ),
        ]


class ProposedErasureQuerySet(models.QuerySet["ProposedErasure"]):
    """The users of proposed erasures."""

    def in_force(self) -> "ProposedErasureQuerySet":
        """Those of erasures that are open or approved, and have not expired."""
        columns = ("proposal__state", "proposal__created_at", "proposal__ended_at")
        return self.filter(database_function("users_erasure_in_force", *columns))


class ProposedErasure(Record):
    """A user whose erasure is proposed, until it is erased. Never updated."""

    proposal = models.ForeignKey(ErasureProposal, models.PROTECT, related_name="rows", db_index=False)
    user = models.ForeignKey(User, models.PROTECT, related_name="+")

    objects = ProposedErasureQuerySet.as_manager()

    class Meta:
        default_permissions = ()
        constraints = (models.UniqueConstraint(fields=("proposal", "user"), name="proposed_erasure_once"),)
        triggers = [
            trigger("at_once", "after insert", function="users_erasure_names_at_once", rows="inserted"),
            *append_only(),
        ]


_EVENT = outbox_entry(EventType.USER_ERASED, source="(SELECT erased.*) AS u")
_ENTRY = insert_entry(
    f"'{_ERASED}'",
    object="NEW.user_id::text",
    detail=json_object(
        {"partner": _PARTNER, "dueAt": wire_time("NEW.due_at"), "rows": "counts"}
        | {"proposedBy": username("proposed_by_id"), "approvedBy": username("approved_by_id")}
        | {"commonMaker": "(SELECT nullif(common_maker, '') FROM users_erasureproposal WHERE id = NEW.proposal_id)"}
    ),
)


class Erasure(Record):
    """What is left of a user: its insert by the owner erases the user, or is refused (transactions/sql/erase.sql).

    Triggers set all but the user and the years. rows: how many there were of each table.
    """

    # This is the id of a User that no longer exists.
    user_id = models.UUIDField(primary_key=True)
    partner = models.ForeignKey(Partner, models.PROTECT, related_name="+", null=True, editable=False)
    proposal = models.ForeignKey(ErasureProposal, models.PROTECT, related_name="erased", editable=False)
    proposed_by = models.ForeignKey(Staff, models.PROTECT, related_name="+", db_index=False, editable=False)
    approved_by = models.ForeignKey(Staff, models.PROTECT, related_name="+", db_index=False, editable=False)
    # RETENTION_YEARS, as it was.
    years = models.PositiveSmallIntegerField()
    due_at = models.DateTimeField(null=True, editable=False)
    erased_at = models.DateTimeField(db_default=Now(), editable=False)
    rows = models.JSONField(db_default=models.Value({}, models.JSONField()), editable=False)

    class Meta:
        default_permissions = ("view",)
        constraints = (models.CheckConstraint(condition=Q(years__gte=LEAST_YEARS), name="erasure_years_of_the_law"),)
        indexes = (
            # The triggers that refuse DELETE look here: it is empty, but while a user is erased.
            models.Index(fields=("user_id",), condition=Q(rows={}), name="erasure_under_way"),
            models.Index(fields=("erased_at", "user_id"), name="erasure_by_time"),
        )
        permissions = ((KEEP_RECORDS, gettext_noop("Can hold records, and propose and approve their erasure")),)
        triggers = [
            trigger("is_due", "before insert", function="users_erasure_is_due"),
            # The app transactions defines `erase`. While `rows` is empty, the triggers that refuse DELETE let it pass
            # (core/database/triggers.py): the row is in no other transaction then, and has its counts before the
            # statement that inserted it ends.
            trigger(
                "erases",
                "after insert",
                f"""
                    SELECT * INTO erased FROM users_user WHERE id = NEW.user_id;
                    counts := erase(erased);
                    UPDATE users_erasure SET rows = counts WHERE user_id = NEW.user_id;
                    {_EVENT};
                    {_ENTRY};
                """,
                declare=[("erased", "users_user%ROWTYPE"), ("counts", "jsonb")],
            ),
            trigger("counted_once", "before update", function="users_erasure_counted_once"),
            *append_only(pgtrigger.Delete),
        ]
