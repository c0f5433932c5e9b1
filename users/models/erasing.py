"""Erasures: what the first of two people proposes and the second approves, and what is left of a user that was erased.

Triggers hold it, whatever code writes: docs/operations.md, "Records". A row of Erasure, which the owner inserts, erases
its user (transactions/sql/erase.sql); it is refused before the clock has run out, under a hold, and without an approved
proposal that names the user.
"""

import uuid
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

import pgtrigger
from django.db import models
from django.db.models import Case, Exists, F, OuterRef, Q, When
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _
from django.utils.translation import gettext_noop, pgettext_lazy

from core.audit import entry_trigger, insert_entry, register
from core.database.triggers import IS_ERASING, PermanentTrigger, append_only, json_object, refuse
from core.database.wire import wire_time
from events.feed import outbox
from events.models import EventType
from partners.models import Partner
from staff.models import Staff
from users.models.retention import IS_HELD, LEAST_YEARS, due_at
from users.models.user import User

ERASURE_REASON_LENGTH = 500
# How long a proposal waits for the second person, and how long an approved one may be carried out.
APPROVED_WITHIN = timedelta(hours=72)
CARRIED_OUT_WITHIN = timedelta(days=30)

_OPEN_SINCE = "clock_timestamp() - interval '72 hours'"
_APPROVED_SINCE = "clock_timestamp() - interval '30 days'"
# SQL of whether a proposal, by its alias, is open or approved, and has not expired.
IN_FORCE = f"""({{proposal}}.state = 'open' AND {{proposal}}.created_at > {_OPEN_SINCE}
        OR {{proposal}}.state = 'approved' AND {{proposal}}.ended_at > {_APPROVED_SINCE})"""

_PROPOSED = register("erasure.proposed", _("Erasure proposed"))
_APPROVED = register("erasure.approved", _("Erasure approved"))
_DECLINED = register("erasure.declined", _("Erasure declined"))
_ERASED = register("user.erased", _("User erased"))

PROPOSAL_TRIGGERS = [
    PermanentTrigger(
        name="begins_open",
        when=pgtrigger.Before,
        operation=pgtrigger.Insert,
        func=f"""
            NEW.created_at := clock_timestamp();
            IF NEW.state <> 'open' OR NEW.ended_by_id IS NOT NULL OR NEW.ended_at IS NOT NULL
                OR NEW.note <> '' OR NEW.common_maker <> '' OR NEW.reason !~ '\\S' THEN
                {refuse("An erasure begins open, with a reason.")}
            END IF;
            IF NOT staff_may(NEW.by_id, 'keep_records') THEN
                {refuse("An active account that may decide, or audits, proposes an erasure.")}
            END IF;
            RETURN NEW;
        """,
    ),
    PermanentTrigger(
        name="ends_once",
        when=pgtrigger.Before,
        operation=pgtrigger.Update,
        declare=[
            ("ends", "CONSTANT text[] := ARRAY['state', 'ended_by_id', 'ended_at', 'note', 'common_maker']"),
            ("texts", "CONSTANT text[] := ARRAY['reason', 'note']"),
            ("ties", "record"),
        ],
        func=f"""
            -- What people wrote about it ends with the first of its users (transactions/sql/erase.sql).
            IF {IS_ERASING} AND to_jsonb(OLD) - texts = to_jsonb(NEW) - texts THEN
                RETURN NEW;
            END IF;
            IF OLD.state <> 'open' OR NEW.state NOT IN ('approved', 'declined')
                OR to_jsonb(OLD) - ends IS DISTINCT FROM to_jsonb(NEW) - ends THEN
                {refuse("The proposal of an erasure ends once, and nothing else of it changes.")}
            END IF;
            IF OLD.created_at <= {_OPEN_SINCE} THEN
                {refuse("The proposal of this erasure has expired.")}
            END IF;
            IF NOT staff_may(NEW.ended_by_id, 'keep_records') THEN
                {refuse("An active account that may decide, or audits, approves or declines an erasure.")}
            END IF;
            NEW.ended_at := clock_timestamp();
            NEW.common_maker := '';
            IF NEW.state = 'declined' THEN
                IF NEW.note !~ '\\S' THEN
                    {refuse("An erasure is declined with a reason.")}
                END IF;
                RETURN NEW;
            END IF;
            IF NEW.ended_by_id = OLD.by_id OR NOT staff_may(OLD.by_id, 'keep_records') THEN
                {refuse("An erasure takes two people, each with an active account that may.")}
            END IF;
            SELECT * INTO ties FROM staff_ties(NEW.ended_by_id, OLD.by_id);
            IF ties.related THEN
                {refuse("An erasure takes two people: within 30 days neither made, re-roled or reset the other.")}
            END IF;
            IF OLD.users <> (SELECT count(*) FROM users_proposederasure WHERE proposal_id = OLD.id) THEN
                {refuse("This erasure does not name its users.")}
            END IF;
            NEW.common_maker := ties.makers;
            RETURN NEW;
        """,
    ),
    entry_trigger(
        f"'{_PROPOSED}'",
        object="NEW.id::text",
        detail=json_object(
            {"users": "NEW.users", "reason": "NEW.reason"}
            | {"partner": "(SELECT slug FROM partners_partner WHERE id = NEW.partner_id)"}
        ),
        actor="(SELECT username FROM staff_staff WHERE id = NEW.by_id)",
    ),
    PermanentTrigger(
        name="audit_end",
        when=pgtrigger.After,
        operation=pgtrigger.Update,
        condition=pgtrigger.Condition("OLD.state <> NEW.state"),
        func=insert_entry(
            f"CASE NEW.state WHEN 'approved' THEN '{_APPROVED}' ELSE '{_DECLINED}' END",
            object="NEW.id::text",
            detail=json_object(
                {"users": "NEW.users", "reason": "nullif(NEW.note, '')"}
                | {"proposedBy": "(SELECT username FROM staff_staff WHERE id = NEW.by_id)"}
                | {"commonMaker": "nullif(NEW.common_maker, '')"}
            ),
            actor="(SELECT username FROM staff_staff WHERE id = NEW.ended_by_id)",
        )
        + "; RETURN NULL;",
    ),
    *append_only(pgtrigger.Delete),
]

PROPOSED_TRIGGERS = [
    PermanentTrigger(
        name="at_once",
        level=pgtrigger.Statement,
        when=pgtrigger.After,
        operation=pgtrigger.Insert,
        referencing=pgtrigger.Referencing(new="inserted"),  # type: ignore[no-untyped-call]
        func=f"""
            IF EXISTS (
                SELECT FROM (SELECT DISTINCT proposal_id FROM inserted) AS i
                  JOIN users_erasureproposal p ON p.id = i.proposal_id
                 WHERE p.state <> 'open' OR p.users <> (
                    SELECT count(*) FROM users_proposederasure r WHERE r.proposal_id = p.id)) THEN
                {refuse("An erasure names all its users in one statement.")}
            END IF;
            IF EXISTS (
                SELECT FROM inserted i
                  JOIN users_proposederasure r ON r.user_id = i.user_id AND r.proposal_id <> i.proposal_id
                  JOIN users_erasureproposal p ON p.id = r.proposal_id
                 WHERE {IN_FORCE.format(proposal="p")}) THEN
                {refuse("Another erasure that is open or approved names one of these users.")}
            END IF;
            RETURN NULL;
        """,
    ),
    *append_only(),
]

_EVENT = outbox.insert_entry(
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
             WHERE r.user_id = erased.id AND p.state = 'approved' AND p.ended_at > {_APPROVED_SINCE}
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


class ErasureState(models.TextChoices):
    """The state of a proposed erasure. Open, approved and declined are stored; the others follow from the rows."""

    OPEN = "open", pgettext_lazy("erasure", "Open")
    APPROVED = "approved", pgettext_lazy("erasure", "Approved")
    DECLINED = "declined", pgettext_lazy("erasure", "Declined")
    EXPIRED = "expired", pgettext_lazy("erasure", "Expired")
    DONE = "done", pgettext_lazy("erasure", "Done")


_STORED = (ErasureState.OPEN, ErasureState.APPROVED, ErasureState.DECLINED)


class ErasureProposalQuerySet(models.QuerySet["ErasureProposal"]):
    """Proposed erasures."""

    def with_states(self) -> "ErasureProposalQuerySet":
        """These, each with its `present_state`."""
        left = ProposedErasure.objects.filter(proposal=OuterRef("pk"))
        present: Any = Case(
            When(state=ErasureState.OPEN, created_at__lte=Now() - APPROVED_WITHIN, then=models.Value("expired")),
            When(~Exists(left), state=ErasureState.APPROVED, then=models.Value("done")),
            When(state=ErasureState.APPROVED, ended_at__lte=Now() - CARRIED_OUT_WITHIN, then=models.Value("expired")),
            default=F("state"),
            output_field=models.CharField(),
        )
        states: Mapping[str, Any] = {"present_state": present}
        return self.annotate(**states)


class ErasureProposal(models.Model):
    """What the first of two people proposes: that these users are erased. It ends once, and never changes else.

    Triggers set the times, and blank what people wrote with the erasure of the first of its users.
    """

    # ErasureProposalQuerySet.with_states sets it.
    present_state: str

    id = models.UUIDField(_("id"), primary_key=True, default=uuid.uuid4, editable=False)
    # Null where the users are those of several partners.
    partner = models.ForeignKey(
        Partner, models.PROTECT, verbose_name=_("partner"), related_name="+", null=True, db_index=False
    )
    users = models.PositiveIntegerField(_("users"))
    by = models.ForeignKey(Staff, models.PROTECT, verbose_name=_("by"), related_name="+", db_index=False)
    reason = models.CharField(_("reason"), max_length=ERASURE_REASON_LENGTH, blank=True)
    created_at = models.DateTimeField(_("created at"), db_default=Now(), editable=False)
    state = models.CharField(
        _("state"), max_length=10, choices=ErasureState, db_default=ErasureState.OPEN.value, editable=False
    )
    ended_by = models.ForeignKey(
        Staff, models.PROTECT, verbose_name=_("ended by"), related_name="+", db_index=False, null=True, editable=False
    )
    ended_at = models.DateTimeField(_("ended at"), null=True, editable=False)
    # The person who declined it wrote this.
    note = models.CharField(_("note"), max_length=ERASURE_REASON_LENGTH, blank=True, db_default="", editable=False)
    # Who within 30 days made, re-roled or reset both people.
    common_maker = models.TextField(_("common maker"), blank=True, db_default="", editable=False)

    objects = ErasureProposalQuerySet.as_manager()

    class Meta:
        verbose_name = _("proposed erasure")
        verbose_name_plural = _("proposed erasures")
        default_permissions = ("view",)
        indexes = (models.Index(fields=("created_at", "id"), name="erasure_proposal_by_time"),)
        constraints = (
            models.CheckConstraint(
                condition=Q(state__in=[state.value for state in _STORED]), name="erasure_proposal_state_known"
            ),
            models.CheckConstraint(condition=Q(users__gte=1), name="erasure_proposal_of_somebody"),
        )
        triggers = PROPOSAL_TRIGGERS

    def __str__(self) -> str:
        return str(self.id)

    @property
    def expires_at(self) -> datetime:
        """Until when it waits for the second person or, approved, until when it may be carried out."""
        return self.ended_at + CARRIED_OUT_WITHIN if self.ended_at else self.created_at + APPROVED_WITHIN


class ProposedErasure(models.Model):
    """A user whose erasure is proposed, until it is erased. Never updated."""

    proposal = models.ForeignKey(
        ErasureProposal, models.PROTECT, verbose_name=_("proposed erasure"), related_name="rows", db_index=False
    )
    user = models.ForeignKey(User, models.PROTECT, verbose_name=_("user"), related_name="+")

    class Meta:
        verbose_name = _("user of a proposed erasure")
        verbose_name_plural = _("users of proposed erasures")
        default_permissions = ()
        constraints = (models.UniqueConstraint(fields=("proposal", "user"), name="proposed_erasure_once"),)
        triggers = PROPOSED_TRIGGERS

    def __str__(self) -> str:
        return str(self.user_id)


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
