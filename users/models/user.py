"""Partners' users with their history and decisions, and the staff who decide."""

import uuid
from typing import Any

import pghistory
import pgtrigger
from django.contrib.postgres.indexes import GinIndex, OpClass
from django.contrib.postgres.search import SearchVectorField
from django.db import models
from django.db.models import F, Func, Q, Value
from django.db.models.functions import Length, Lower, Now
from django.utils.text import capfirst
from django.utils.translation import gettext_lazy as _
from django.utils.translation import gettext_noop

from core.database.schema import Record, context_shape, json_text, newest_of_each_mode, wire_time
from core.database.triggers import append_only, recorded
from core.json_rules import has_visible_character
from partners.models import Partner
from staff.models import Staff
from users.models.columns import FOLDED_COLUMNS, basis_is_readable
from users.models.statuses import ENDED_STATUSES, Status
from users.models.triggers import STATUS_CHANGE_TRIGGERS, USER_TRIGGERS

models.CharField.register_lookup(Length)

# The letters of ASCII, which are the same in every locale. Django's Collate may not be inside of an index's expression.
ASCII = '%(function)s(%(expressions)s COLLATE "C")'
EXTERNAL_ID_IN_LOWER_CASE = Lower("external_id", template=ASCII)
# The users whose partner has to answer, and those whose partner has answered all that was asked.
ASKED = Q(open_requirements__gt=0)
ANSWERED = Q(open_requirements=0, answered_requirements__gt=0)
_REQUIREMENT_COLUMNS = (
    *("open_requirements", "answered_requirements", "requirements_due_at", "answered_at", "waiting_since"),
)
# What follows the @, in lower case: the contract allows one @.
EMAIL_DOMAIN = Func(Lower("email"), Value("@"), Value(2), function="SPLIT_PART", output_field=models.TextField())


def _full_name(row: Any, user_id: uuid.UUID) -> str:
    """The first and the last name, for people; where nothing of it is visible, what else names the user."""
    names = (f"{row.first_name} {row.last_name}", row.external_id)
    return next(filter(has_visible_character, names), str(user_id))


class User(Record):  # type: ignore[django-manager-missing]  # pghistory makes UserEvent's at run time
    """A person registered by a partner: contract, section 2."""

    id = models.UUIDField(_("id"), primary_key=True, default=uuid.uuid4, editable=False)
    partner = models.ForeignKey(
        Partner, models.PROTECT, verbose_name=_("partner"), related_name="users", db_index=False
    )
    external_id = models.CharField(_("external ID"), max_length=128)
    email = models.CharField(_("email"), max_length=254)
    first_name = models.CharField(_("first name"), max_length=100)
    last_name = models.CharField(_("last name"), max_length=100)
    date_of_birth = models.DateField(_("date of birth"))
    address_line1 = models.CharField(_("address"), max_length=200)
    address_line2 = models.CharField(_("address, line 2"), max_length=200, blank=True, db_default="")
    city = models.CharField(_("city"), max_length=100)
    postal_code = models.CharField(_("postal code"), max_length=16, blank=True, db_default="")
    province = models.CharField(_("province"), max_length=100, blank=True, db_default="")
    country = models.CharField(_("country"), max_length=2)
    occupation = models.CharField(_("occupation"), max_length=100)
    is_ciro_affiliate = models.BooleanField(_("CIRO affiliate"))
    # Both are made from first and last name, and written with them (users/profile/names.py); null equals no other.
    name_key = models.TextField(_("folded name"), null=True, editable=False)  # noqa: DJ001
    name_words = SearchVectorField(_("words of the name"), null=True, editable=False)
    status = models.CharField(_("status"), max_length=20, choices=Status, db_default=Status.PENDING_COMPLIANCE.value)
    # Triggers set the next four.
    # The code of the decision that led to the status.
    status_reason_code = models.CharField(_("reason code"), max_length=50, blank=True, db_default="", editable=False)
    status_since = models.DateTimeField(_("status since"), db_default=Now(), editable=False)
    profile_changed_at = models.DateTimeField(_("profile changed at"), null=True, editable=False)
    # Set where name or birth date change while the user is active; null again after a decision.
    identity_changed_at = models.DateTimeField(_("identity changed at"), null=True, editable=False)
    # The partner's mode, set by a trigger: here too for the indexes of the lists of staff.
    is_sandbox = models.BooleanField(_("sandbox"), db_default=False, editable=False)
    created_at = models.DateTimeField(_("created at"), db_default=Now(), editable=False)
    updated_at = models.DateTimeField(_("updated at"), db_default=Now(), editable=False)
    # What the lists and the API read without a join, of the requirements that are not closed; triggers keep it
    # (users/models/requirements.py).
    open_requirements = models.SmallIntegerField(_("open requirements"), db_default=0, editable=False)
    answered_requirements = models.SmallIntegerField(_("answered requirements"), db_default=0, editable=False)
    # The earliest of the open ones.
    requirements_due_at = models.DateTimeField(_("due"), null=True, editable=False)
    # The latest response of the partner, to a closed one too.
    answered_at = models.DateTimeField(_("answered at"), null=True, editable=False)
    # When the case began to wait for compliance: created or reopened, or answered by the partner. Null while it waits
    # for the partner, or for nobody.
    waiting_since = models.DateTimeField(_("waiting since"), db_default=Now(), null=True, editable=False)

    # The item of GET /v1/users (contract, section 12).
    wire = json_text(
        '{"userId":"%s","externalId":%s,"status":"%s","createdAt":"%s","updatedAt":"%s","openRequirements":%s}',
        *("id", "to_json(external_id)", "status"),
        *(wire_time("created_at"), wire_time("updated_at"), "open_requirements"),
    )

    class Meta:
        verbose_name = _("user")
        verbose_name_plural = _("users")
        constraints = (
            models.UniqueConstraint(fields=("partner", "external_id"), name="user_partner_external_id"),
            # A conversion's foreign key refers to all three, so that its partner and mode are its user's.
            models.UniqueConstraint(fields=("id", "partner", "is_sandbox"), name="user_id_partner_mode"),
            models.CheckConstraint(condition=Q(status__in=Status.values), name="user_status_known"),
            models.CheckConstraint(condition=Q(external_id__length__gte=1), name="user_external_id_given"),
            # PostgreSQL has dates that Python cannot read: 'infinity', and those after the year 9999.
            models.CheckConstraint(
                condition=Q(date_of_birth__gte="1900-01-01", date_of_birth__lte="9999-12-31"),
                name="user_date_of_birth_plausible",
            ),
            models.CheckConstraint(condition=Q(country__regex=r"^[A-Z]{2}$"), name="user_country_code"),
        )
        indexes = (
            # GET /v1/users, without a status and with one; the export of users.
            models.Index(fields=("partner", "created_at", "id"), name="user_of_partner"),
            models.Index(fields=("partner", "status", "created_at", "id"), name="user_of_partner_status"),
            models.Index(fields=("is_sandbox", "status", "status_since", "id"), name="user_by_status"),
            # The queue, the longest waiting first.
            models.Index(
                fields=("is_sandbox", "status", "waiting_since", "id"),
                condition=Q(waiting_since__isnull=False),
                name="user_waiting",
            ),
            # Those whose partner has answered, or has to, in any status.
            models.Index(fields=("is_sandbox", "waiting_since", "id"), condition=ANSWERED, name="user_answered"),
            models.Index(
                fields=("is_sandbox", "requirements_due_at", "id"), condition=ASKED, name="user_waiting_for_partner"
            ),
            models.Index(
                fields=("is_sandbox", "identity_changed_at", "id"),
                condition=Q(status="active", identity_changed_at__isnull=False),
                name="user_identity_changed",
            ),
            # Those whose retention has run out, or will (users/retention.py).
            models.Index(
                fields=("status_since", "id"),
                condition=Q(is_sandbox=False, status__in=ENDED_STATUSES),
                name="user_retention",
            ),
            # Search and risk flags. Prefixes need the pattern operators: a plain index serves LIKE only in locale C.
            models.Index(F("is_sandbox"), OpClass(Lower("email"), "text_pattern_ops"), name="user_email_prefix"),
            models.Index(F("is_sandbox"), OpClass(EMAIL_DOMAIN, "text_pattern_ops"), name="user_email_domain"),
            models.Index(
                F("is_sandbox"),
                OpClass(EXTERNAL_ID_IN_LOWER_CASE, "text_pattern_ops"),
                name="user_external_id_any_case",
            ),
            # Who has the birth date, and of these who has the name.
            models.Index(fields=("is_sandbox", "date_of_birth", "name_key"), name="user_birth_and_name"),
            # GIN has no column of booleans.
            GinIndex(fields=("name_words",), condition=Q(is_sandbox=False), name="user_folded_words"),
            GinIndex(fields=("name_words",), condition=Q(is_sandbox=True), name="user_folded_words_sandbox"),
        )
        permissions = (
            ("view_identity", gettext_noop("Can see birth dates and addresses")),
            ("claim_user", gettext_noop("Can claim cases")),
            ("decide_user", gettext_noop("Can move a user's status")),
            ("export_user", gettext_noop("Can export users")),
        )
        triggers = USER_TRIGGERS

    @property
    def full_name(self) -> str:
        """The first and the last name; never without a visible character."""
        return _full_name(self, self.pk)

    @property
    def is_answered(self) -> bool:
        """Whether the partner has answered all that was asked, and compliance has not closed it: ANSWERED."""
        return self.answered_requirements > 0 and not self.open_requirements


class UserEvent(
    pghistory.create_event_model(  # type: ignore[misc]
        User,
        *recorded("insert"),
        # Each change of profile or status moves it. What triggers keep of requirements has rows of its own.
        *recorded("update", condition=pgtrigger.Condition("OLD.updated_at IS DISTINCT FROM NEW.updated_at")),
        exclude=[*_REQUIREMENT_COLUMNS, *FOLDED_COLUMNS, "status_reason_code", "identity_changed_at"],
        context_field=pghistory.ContextJSONField(),
        context_id_field=None,
        append_only=False,  # our triggers do it, which cannot be disabled as pghistory's can
        obj_field=pghistory.ObjForeignKey(related_name="events", related_query_name="events", db_index=False),
        model_name="UserEvent",
        meta={
            "verbose_name": _("profile change"),
            "verbose_name_plural": _("profile history"),
            "triggers": append_only(),
            "indexes": [
                models.Index(fields=("pgh_obj", "pgh_id"), name="userevent_of_user"),
                # Conditions of decisions of two people (users/sql/users_meets.sql).
                models.Index(
                    fields=("pgh_obj", "status_since"), condition=Q(is_ciro_affiliate=True), name="userevent_affiliate"
                ),
                models.Index(fields=("pgh_obj", "status_since"), condition=~Q(country="CA"), name="userevent_abroad"),
                *newest_of_each_mode("userevent", "pgh_id"),
            ],
            "constraints": [context_shape("pgh_context", name="userevent_context_readable")],
        },
    )
):
    """A user after one change, with the context of the change."""

    # pghistory's own is a 32-bit integer.
    pgh_id = models.BigAutoField(primary_key=True)
    # No query needs pghistory's index.
    partner = models.ForeignKey(
        Partner, models.DO_NOTHING, verbose_name=_("partner"), related_name="+", db_constraint=False, db_index=False
    )

    def __str__(self) -> str:
        return f"{capfirst(self.change)} {self.pgh_id}"

    @property
    def full_name(self) -> str:
        """The name that the change left the user; never without a visible character."""
        return _full_name(self, self.pgh_obj_id)

    @property
    def change(self) -> Any:
        """Whether the row was created or changed."""
        return _("created") if self.pgh_label == "insert" else _("changed")


class StatusChange(models.Model):
    """A move of a user's status. Its insert updates the user; it is never updated or deleted."""

    user = models.ForeignKey(
        User, models.PROTECT, verbose_name=_("user"), related_name="status_changes", db_index=False
    )
    from_status = models.CharField(_("from"), max_length=20, choices=Status)
    to_status = models.CharField(_("to"), max_length=20, choices=Status)
    by = models.ForeignKey(Staff, models.PROTECT, verbose_name=_("by"), related_name="+", db_index=False)
    reason_code = models.CharField(_("reason code"), max_length=50, blank=True, db_default="")
    reason = models.CharField(_("reason"), max_length=2000)
    # Where the move takes two people, it is what the first proposed and `by` approved.
    proposal = models.ForeignKey(
        "users.Proposal",
        models.PROTECT,
        verbose_name=_("proposal"),
        related_name="decisions",
        db_index=False,
        null=True,
        editable=False,
    )
    # Who made, re-roled or reset the accounts of both people within 30 days, by name; a trigger sets it.
    common_maker = models.TextField(_("maker of both accounts"), blank=True, db_default="", editable=False)
    # What the case showed to `by` (users/decisions/decision_basis.py); null of a simulated decision.
    basis = models.JSONField(_("basis"), null=True, editable=False)
    # Triggers set what is the user's: since when the case waited for compliance, the partner and the mode.
    waiting_since = models.DateTimeField(_("waited since"), null=True, editable=False)
    partner = models.ForeignKey(
        Partner,
        models.PROTECT,
        verbose_name=_("partner"),
        related_name="+",
        db_index=False,
        db_constraint=False,
        null=True,
        editable=False,
    )
    is_sandbox = models.BooleanField(_("sandbox"), db_default=False, editable=False)
    created_at = models.DateTimeField(_("created at"), db_default=Now(), editable=False)

    class Meta:
        verbose_name = _("decision")
        verbose_name_plural = _("decisions")
        ordering = ("created_at", "id")
        indexes = (
            models.Index(fields=("user", "created_at", "id"), name="status_change_of_user"),
            # An index-only scan for the landing page.
            models.Index(
                fields=("is_sandbox", "created_at"),
                include=("from_status", "to_status", "waiting_since"),
                name="status_change_by_day",
            ),
            *newest_of_each_mode("status_change", "created_at", "id"),
            # The filter of decisions by flag; whose flags name a user who is erased (transactions/sql/erase.sql).
            GinIndex(OpClass(F("basis__riskFlags"), "jsonb_path_ops"), name="status_change_risk_flags"),
        )
        constraints = (
            models.UniqueConstraint(
                fields=("proposal",), condition=Q(proposal__isnull=False), name="status_change_of_proposal"
            ),
            models.CheckConstraint(condition=Q(from_status__in=Status.values), name="status_change_from_known"),
            models.CheckConstraint(condition=Q(to_status__in=Status.values), name="status_change_to_known"),
            models.CheckConstraint(condition=Q(reason__regex=r"\S"), name="status_change_reason_given"),
            basis_is_readable("status_change_basis_readable"),
        )
        triggers = STATUS_CHANGE_TRIGGERS

    def __str__(self) -> str:
        return f"{Status(self.from_status).label} → {Status(self.to_status).label}"
