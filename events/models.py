"""Events of partners' feeds, webhook endpoints, their secrets, and deliveries (contract, section 10).

Triggers of the apps above write to the outbox in the transaction of the change. A statement that inserts thousands of
rows writes one entry with their users and times: an import does little work for its events. An entry has all that its
events need, so events_place treats all types alike, when the relay calls it (events/feed/relay.py).
"""

import uuid
from urllib.parse import urlsplit

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Func, Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from core.audit import tracked
from core.database.schema import json_text, shape, wire_time
from core.database.triggers import json_object
from partners.models import Partner

MAX_URL_LENGTH = 500

# Whether events are sent to an endpoint: active, and its partner enabled. The statement names the table endpoint.
RECEIVES_EVENTS = """
    (endpoint.disabled_reason = '' AND endpoint.removed_at IS NULL
     AND (SELECT enabled FROM partners_partner WHERE id = endpoint.partner_id))
"""


class EventType(models.TextChoices):
    """The types of events, as on the wire."""

    STATUS_CHANGED = "user.statusChanged", _("Status changed")
    REQUIREMENTS_CHANGED = "user.requirementsChanged", _("Requirements changed")
    USER_ERASED = "user.erased", _("User erased")
    TRANSACTIONS_RECORDED = "user.transactionsRecorded", _("Transactions recorded")
    DOCUMENT_PUBLISHED = "user.documentPublished", _("Document published")
    DOCUMENT_WITHDRAWN = "user.documentWithdrawn", _("Document withdrawn")


class OutboxEntry(models.Model):
    """What a change wrote in its transaction for one or more events of a partner's users, until the relay takes it.

    user_ids: of users.User, which this layer may not refer to. data: of the one event; None: of the rows that a
    statement inserted, by their users, these users' `external_ids`, and `times`. size: the number of rows.
    """

    partner = models.ForeignKey(Partner, models.PROTECT, related_name="+", db_index=False)
    type = models.CharField(max_length=40, choices=EventType)
    created_at = models.DateTimeField(db_default=Func(function="clock_timestamp"))
    user_ids = ArrayField(models.UUIDField())
    external_ids = ArrayField(models.TextField(), null=True)
    times = ArrayField(models.DateTimeField(), null=True)
    data = models.JSONField(null=True)
    size = models.PositiveIntegerField(db_default=1)
    # Entries without `data` of one transaction become one event for each user. A number alone could come again in
    # another cluster, to which a dump was restored.
    transaction_id = models.BigIntegerField(db_default=Func(template="pg_current_xact_id()::text::bigint"))
    transaction_time = models.DateTimeField(db_default=Func(function="transaction_timestamp"))

    class Meta:
        verbose_name_plural = "outbox entries"
        constraints = (models.CheckConstraint(condition=Q(type__in=EventType.values), name="outbox_type_known"),)
        indexes = (
            models.Index(fields=("partner", "id"), name="outbox_of_partner"),
            models.Index(fields=("transaction_id",), condition=Q(data=None), name="outbox_of_transaction"),
        )

    def __str__(self) -> str:
        return f"{self.type} {self.pk}"


class Event(models.Model):
    """An event of a partner's user, at its position in the partner's feed."""

    partner = models.ForeignKey(Partner, models.PROTECT, related_name="+", db_index=False)
    # A users.User, which this layer may not refer to.
    user_id = models.UUIDField(_("user"))
    event_id = models.UUIDField(_("eventId"), db_default=Func(function="gen_random_uuid"))
    type = models.CharField(_("type"), max_length=40, choices=EventType)
    created_at = models.DateTimeField(_("created at"))
    data = models.JSONField(_("data"))
    position = models.BigIntegerField(_("position"))

    # The item of the feed; jsonb is written with white space.
    wire = json_text(
        '{"eventId":"%s","type":"%s","createdAt":"%s","data":%s}',
        *("event_id", "type", wire_time("created_at"), "data"),
    )

    class Meta:
        verbose_name = _("event")
        verbose_name_plural = _("events")
        constraints = (
            models.CheckConstraint(condition=Q(type__in=EventType.values), name="event_type_known"),
            # It is the feed's index, too.
            models.UniqueConstraint(fields=("partner", "position"), name="event_position"),
        )
        # Those of a user that is erased.
        indexes = (models.Index(fields=("user_id",), name="event_of_user"),)

    def __str__(self) -> str:
        return f"{self.type} {self.event_id}"


class EventFeed(models.Model):
    """The last position given in a partner's feed, the last one purged, and since when placing has failed."""

    partner = models.OneToOneField(Partner, models.PROTECT, primary_key=True, related_name="feed")
    last_position = models.BigIntegerField(db_default=0)
    purged_position = models.BigIntegerField(db_default=0)
    updated_at = models.DateTimeField(db_default=Now())
    stopped_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"{self.partner_id}: {self.last_position}"


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


def outbox_entry(kind: EventType, *, source: str, **data: str) -> str:
    """SQL that writes an event about a user. source: the text after FROM, with the user as `u`. data: SQL by name."""
    about = {"externalId": "u.external_id", "userId": "u.id"}
    return f"""
        INSERT INTO events_outboxentry (partner_id, type, user_ids, data)
        SELECT u.partner_id, '{kind.value}', ARRAY[u.id], {json_object(about | data)} FROM {source}
    """


def outbox_entry_of_rows(kind: EventType, *, source: str, external_id: str, time: str) -> str:
    """The SQL that writes an entry for each partner of a statement's rows: their count and oldest and newest times.

    source: the transition table, with `partner_id` and `user_id`. external_id, time: expressions for a row.
    """
    return f"""
        INSERT INTO events_outboxentry (partner_id, type, user_ids, external_ids, times, size)
        SELECT partner_id, '{kind.value}', array_agg(user_id), array_agg({external_id}), array_agg({time}), count(*)
          FROM {source} GROUP BY partner_id
    """
