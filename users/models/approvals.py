"""Decisions of two people: which moves take two, and what the first proposes (docs/operations.md).

Triggers hold it, whatever code writes, by functions of users/sql (users_takes_two, users_is_open) and staff/sql.
"""

import uuid
from datetime import datetime
from typing import Any

import pgtrigger
from django.contrib.postgres.indexes import GinIndex, OpClass
from django.db import models
from django.db.models import Case, F, Func, OuterRef, Q, Subquery, Value, When
from django.db.models.functions import Least, Now
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from core.audit import entry_trigger, register
from core.database.schema import Record
from core.database.triggers import append_only, json_object, trigger
from staff.models import Staff
from users.models.columns import basis_is_readable
from users.models.statuses import Status
from users.models.triggers import staff_entry
from users.models.user import User, UserEvent

_SET = register("approvalRule.set", _("Approval rule set"))

REASON_LENGTH, NOTE_LENGTH = 2000, 500
# Letting through may take two people; stopping takes one.
RULED_MOVES = (
    (Status.PENDING_COMPLIANCE, Status.ACTIVE),
    (Status.SUSPENDED, Status.ACTIVE),
    (Status.REJECTED, Status.PENDING_COMPLIANCE),
)


class Condition(models.TextChoices):
    """The users of whom a move takes two people."""

    NEVER = "never", _("No user")
    ALWAYS = "always", _("Every user")
    CIRO_AFFILIATE = "ciroAffiliate", _("CIRO affiliates")
    COUNTRY_NOT_CANADA = "countryNotCanada", _("Users with an address outside Canada")


class ApprovalRule(Record):
    """A condition under which a move takes two people, from a time on. The owner writes it.

    Those of the newest time hold for a move, side by side; one statement sets them.
    """

    from_status = models.CharField(max_length=20, choices=Status)
    to_status = models.CharField(max_length=20, choices=Status)
    condition = models.CharField(max_length=20, choices=Condition)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
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
        triggers = [
            entry_trigger(
                f"'{_SET}'",
                object="NEW.from_status || ' → ' || NEW.to_status",
                # One line for the conditions that one statement sets.
                where="""NEW.id = (SELECT max(id) FROM users_approvalrule rule
                                    WHERE rule.from_status = NEW.from_status AND rule.to_status = NEW.to_status
                                      AND rule.created_at = NEW.created_at)""",
                detail=json_object({"changes": "users_rule_changes(NEW.from_status, NEW.to_status, NEW.created_at)"}),
            ),
            *append_only(),
        ]


class ProposalState(models.TextChoices):
    """The state of what the first of two people proposed. Open, approved and declined are stored."""

    OPEN = "open", pgettext_lazy("proposal", "Open")
    APPROVED = "approved", pgettext_lazy("proposal", "Approved")
    DECLINED = "declined", pgettext_lazy("proposal", "Declined")
    EXPIRED = "expired", pgettext_lazy("proposal", "Expired")
    OVERTAKEN = "overtaken", pgettext_lazy("proposal", "Overtaken by a change")
    DONE = "done", pgettext_lazy("proposal", "Done")


STORED_STATES = [state.value for state in (ProposalState.OPEN, ProposalState.APPROVED, ProposalState.DECLINED)]


def database_function(name: str, *columns: Any, gives: Any = None) -> Any:
    """The call of a function of the folder `sql`; a condition, where `gives` does not say what else it is."""
    return Func(*columns, function=name, output_field=gives or models.BooleanField())


# Until when it waits for the second person.
EXPIRY = database_function("users_proposal_expiry", "created_at", gives=models.DateTimeField())


def proposal_triggers(permission: str, *, blanked: str) -> list[Any]:
    """A proposal begins open and ends once, by people with this permission. blanked: what an erasure may change."""
    return [
        trigger("begins_open", "before insert", function="users_proposal_begins", arguments=(permission,)),
        trigger("ends_once", "before update", function="users_proposal_ends", arguments=(permission, blanked)),
        *append_only(pgtrigger.Delete),
    ]


class TwoPersonProposal(Record):
    """What the first of two people proposes, with its reason. It ends once, and never changes else (users/sql)."""

    # The managers' `with_states` sets these.
    present_state: str
    expires_at: datetime

    id = models.UUIDField(_("id"), primary_key=True, default=uuid.uuid4, editable=False)
    by = models.ForeignKey(Staff, models.PROTECT, verbose_name=_("by"), related_name="+", db_index=False)
    reason = models.CharField(_("reason"), max_length=REASON_LENGTH)
    created_at = models.DateTimeField(_("created at"), db_default=Now(), editable=False)
    state = models.CharField(
        _("state"), max_length=10, choices=ProposalState, db_default=ProposalState.OPEN.value, editable=False
    )
    ended_by = models.ForeignKey(
        Staff, models.PROTECT, verbose_name=_("ended by"), related_name="+", db_index=False, null=True, editable=False
    )
    ended_at = models.DateTimeField(_("ended at"), null=True, editable=False)
    # The person who declined it wrote this.
    note = models.CharField(_("note"), max_length=NOTE_LENGTH, blank=True, db_default="", editable=False)

    class Meta:
        abstract = True
        constraints = (
            models.CheckConstraint(condition=Q(state__in=STORED_STATES), name="%(class)s_state_known"),
            models.CheckConstraint(
                condition=Q(state="open", ended_at=None, ended_by=None, note="")
                | Q(~Q(state="open"), ended_at__isnull=False),
                name="%(class)s_ended_or_open",
            ),
        )

    @property
    def is_open(self) -> bool:
        """Whether it can be approved or declined. It needs `with_states`."""
        return self.present_state == ProposalState.OPEN

    @property
    def state_label(self) -> str:
        """The present state, for people. It needs `with_states`."""
        return str(ProposalState(self.present_state).label)


_IS_OPEN = database_function("users_is_open", "state", "created_at", "user_updated_at", "user__updated_at")


class ProposalQuerySet(models.QuerySet["Proposal"]):
    """Proposals."""

    def open(self) -> "ProposalQuerySet":
        """Those that can be approved or declined now: users/sql/users_is_open.sql, which the triggers call too."""
        return self.filter(_IS_OPEN)

    def with_states(self) -> Any:
        """These, each with its `present_state`, and when it ended: `present_end`, null while it is open."""
        later = UserEvent.objects.filter(pgh_obj_id=OuterRef("user_id"), updated_at__gt=OuterRef("user_updated_at"))
        found: Any = self
        found = found.annotate(
            expires_at=EXPIRY, overtaken_at=Subquery(later.order_by("pgh_id").values("updated_at")[:1])
        )
        state = Case(
            When(~Q(state="open") | Q(_IS_OPEN), then="state"),
            # What came first ended it.
            When(overtaken_at__lt=F("expires_at"), then=Value("overtaken")),
            default=Value("expired"),
        )
        ended = When(present_state__in=("overtaken", "expired"), then=Least("overtaken_at", "expires_at"))
        return found.annotate(present_state=state).annotate(present_end=Case(ended, default="ended_at"))


class Proposal(TwoPersonProposal):
    """What the first proposes of a user: a move. Triggers set the status from which, and the version of the user."""

    # ProposalQuerySet.with_states sets it.
    present_end: datetime | None

    user = models.ForeignKey(User, models.PROTECT, verbose_name=_("user"), related_name="proposals", db_index=False)
    from_status = models.CharField(_("from"), max_length=20, choices=Status, editable=False)
    to_status = models.CharField(_("to"), max_length=20, choices=Status)
    # users_user.updated_at when it was made: another one since means that the user has changed.
    user_updated_at = models.DateTimeField(_("version of the user"), db_default=Now(), editable=False)
    reason_code = models.CharField(_("reason code"), max_length=50, blank=True, db_default="")
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
        constraints = (*TwoPersonProposal.Meta.constraints, basis_is_readable("proposal_basis_readable"))
        triggers = [
            *proposal_triggers("decide_user", blanked="{basis}"),
            # By their names these come after the first two.
            trigger("of_present", "before insert", function="users_proposal_of_present"),
            trigger(
                "with_decision",
                "before update",
                function="users_proposal_with_decision",
                condition="NEW.state = 'approved'",
            ),
            staff_entry(
                "user.proposed",
                _("Decision proposed"),
                {"changes": "jsonb_build_object('status', jsonb_build_array(NEW.from_status, NEW.to_status))"}
                | {"reason": "NEW.reason", "reasonCode": "nullif(NEW.reason_code, '')", "proposal": "NEW.id"},
            ),
            staff_entry(
                "user.proposalEnded",
                _("Proposal ended"),
                {"state": "NEW.state", "note": "nullif(NEW.note, '')", "proposal": "NEW.id"},
                name="audit_end",
                timing="after update",
                # The decision has a line of its own.
                condition="OLD.state <> NEW.state AND NEW.state <> 'approved'",
                by="ended_by_id",
            ),
        ]
