"""Events that partners are told of (contract, section 10).

Triggers write them in the transaction of the change (partners/events/outbox.py); the relay gives each its position
(partners/events/relay.py).
"""

import pgtrigger
from django.db import models
from django.db.models import Func, Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from partners.db.triggers import PermanentTrigger, refuse
from partners.models.partner import Partner


class EventType(models.TextChoices):
    """The types of events, as on the wire."""

    STATUS_CHANGED = "user.statusChanged", _("Status changed")
    TRANSACTIONS_RECORDED = "user.transactionsRecorded", _("Transactions recorded")
    DOCUMENT_PUBLISHED = "user.documentPublished", _("Document published")


class Event(models.Model):
    """An event of a partner's user. Without a position until its transaction is known to have ended."""

    partner = models.ForeignKey(Partner, models.PROTECT, related_name="+", db_index=False)
    # Of users.User, which this layer may not refer to.
    user_id = models.UUIDField(_("user"))
    event_id = models.UUIDField(_("eventId"), db_default=Func(function="gen_random_uuid"))
    type = models.CharField(_("type"), max_length=40, choices=EventType)
    created_at = models.DateTimeField(_("created at"), db_default=Func(function="clock_timestamp"))
    data = models.JSONField(_("data"))
    # Merges what one transaction records for a user (outbox.py); only compared while there is no position, since
    # another cluster numbers its transactions anew.
    transaction_id = models.BigIntegerField(db_default=Func(template="pg_current_xact_id()::text::bigint"))
    position = models.BigIntegerField(_("position"), null=True)

    # Triggers insert, as the owner. The relay sets the position, and the purge removes what is older than 30 days.
    serving_privileges = ("SELECT", "UPDATE (position)", "DELETE")

    class Meta:
        verbose_name = _("event")
        verbose_name_plural = _("events")
        constraints = (
            models.CheckConstraint(condition=Q(type__in=EventType.values), name="event_type_known"),
            # Also the feed's index.
            models.UniqueConstraint(
                fields=("partner", "position"), condition=Q(position__isnull=False), name="event_position"
            ),
            models.UniqueConstraint(
                fields=("user_id", "transaction_id"),
                condition=Q(position=None, type="user.transactionsRecorded"),
                name="event_of_transaction",
            ),
        )
        indexes = (models.Index(fields=("id",), condition=Q(position=None), name="event_unplaced"),)
        triggers = (
            PermanentTrigger(
                name="position_stays",
                when=pgtrigger.Before,
                operation=pgtrigger.Update,
                condition=pgtrigger.Condition("OLD.position IS NOT NULL"),
                func=refuse("An event that has its position cannot be changed."),
            ),
        )

    def __str__(self) -> str:
        return f"{self.type} {self.event_id}"


class EventFeed(models.Model):
    """The ends of a partner's feed: the last position given, and the last one purged."""

    partner = models.OneToOneField(Partner, models.PROTECT, primary_key=True, related_name="feed")
    last_position = models.BigIntegerField(db_default=0)
    purged_position = models.BigIntegerField(db_default=0)
    updated_at = models.DateTimeField(db_default=Now())

    serving_privileges = ("SELECT", "INSERT", "UPDATE (last_position, purged_position, updated_at)")

    def __str__(self) -> str:
        return f"{self.partner_id}: {self.last_position}"
