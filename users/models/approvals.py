"""Decisions of two people: which moves take two, and the proposals of the first (docs/operations.md).

Triggers hold it, whatever code writes. Where a move takes two (users/sql/users_takes_two.sql), a row in StatusChange
needs a proposal of that user and that very move that is open (users_is_open.sql), by another account; both may decide
(staff_may.sql), and are not related (staff_ties.sql). The services call the same functions.
"""

import uuid
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import pgtrigger
from django.contrib.postgres.indexes import GinIndex, OpClass
from django.db import models
from django.db.models import F, Func, OuterRef, Q, Subquery
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from core.audit import entry_trigger, insert_entry, register
from core.database.triggers import FunctionTrigger, PermanentTrigger, append_only, json_object
from staff.models import Staff
from users.models.columns import basis_is_readable, names_of_user
from users.models.statuses import Status
from users.models.triggers import by_active_staff
from users.models.user import User, UserEvent

_SET = register("approvalRule.set", _("Approval rule set"))
_PROPOSED = register("user.proposed", _("Decision proposed"))
_PROPOSAL_ENDED = register("user.proposalEnded", _("Proposal ended"))

RULE_TRIGGERS = [
    entry_trigger(
        f"'{_SET}'",
        object="NEW.from_status || ' → ' || NEW.to_status",
        # One line for the conditions that one statement sets.
        where="""NEW.id = (SELECT max(id) FROM users_approvalrule rule
                            WHERE rule.from_status = NEW.from_status AND rule.to_status = NEW.to_status
                              AND rule.created_at = NEW.created_at)""",
        detail=json_object({"changes": "users_rule_changes(NEW.from_status, NEW.to_status, NEW.created_at)"}),
    ),
]

PROPOSAL_TRIGGERS = [
    FunctionTrigger(
        name="of_present",
        when=pgtrigger.Before,
        operation=pgtrigger.Insert,
        function="users_proposal_of_present",
    ),
    FunctionTrigger(
        name="ends_once",
        when=pgtrigger.Before,
        operation=pgtrigger.Update,
        function="users_proposal_ends_once",
    ),
    entry_trigger(
        f"'{_PROPOSED}'",
        object="NEW.user_id::text",
        detail=json_object(
            {"changes": "jsonb_build_object('status', jsonb_build_array(NEW.from_status, NEW.to_status))"}
            | {"reason": "NEW.reason", "reasonCode": "nullif(NEW.reason_code, '')", "proposal": "NEW.id"}
        ),
        further=names_of_user("NEW.user_id"),
        actor="(SELECT username FROM staff_staff WHERE id = NEW.by_id)",
    ),
    PermanentTrigger(
        name="audit_end",
        when=pgtrigger.After,
        operation=pgtrigger.Update,
        # The decision has a line of its own.
        condition=pgtrigger.Condition("OLD.state <> NEW.state AND NEW.state <> 'approved'"),
        func=insert_entry(
            f"'{_PROPOSAL_ENDED}'",
            object="NEW.user_id::text",
            detail=json_object({"state": "NEW.state", "note": "nullif(NEW.note, '')", "proposal": "NEW.id"}),
            actor="(SELECT username FROM staff_staff WHERE id = NEW.ended_by_id)",
            further=names_of_user("NEW.user_id"),
        )
        + "; RETURN NULL;",
    ),
    *append_only(pgtrigger.Delete),
]


class Condition(models.TextChoices):
    """The users of whom a move takes two people."""

    NEVER = "never", _("No user")
    ALWAYS = "always", _("Every user")
    CIRO_AFFILIATE = "ciroAffiliate", _("CIRO affiliates")
    COUNTRY_NOT_CANADA = "countryNotCanada", _("Users with an address outside Canada")


# Letting through may take two people; stopping takes one.
RULED_MOVES = (
    (Status.PENDING_COMPLIANCE, Status.ACTIVE),
    (Status.SUSPENDED, Status.ACTIVE),
    (Status.REJECTED, Status.PENDING_COMPLIANCE),
)


class ApprovalRule(models.Model):
    """A condition under which a move takes two people, from a time on. The owner writes it.

    A change is new rows, of one statement. Of a move, those hold that have the time of the newest row: any of their
    conditions asks for two people.
    """

    from_status = models.CharField(_("from"), max_length=20, choices=Status)
    to_status = models.CharField(_("to"), max_length=20, choices=Status)
    condition = models.CharField(_("condition"), max_length=20, choices=Condition)
    created_at = models.DateTimeField(_("created at"), db_default=Now(), editable=False)

    class Meta:
        verbose_name = _("approval rule")
        verbose_name_plural = _("approval rules")
        default_permissions = ("view",)
        indexes = (
            models.Index(
                fields=("from_status", "to_status", "id"), include=("condition",), name="approval_rule_of_move"
            ),
        )
        constraints = (
            models.CheckConstraint(condition=Q(condition__in=Condition.values), name="approval_rule_condition_known"),
            models.CheckConstraint(
                condition=Q(*(Q(from_status=start, to_status=end) for start, end in RULED_MOVES), _connector=Q.OR),
                name="approval_rule_of_move_that_lets_through",
            ),
        )
        triggers = [*RULE_TRIGGERS, *append_only()]

    def __str__(self) -> str:
        return f"{self.from_status} → {self.to_status}: {self.condition}"


class ProposalState(models.TextChoices):
    """Open, or how a proposal ended."""

    OPEN = "open", pgettext_lazy("proposal", "Open")
    APPROVED = "approved", pgettext_lazy("proposal", "Approved")
    DECLINED = "declined", pgettext_lazy("proposal", "Declined")
    EXPIRED = "expired", pgettext_lazy("proposal", "Expired")
    OVERTAKEN = "overtaken", pgettext_lazy("proposal", "Overtaken by a change")


_IS_OPEN: Any = Func(
    *("state", "created_at", "user_updated_at", "user__updated_at"),
    function="users_is_open",
    output_field=models.BooleanField(),
)


class ProposalQuerySet(models.QuerySet["Proposal"]):
    """Proposals."""

    def open(self) -> "ProposalQuerySet":
        """Those that can be approved or declined now: users/sql/users_is_open.sql, which the triggers call too."""
        return self.filter(_IS_OPEN)

    def with_ends(self) -> "ProposalQuerySet":
        """These, each with what `present_state` and `present_end` need."""
        later = UserEvent.objects.filter(pgh_obj_id=OuterRef("user_id"), updated_at__gt=OuterRef("user_updated_at"))
        ends: Mapping[str, Any] = {
            "is_open": _IS_OPEN,
            "expires_at": Func("created_at", function="users_proposal_expiry", output_field=models.DateTimeField()),
            "overtaken_at": Subquery(later.order_by("pgh_id").values("updated_at")[:1]),
        }
        return self.annotate(**ends)


class Proposal(models.Model):
    """What the first of two people proposes: a move of a user, with its reason. It ends once, and never changes else.

    Triggers set the status from which, the version of the user and the times. One that has expired or was overtaken
    may be stored as open until the next proposal: `present_state` says what it is.
    """

    # ProposalQuerySet.with_ends sets these.
    is_open: bool
    expires_at: datetime
    overtaken_at: datetime | None

    id = models.UUIDField(_("id"), primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey(User, models.PROTECT, verbose_name=_("user"), related_name="proposals", db_index=False)
    from_status = models.CharField(_("from"), max_length=20, choices=Status, editable=False)
    to_status = models.CharField(_("to"), max_length=20, choices=Status)
    # users_user.updated_at when it was made: another one since means that the user has changed.
    user_updated_at = models.DateTimeField(_("version of the user"), db_default=Now(), editable=False)
    by = models.ForeignKey(Staff, models.PROTECT, verbose_name=_("by"), related_name="+", db_index=False)
    reason = models.CharField(_("reason"), max_length=2000)
    reason_code = models.CharField(_("reason code"), max_length=50, blank=True, db_default="")
    created_at = models.DateTimeField(_("created at"), db_default=Now(), editable=False)
    state = models.CharField(
        _("state"), max_length=10, choices=ProposalState, db_default=ProposalState.OPEN.value, editable=False
    )
    ended_by = models.ForeignKey(
        Staff, models.PROTECT, verbose_name=_("ended by"), related_name="+", db_index=False, null=True, editable=False
    )
    ended_at = models.DateTimeField(_("ended at"), null=True, editable=False)
    # The person who declined it wrote this.
    note = models.CharField(_("note"), max_length=500, blank=True, db_default="", editable=False)
    # What the person saw who proposed it (users/decisions/decision_basis.py).
    basis = models.JSONField(_("basis"), null=True, editable=False)

    objects = ProposalQuerySet.as_manager()

    class Meta:
        verbose_name = _("proposal")
        verbose_name_plural = _("proposals")
        default_permissions = ("view",)
        indexes = (
            models.Index(fields=("user", "created_at"), name="proposal_of_user"),
            # The queue of the second person: longest first.
            models.Index(fields=("created_at", "id"), condition=Q(state="open"), name="proposal_open"),
            GinIndex(OpClass(F("basis__riskFlags"), "jsonb_path_ops"), name="proposal_risk_flags"),
        )
        constraints = (
            models.UniqueConstraint(fields=("user",), condition=Q(state="open"), name="proposal_one_open"),
            models.CheckConstraint(condition=Q(state__in=ProposalState.values), name="proposal_state_known"),
            models.CheckConstraint(condition=Q(reason__regex=r"\S"), name="proposal_reason_given"),
            models.CheckConstraint(
                condition=Q(state="open", ended_at=None, ended_by=None) | Q(~Q(state="open"), ended_at__isnull=False),
                name="proposal_ended_or_open",
            ),
            basis_is_readable("proposal_basis_readable"),
        )
        triggers = [by_active_staff("by_id"), *PROPOSAL_TRIGGERS]

    def __str__(self) -> str:
        return str(self.id)

    @property
    def present_state(self) -> ProposalState:
        """The state, of one also that has ended without being stored so. It needs `with_ends`."""
        if self.state != ProposalState.OPEN:
            return ProposalState(self.state)
        if self.is_open:
            return ProposalState.OPEN
        # What came first ended it.
        is_overtaken = self.overtaken_at is not None and self.overtaken_at < self.expires_at
        return ProposalState.OVERTAKEN if is_overtaken else ProposalState.EXPIRED

    @property
    def present_end(self) -> datetime | None:
        """When it ended; None while it is open. It needs `with_ends`."""
        ends = {ProposalState.OVERTAKEN: self.overtaken_at, ProposalState.EXPIRED: self.expires_at}
        return self.ended_at or ends.get(self.present_state)
