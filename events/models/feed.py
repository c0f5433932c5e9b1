"""Events of partners' feeds (contract, section 10).

Triggers of the apps above write to the outbox in the transaction of the change. A statement that inserts thousands of
rows writes one entry with their users and times: an import does little work for its events. An entry has all that its
events need, so events_place treats all types alike, when the relay calls it (events/feed/relay.py).
"""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Func, Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from core.database.schema import json_text, wire_time
from core.database.triggers import json_object
from partners.models import Partner


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
    """The ends of a partner's feed: the last position given, and the last one purged.

    stopped_at: when placing its events first failed (events/feed/relay.py); None: it has succeeded since.
    """

    partner = models.OneToOneField(Partner, models.PROTECT, primary_key=True, related_name="feed")
    last_position = models.BigIntegerField(db_default=0)
    purged_position = models.BigIntegerField(db_default=0)
    updated_at = models.DateTimeField(db_default=Now())
    stopped_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"{self.partner_id}: {self.last_position}"


def outbox_entry(kind: EventType, *, source: str, **data: str) -> str:
    """The SQL that writes an entry of one event about a user.

    source: the text after FROM, with the user as `u`. data: of the event beside who it is about, expressions by name.
    """
    about = {"externalId": "u.external_id", "userId": "u.id"}
    return f"""
        INSERT INTO events_outboxentry (partner_id, type, user_ids, data)
        SELECT u.partner_id, '{kind.value}', ARRAY[u.id], {json_object(about | data)} FROM {source}
    """


def outbox_entry_of_rows(kind: EventType, *, source: str, external_id: str, time: str) -> str:
    """The SQL that writes an entry for each partner of a statement's rows.

    Its events have the count of a user's rows in the transaction, and the oldest and newest of their times.

    source: the transition table, with `partner_id` and `user_id`. external_id, time: expressions for a row.
    """
    return f"""
        INSERT INTO events_outboxentry (partner_id, type, user_ids, external_ids, times, size)
        SELECT partner_id, '{kind.value}', array_agg(user_id), array_agg({external_id}), array_agg({time}), count(*)
          FROM {source} GROUP BY partner_id
    """
