"""Webhook endpoints, their secrets, and deliveries (contract, section 10)."""

import uuid
from urllib.parse import urlsplit

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from core.audit import tracked
from core.database.schema import shape
from events.models.feed import Event, EventType
from partners.models import Partner

MAX_URL_LENGTH = 500

# Whether events are sent to an endpoint: active, and its partner enabled. The statement names the table endpoint.
RECEIVES_EVENTS = """
    (endpoint.disabled_reason = '' AND endpoint.removed_at IS NULL
     AND (SELECT enabled FROM partners_partner WHERE id = endpoint.partner_id))
"""


class DisabledReason(models.TextChoices):
    """Why an endpoint is disabled, as in `list_webhooks --json`."""

    STAFF = "staff", _("By staff")
    GONE = "gone", _("It responded with 410 Gone")
    FAILING = "failing", _("It failed for 5 days")


@tracked(
    *("partner", "url", "types", "description", "disabled_reason", "removed_at"),
    action="webhook",
    labels=(_("Webhook added"), _("Webhook changed")),
    object="NEW.pgh_obj_id::text",
    detail={"partner": "(SELECT slug FROM partners_partner WHERE id = NEW.partner_id)"},
    # The path may be confidential.
    hidden=("url",),
    goes_with_row=True,
)
class WebhookEndpoint(models.Model):
    """A URL of a partner that events are sent to (events/webhooks/endpoints.py)."""

    id = models.UUIDField("webhookId", primary_key=True, default=uuid.uuid4, editable=False)
    partner = models.ForeignKey(
        Partner, models.PROTECT, verbose_name=_("partner"), related_name="webhooks", db_index=False
    )
    url = models.CharField("URL", max_length=MAX_URL_LENGTH)
    types = ArrayField(
        models.CharField(max_length=40, choices=EventType),
        verbose_name=_("types"),
        default=list,
        blank=True,
        help_text=_("Without any: all."),
    )
    description = models.CharField(_("description"), max_length=200, blank=True)
    created_at = models.DateTimeField(_("created at"), db_default=Now(), editable=False)
    disabled_reason = models.CharField(
        _("disabled reason"), max_length=10, choices=DisabledReason, blank=True, editable=False
    )
    disabled_at = models.DateTimeField(_("disabled at"), null=True, editable=False)
    last_success_at = models.DateTimeField(_("last success"), null=True, editable=False)
    # The first failure after the last success.
    failing_since = models.DateTimeField(_("failing since"), null=True, editable=False)
    # The first days of failures since then, in UTC: as many as disabling needs (events/webhooks/results.py).
    failing_days = ArrayField(models.DateField(), db_default=[], default=list, editable=False)
    removed_at = models.DateTimeField(_("removed at"), null=True, editable=False)

    class Meta:
        verbose_name = _("webhook")
        verbose_name_plural = _("webhooks")
        ordering = ("created_at", "id")
        constraints = (
            models.CheckConstraint(
                condition=Q(disabled_reason__in=("", *DisabledReason.values)), name="webhook_disabled_reason_known"
            ),
            # Its form; where it may go, events/webhooks/addresses.py says.
            models.CheckConstraint(
                condition=Q(url__iregex=r"^https://[^\s/?#@:\\]+(:[0-9]{1,5})?([/?][!-~]*)?$"), name="webhook_url_https"
            ),
        )
        indexes = (models.Index(fields=("partner", "created_at"), name="webhook_of_partner"),)

    def __str__(self) -> str:
        # The path may be confidential.
        return f"{urlsplit(self.url).hostname} ({str(self.id)[:8]})"

    @property
    def is_active(self) -> bool:
        """Whether it is neither disabled nor removed; RECEIVES_EVENTS says the same in SQL."""
        return not self.disabled_reason and self.removed_at is None

    @property
    def reason(self) -> str | None:
        """Why it is disabled."""
        return self.disabled_reason or None

    @property
    def state(self) -> str:
        """`active` or `disabled`."""
        return "active" if self.is_active else "disabled"


@tracked(
    *("endpoint", "expires_at"),
    action="webhookSecret",
    labels=(_("Webhook secret issued"), _("Webhook secret changed")),
    object="NEW.endpoint_id::text",
    goes_with_row=True,
)
class WebhookSecret(models.Model):
    """A secret that signs the deliveries of an endpoint, encrypted; while the old one is in force there are two."""

    endpoint = models.ForeignKey(WebhookEndpoint, models.CASCADE, related_name="secrets")
    encrypted_secret = models.TextField(editable=False)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    expires_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"secret of {self.endpoint_id}"


class DeliveryState(models.TextChoices):
    """The states of a delivery."""

    PENDING = "pending", _("Pending")
    DELIVERED = "delivered", _("Delivered")
    FAILED = "failed", _("Failed")
    # It fell due while the endpoint was disabled.
    SKIPPED = "skipped", _("Skipped")


_ATTEMPTS = """
    $.type() == "array" && !exists($[*].type() ? (@ != "object")) && !exists($[*] ? (!(
        @.at.type() == "string" && @.milliseconds.type() == "number"
        && (@.status.type() == "number" || @.error.type() == "string"))))
"""


class WebhookDelivery(models.Model):
    """An event on its way to an endpoint; without an event, a `webhook.test`.

    attempts: objects of `at` (RFC 3339), `milliseconds`, and `status` (HTTP) or `error` (a code of sending), the
    latest MAX_ATTEMPTS_KEPT. attempt_count: all of them. leased_until: while a process makes an attempt.
    """

    endpoint = models.ForeignKey(
        WebhookEndpoint, models.PROTECT, verbose_name=_("webhook"), related_name="deliveries", db_index=False
    )
    event = models.ForeignKey(Event, models.PROTECT, verbose_name=_("event"), related_name="deliveries", null=True)
    # The event's; of a test, its own.
    event_uuid = models.UUIDField("eventId", default=uuid.uuid4, editable=False)
    type = models.CharField(_("type"), max_length=40)
    user_id = models.UUIDField(_("user"), null=True)
    position = models.BigIntegerField(null=True)
    state = models.CharField(
        _("state"), max_length=10, choices=DeliveryState, db_default=DeliveryState.PENDING.value, editable=False
    )
    created_at = models.DateTimeField(_("created at"), db_default=Now(), editable=False)
    attempts = models.JSONField(_("attempts"), default=list, editable=False)
    attempt_count = models.PositiveIntegerField(_("attempts"), db_default=0, editable=False)
    next_attempt_at = models.DateTimeField(_("next attempt"), db_default=Now(), null=True, editable=False)
    leased_until = models.DateTimeField(null=True, editable=False)
    ended_at = models.DateTimeField(_("ended at"), null=True, editable=False)

    class Meta:
        verbose_name = _("webhook delivery")
        verbose_name_plural = _("webhook deliveries")
        ordering = ("-id",)
        constraints = (
            models.CheckConstraint(condition=Q(state__in=DeliveryState.values), name="delivery_state_known"),
            models.CheckConstraint(
                condition=Q(state=DeliveryState.PENDING, ended_at=None, next_attempt_at__isnull=False)
                | (~Q(state=DeliveryState.PENDING) & Q(ended_at__isnull=False)),
                name="delivery_ended_once",
            ),
            shape("attempts", _ATTEMPTS, name="delivery_attempts_readable"),
        )
        indexes = (
            models.Index(
                fields=("endpoint", "next_attempt_at", "position"), condition=Q(state="pending"), name="delivery_due"
            ),
            # An earlier event of the user that has not ended its first attempt.
            models.Index(
                fields=("endpoint", "user_id", "position"),
                condition=Q(state="pending", attempt_count=0),
                name="delivery_first_attempt",
            ),
            models.Index(fields=("endpoint",), condition=Q(leased_until__isnull=False), name="delivery_leased"),
            # Tests, which do not wait behind events.
            models.Index(fields=("endpoint",), condition=Q(state="pending", event=None), name="delivery_test"),
            models.Index(fields=("endpoint", "-id"), name="delivery_of_endpoint"),
            models.Index(fields=("created_at",), name="delivery_created_at"),
        )

    def __str__(self) -> str:
        return str(self.event_uuid)
