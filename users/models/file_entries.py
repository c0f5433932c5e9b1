"""The file of a user: what compliance keeps on a person besides its decisions (docs/operations.md), in one table.

Its rows never change. One may end another of its kind: it resolves a match, or is the outcome of a request.
"""

import uuid
from typing import Any

import pgtrigger
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from core.audit import entry_trigger, register
from core.database.schema import Record, context_shape, json_text, shape, wire_time
from core.database.triggers import append_only, json_object, refuse, trigger
from staff.models import Staff
from users.models.triggers import by_active_staff, staff_entry
from users.models.user import User

_RULE_SET = register("identityRule.set", _("Identity rule set"))

# A partner adds no further record of how an identity was verified to so many (contract, section 15).
MAX_VERIFICATIONS = 20


class FileKind(models.TextChoices):
    """The kinds of entries."""

    IDENTITY_VERIFICATION = "identityVerification", _("Identity verification")
    SCREENING = "screening", _("Screening")
    RISK_RATING = "riskRating", _("Risk rating")
    PERSON_REQUEST = "personRequest", _("Request of the person")


# The fields that each entry of a kind has; and each that ends another.
_FIELDS = {
    FileKind.IDENTITY_VERIFICATION: ["method", "verifiedOn"],
    FileKind.SCREENING: ["list", "listDate", "result"],
    FileKind.RISK_RATING: ["rating", "reason"],
    FileKind.PERSON_REQUEST: ["request", "receivedOn", "identityCheck"],
}
_FIELDS_OF_ENDS = {FileKind.SCREENING: ["resolution", "note"], FileKind.PERSON_REQUEST: ["outcome", "closedOn"]}
_OF_KIND = Q(
    *(Q(kind=kind, ends=None, fields__has_keys=names) for kind, names in _FIELDS.items()),
    *(Q(kind=kind, ends__isnull=False, fields__has_keys=names) for kind, names in _FIELDS_OF_ENDS.items()),
    _connector=Q.OR,
)
# Texts by name, and the two sources of a verification. The API writes method and verifiedOn as they are.
_SHAPE = """
    $.type() == "object"
    && !exists($.keyvalue() ? (@.value.type() != "string" && !(@.key == "sources" && @.value.type() == "array")))
    && !exists($.sources[*].type() ? (@ != "object"))
    && !exists($.sources[*].keyvalue() ? (@.value.type() != "string"))
    && !exists($.method ? (!(@ like_regex "^[A-Za-z]{1,30}$")))
    && !exists($.verifiedOn ? (!(@ like_regex "^[0-9]{4}-[0-9]{2}-[0-9]{2}$")))
"""

# What a line of the audit log has of the fields: no numbers, references, or texts of people.
_TOLD = ("method", "list", "result", "resolution", "rating", "request")

ENTRY_TRIGGERS = [
    by_active_staff("by_id", optional=True),
    trigger("of_present", "before insert", function="users_file_entry_of_present", arguments=(MAX_VERIFICATIONS,)),
    trigger(
        "ends_others",
        "after insert",
        """
            UPDATE users_fileentry SET is_open = false
             WHERE user_id = NEW.user_id AND kind = NEW.kind AND is_open
               AND CASE WHEN NEW.kind = 'riskRating' THEN created_at < NEW.created_at ELSE id = NEW.ends_id END;
        """,
        condition="NEW.ends_id IS NOT NULL OR NEW.kind = 'riskRating'",
    ),
    staff_entry(
        "fileEntry.recorded",
        _("Entry in the file of a user"),
        {"entry": "NEW.id", "kind": "NEW.kind", "ends": "NEW.ends_id"}
        | {name: f"NEW.fields -> '{name}'" for name in _TOLD},
    ),
    # An entry is ended by another alone (ends_others). The owner may re-encrypt (config/grants.sql).
    trigger(
        "no_update",
        "before update",
        f"""
            IF NOT (
                to_jsonb(OLD) - 'encrypted' = to_jsonb(NEW) - 'encrypted'
                   AND (OLD.encrypted = '') = (NEW.encrypted = '')
                OR pg_trigger_depth() > 1 AND OLD.is_open AND NOT NEW.is_open
                   AND to_jsonb(OLD) - 'is_open' = to_jsonb(NEW) - 'is_open') THEN
                {refuse("This table refuses it: its rows are kept for good.")}
            END IF;
        """,
    ),
    *append_only(pgtrigger.Delete),
]


class FileEntry(Record):
    """An entry in the file of a user. Triggers set the mode, the times, the context, and whether it is open."""

    id = models.UUIDField(_("id"), primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey(User, models.PROTECT, verbose_name=_("user"), related_name="file_entries", db_index=False)
    is_sandbox = models.BooleanField(_("sandbox"), db_default=False, editable=False)
    kind = models.CharField(_("kind"), max_length=30, choices=FileKind)
    # The newest entry of a kind and topic counts. A screening's are list and reference.
    topic = models.CharField(max_length=201, blank=True, db_default="", editable=False)
    fields = models.JSONField(_("fields"))
    # The fields that nobody reads without a line in the access log, as JSON: users/file/entries.py.
    encrypted = models.TextField(blank=True, db_default="", editable=False)
    # When it is due: the review of a rating, the answer to a request, the end of an identity document.
    due_on = models.DateField(_("due"), null=True)
    ends = models.ForeignKey(
        "self", models.PROTECT, verbose_name=_("ends"), related_name="ended_by", db_index=False, null=True
    )
    # Whether it needs somebody, now or when it is due: a match, a rating, a request.
    is_open = models.BooleanField(_("open"), db_default=False, editable=False)
    # Staff; otherwise the context says whether a partner or the operator of a command wrote it.
    by = models.ForeignKey(Staff, models.PROTECT, verbose_name=_("by"), related_name="+", db_index=False, null=True)
    context = models.JSONField(_("context"), null=True, editable=False)
    # The profile as it was: the user's newest UserEvent.
    profile_event = models.BigIntegerField(null=True, editable=False)
    created_at = models.DateTimeField(_("created at"), db_default=Now(), editable=False)

    # The item of GET /v1/users/{externalId}/verifications (contract, section 15).
    wire = json_text(
        '{"verificationId":"%s","createdAt":"%s","method":"%s","verifiedOn":"%s","expiresOn":%s}',
        *("entry.id", wire_time("entry.created_at"), "(entry.fields ->> 'method')", "(entry.fields ->> 'verifiedOn')"),
        "coalesce(to_json(entry.due_on)::text, 'null')",
    )

    class Meta:
        verbose_name = _("entry in the file")
        verbose_name_plural = _("file")
        default_permissions = ("view",)
        indexes = (
            # The newest of a kind and topic, and all of a user.
            models.Index(fields=("user", "kind", "topic", "created_at"), name="file_entry_of_user"),
            # The lists of what needs somebody, the soonest or the longest first.
            models.Index(
                fields=("is_sandbox", "kind", "due_on", "created_at", "id"),
                condition=Q(is_open=True),
                name="file_entry_open",
            ),
            # Whose records a request keeps, and who has the risk flag of a match.
            models.Index(fields=("kind", "user"), condition=Q(is_open=True), name="file_entry_open_of_user"),
        )
        constraints = (
            models.UniqueConstraint(fields=("ends",), condition=Q(ends__isnull=False), name="file_entry_ends_once"),
            models.CheckConstraint(condition=_OF_KIND, name="file_entry_fields_of_kind"),
            shape("fields", _SHAPE, name="file_entry_fields_readable"),
            context_shape("context", name="file_entry_context_readable"),
            # Python reads no date after the year 9999.
            models.CheckConstraint(
                condition=Q(due_on=None) | Q(due_on__range=("1900-01-01", "9999-12-31")),
                name="file_entry_due_plausible",
            ),
        )
        triggers = ENTRY_TRIGGERS

    @property
    def author(self) -> str:
        """Who wrote it: the account's name, the operator of a command, or the partner's slug."""
        context: dict[str, Any] = self.context or {}
        return self.by.get_username() if self.by else context.get("operator") or context.get("partner") or ""


class IdentityRule(Record):
    """Whether a user becomes active only with a record of its identity; the newest row counts. The owner writes it.

    time_zone: COMPLIANCE_TIME_ZONE, in which a document ends.
    """

    is_on = models.BooleanField()
    time_zone = models.CharField(max_length=100)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        default_permissions = ()
        triggers = [
            entry_trigger(
                f"'{_RULE_SET}'",
                object="''",
                detail=json_object({"rule": "CASE WHEN NEW.is_on THEN 'on' ELSE 'off' END"}),
            ),
            *append_only(),
        ]
