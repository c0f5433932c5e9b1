"""Erasures: when records are due, and what is left of a user that was erased.

Triggers hold it, whatever code writes: docs/operations.md, "Records". A row of Erasure, which the owner inserts, erases
its user (transactions/sql/erase.sql); it is refused before the clock has run out, under a hold, and without an approved
proposal that names the user.
"""

import pgtrigger
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _
from django.utils.translation import gettext_noop

from core.audit import insert_entry, register
from core.database.query import wire_time
from core.database.triggers import PermanentTrigger, append_only, json_object, refuse
from events.models import EventType
from events.models.feed import outbox_entry
from partners.models import Partner
from staff.models import Staff
from users.models.erasure_proposals import APPROVED_SINCE, ErasureProposal
from users.models.holds import IS_HELD
from users.models.statuses import ENDED_STATUSES

# The law requires so many; RETENTION_YEARS may be more.
LEAST_YEARS = 5
_ENDED = ", ".join(f"'{status.value}'" for status in ENDED_STATUSES)


def due_at(user: str, years: str) -> str:
    """SQL of when the records of a user are due for erasure; null in the statuses in which they never are.

    user: the alias of users_user. years: SQL of a whole number. Calendar years, of UTC.
    """
    # The app transactions defines the function.
    latest = f"greatest({user}.status_since, last_transaction_at({user}.id))"
    return f"""CASE WHEN {user}.status IN ({_ENDED}) AND NOT {user}.is_sandbox
        THEN (({latest} AT TIME ZONE 'UTC') + make_interval(years => {years}::integer)) AT TIME ZONE 'UTC' END"""


_ERASED = register("user.erased", _("User erased"))
_EVENT = outbox_entry(
    EventType.USER_ERASED,
    source="(SELECT erased.*) AS u",
    partner="u.partner_id",
    user="u.id",
    data={"externalId": "u.external_id", "userId": "u.id"},
)
_ENTRY = insert_entry(
    f"'{_ERASED}'",
    object="NEW.user_id::text",
    detail=json_object(
        {
            "partner": "(SELECT slug FROM partners_partner WHERE id = NEW.partner_id)",
            "dueAt": wire_time("NEW.due_at"),
            "proposedBy": "(SELECT username FROM staff_staff WHERE id = NEW.proposed_by_id)",
            "approvedBy": "(SELECT username FROM staff_staff WHERE id = NEW.approved_by_id)",
            "commonMaker": "(SELECT nullif(common_maker, '') FROM users_erasureproposal WHERE id = NEW.proposal_id)",
            "rows": "counts",
        }
    ),
)

ERASURE_TRIGGERS = [
    PermanentTrigger(
        name="is_due",
        when=pgtrigger.Before,
        operation=pgtrigger.Insert,
        declare=[("erased", "users_user%ROWTYPE"), ("proposal", "users_erasureproposal%ROWTYPE")],
        func=f"""
            -- Waits for those who write about the user, and keeps others waiting.
            SELECT * INTO erased FROM users_user WHERE id = NEW.user_id FOR UPDATE;
            IF NOT FOUND THEN
                {refuse("There is no such user.")}
            END IF;
            NEW.due_at := {due_at("erased", "NEW.years")};
            IF NEW.due_at IS NULL OR NEW.due_at > clock_timestamp() THEN
                {refuse("The records of this user are not due for erasure.")}
            END IF;
            IF {IS_HELD.format(user="erased")} THEN
                {refuse("The records of this user are held.")}
            END IF;
            SELECT p.* INTO proposal
              FROM users_proposederasure r JOIN users_erasureproposal p ON p.id = r.proposal_id
             WHERE r.user_id = erased.id AND p.state = 'approved' AND p.ended_at > {APPROVED_SINCE}
             ORDER BY p.ended_at LIMIT 1;
            IF NOT FOUND THEN
                {refuse("Two people have not approved the erasure of this user.")}
            END IF;
            NEW.proposal_id := proposal.id;
            NEW.proposed_by_id := proposal.by_id;
            NEW.approved_by_id := proposal.ended_by_id;
            NEW.partner_id := erased.partner_id;
            NEW.erased_at := clock_timestamp();
            NEW.rows := '{{}}';
            RETURN NEW;
        """,
    ),
    PermanentTrigger(
        name="erases",
        when=pgtrigger.After,
        operation=pgtrigger.Insert,
        declare=[("erased", "users_user%ROWTYPE"), ("counts", "jsonb")],
        # The app transactions defines `erase`. While `rows` is empty, the triggers that refuse DELETE let it pass
        # (core/database/triggers.py): the row is in no other transaction then, and has its counts before the statement
        # that inserted it ends.
        func=f"""
            SELECT * INTO erased FROM users_user WHERE id = NEW.user_id;
            counts := erase(erased);
            UPDATE users_erasure SET rows = counts WHERE user_id = NEW.user_id;
            {_EVENT};
            {_ENTRY};
            RETURN NULL;
        """,
    ),
    PermanentTrigger(
        name="counted_once",
        when=pgtrigger.Before,
        operation=pgtrigger.Update,
        func=f"""
            IF OLD.rows <> '{{}}' OR pg_trigger_depth() < 2
                OR to_jsonb(OLD) - 'rows' IS DISTINCT FROM to_jsonb(NEW) - 'rows' THEN
                {refuse("What is left of a user does not change.")}
            END IF;
            RETURN NEW;
        """,
    ),
    *append_only(pgtrigger.Delete),
]


class Erasure(models.Model):
    """What is left of a user: its insert by the owner erases the user, or is refused (transactions/sql/erase.sql).

    Triggers set all but the user and the years: the partner, the proposal, its two people, the times and `rows`: how
    many there were of each table.
    """

    # This is the id of a User that no longer exists.
    user_id = models.UUIDField("userId", primary_key=True)
    partner = models.ForeignKey(
        Partner, models.PROTECT, verbose_name=_("partner"), related_name="+", null=True, editable=False
    )
    proposal = models.ForeignKey(
        ErasureProposal, models.PROTECT, verbose_name=_("proposed erasure"), related_name="erased", editable=False
    )
    proposed_by = models.ForeignKey(
        Staff, models.PROTECT, verbose_name=_("proposed by"), related_name="+", db_index=False, editable=False
    )
    approved_by = models.ForeignKey(
        Staff, models.PROTECT, verbose_name=_("approved by"), related_name="+", db_index=False, editable=False
    )
    # RETENTION_YEARS, as it was.
    years = models.PositiveSmallIntegerField(_("years kept"))
    due_at = models.DateTimeField(_("due since"), null=True, editable=False)
    erased_at = models.DateTimeField(_("erased at"), db_default=Now(), editable=False)
    rows = models.JSONField(_("rows"), db_default=models.Value({}, models.JSONField()), editable=False)

    class Meta:
        verbose_name = _("erased user")
        verbose_name_plural = _("erased users")
        default_permissions = ("view",)
        constraints = (models.CheckConstraint(condition=Q(years__gte=LEAST_YEARS), name="erasure_years_of_the_law"),)
        indexes = (
            # The triggers that refuse DELETE look here: it is empty, but while a user is erased.
            models.Index(fields=("user_id",), condition=Q(rows={}), name="erasure_under_way"),
            models.Index(fields=("erased_at", "user_id"), name="erasure_by_time"),
        )
        permissions = (("keep_records", gettext_noop("Can hold records, and propose and approve their erasure")),)
        triggers = ERASURE_TRIGGERS

    def __str__(self) -> str:
        return str(self.user_id)
