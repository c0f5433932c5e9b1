"""Proposed erasures: what the first of two people proposes and the second approves (users/models/erasures.py)."""

import uuid
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

import pgtrigger
from django.db import models
from django.db.models import Case, Exists, F, OuterRef, Q, When
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from core.audit import entry_trigger, insert_entry, register
from core.database.triggers import IS_ERASING, PermanentTrigger, append_only, json_object, refuse
from partners.models import Partner
from staff.models import Staff
from users.models.user import User

ERASURE_REASON_LENGTH = 500
# How long a proposal waits for the second person, and how long an approved one may be carried out.
APPROVED_WITHIN = timedelta(hours=72)
CARRIED_OUT_WITHIN = timedelta(days=30)

_OPEN_SINCE = "clock_timestamp() - interval '72 hours'"
APPROVED_SINCE = "clock_timestamp() - interval '30 days'"
# SQL of whether a proposal, by its alias, is open or approved, and has not expired.
IN_FORCE = f"""({{proposal}}.state = 'open' AND {{proposal}}.created_at > {_OPEN_SINCE}
        OR {{proposal}}.state = 'approved' AND {{proposal}}.ended_at > {APPROVED_SINCE})"""

_PROPOSED = register("erasure.proposed", _("Erasure proposed"))
_APPROVED = register("erasure.approved", _("Erasure approved"))
_DECLINED = register("erasure.declined", _("Erasure declined"))

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
