"""The audit log (core/audit.py)."""

from django.db import models
from django.db.models import Func, Q
from django.db.models.fields.json import KeyTextTransform
from django.utils.translation import gettext_lazy as _

from core.audit import register
from core.database.schema import shape
from core.database.triggers import append_only, refuse, trigger


class ActorKind(models.TextChoices):
    """Who acted. None: the service by itself, or somebody unknown."""

    STAFF = "staff", _("Staff")
    OPERATOR = "operator", _("Operator")
    PARTNER = "partner", _("Partner")


# Only entries that concern a user have it.
EXTERNAL_ID = KeyTextTransform("externalId", "detail")


# How long the lines of what sandbox partners do by themselves are kept (contract, section 11).
SANDBOX_DAYS = 90


# Of `changes`, each is of two values. backoffice/audit.py shows them.
_DETAIL = """
    $.type() == "object" && (!exists($.changes) || $.changes.type() == "object"
        && !exists($.changes.keyvalue() ? (!(@.value.type() == "array" && @.value.size() == 2))))
"""


class AuditEntry(models.Model):
    """An act: who did what to what. Never updated; deleted only where a sandbox partner did it, after SANDBOX_DAYS."""

    # The clock's, as the lines of a transaction have an order.
    at = models.DateTimeField(_("at"), db_default=Func(function="clock_timestamp"), editable=False)
    # A username, an operator's account, or a partner's slug: none of them changes.
    actor = models.CharField(_("who"), max_length=150)
    actor_kind = models.CharField(_("kind"), max_length=10, choices=ActorKind, blank=True)
    action = models.CharField(_("what"), max_length=60)
    object = models.CharField(_("whom"), max_length=200)
    # changes: [before, after] by column; reason, command, operator, key, requestId, address …
    detail = models.JSONField(_("detail"))

    COMMAND_RUN = register("command.run", _("Command run"))
    EXPORTED = register("auditLog.exported", _("Audit log exported"))

    class Meta:
        verbose_name = _("audit log entry")
        verbose_name_plural = _("audit log")
        ordering = ("-at", "-id")
        default_permissions = ("view",)
        constraints = (
            models.CheckConstraint(condition=Q(actor_kind__in=("", *ActorKind.values)), name="audit_actor_kind_known"),
            shape("detail", _DETAIL, name="audit_detail_readable"),
        )
        indexes = (
            models.Index(fields=("at", "id"), name="audit_by_time"),
            models.Index(fields=("actor", "at", "id"), name="audit_of_actor"),
            models.Index(fields=("object", "at", "id"), name="audit_of_object"),
            models.Index(fields=("action", "at", "id"), name="audit_of_action"),
            models.Index(EXTERNAL_ID, "at", "id", name="audit_of_external_id"),
        )
        triggers = (
            # A name of staff always comes with its kind. The apps of partners and staff define the functions.
            trigger(
                "of_somebody",
                "before insert",
                f"""
                    IF (NEW.actor_kind IN ('', 'staff') AND NEW.actor <> '')
                        AND (NEW.actor_kind = 'staff') <> is_staff(NEW.actor)
                        OR NEW.actor_kind = 'partner' AND mode_of_partner(NEW.actor) IS NULL
                        OR NEW.actor_kind <> '' AND NEW.actor = '' THEN
                        {refuse("An act is of an account or a partner that exists.")}
                    END IF;
                """,
            ),
            *append_only(
                deletable=f"""
                    OLD.actor_kind = 'partner' AND OLD.at < now() - interval '{SANDBOX_DAYS} days'
                        AND mode_of_partner(OLD.actor) = 'sandbox'
                """,
                blanked="detail",
            ),
        )

    def __str__(self) -> str:
        return f"{self.action} {self.pk}"
