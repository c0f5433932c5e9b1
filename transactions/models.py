"""Conversions and documents: contract, sections 6 and 7; and the record of imports."""

import uuid
from datetime import UTC, datetime
from decimal import Decimal

import pgtrigger
from django.db import models
from django.db.models import Func, Q
from django.db.models.functions import Length, Now
from django.utils.translation import gettext_lazy as _

from partners.db.triggers import PermanentTrigger, append_only, refuse
from partners.models import Partner
from transactions.decimal_field import NumericField
from users.models import User

HIGHEST = 10**20
MOST_DECIMALS = 18
TITLE_LENGTH = 200
SHA256_BYTES = 32
# Of what RFC 3339 can write, without a last day that other time zones have in the year 10000.
EARLIEST, LATEST = datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC)

models.BinaryField.register_lookup(Length)


@NumericField.register_lookup
class Scale(models.Transform):
    """How many digits a numeric has after its point."""

    lookup_name = "scale"
    function = "scale"
    output_field = models.IntegerField()


def _plain_decimal(name: str, *, above_zero: bool = False) -> Q:
    # The upper bound keeps NaN and infinity out too: to PostgreSQL they are greater than any number.
    lowest = Q(**{f"{name}__gt" if above_zero else f"{name}__gte": Decimal(0)})
    return lowest & Q(**{f"{name}__lt": Decimal(HIGHEST), f"{name}__scale__lte": MOST_DECIMALS})


def _tiebreak() -> Func:
    return Func(template="(random() * 9223372036854775000)::bigint", output_field=models.BigIntegerField())


def _can_be_written() -> Q:
    """What RFC 3339 can write: PostgreSQL also has years before 1 and after 9999, and infinity."""
    return Q(created_at__gte=EARLIEST) & Q(created_at__lt=LATEST)


class Conversion(models.Model):
    """A currency conversion made by a user. Written once, by an import; never changed."""

    # One foreign key on both (conversion_user_of_partner, in the migration) stands for a constraint on each.
    partner = models.ForeignKey(
        Partner, models.PROTECT, verbose_name=_("partner"), related_name="+", db_index=False, db_constraint=False
    )
    user = models.ForeignKey(
        User, models.PROTECT, verbose_name=_("user"), related_name="conversions", db_index=False, db_constraint=False
    )
    conversion_id = models.CharField(_("conversionId"), max_length=64)
    created_at = models.DateTimeField(_("created at"), help_text=_("When the conversion was made."))
    # Random: it orders conversions of one instant, stands in cursors, and so must tell nothing.
    tiebreak = models.BigIntegerField(db_default=_tiebreak())
    type = models.CharField(_("type"), max_length=20, db_default="conversion")
    from_currency = models.CharField(_("from currency"), max_length=10)
    from_amount = NumericField(_("from amount"))
    to_currency = models.CharField(_("to currency"), max_length=10)
    to_amount = NumericField(_("to amount"))
    rate = NumericField(_("rate"))
    recorded_at = models.DateTimeField(_("recorded at"), db_default=Now(), editable=False)

    serving_privileges = ("SELECT", "INSERT")

    class Meta:
        verbose_name = _("conversion")
        verbose_name_plural = _("conversions")
        constraints = (
            models.UniqueConstraint(fields=("partner", "conversion_id"), name="conversion_partner_id"),
            # Also the list's index: an instant and a tiebreak name one conversion of a user.
            models.UniqueConstraint(fields=("user", "created_at", "tiebreak"), name="conversion_page"),
            models.CheckConstraint(
                condition=Q(conversion_id__regex=r"^[A-Za-z0-9_.-]+$"), name="conversion_id_characters"
            ),
            models.CheckConstraint(condition=Q(type="conversion"), name="conversion_type_known"),
            models.CheckConstraint(
                condition=Q(from_currency__regex=r"^[A-Z0-9]{3,10}$") & Q(to_currency__regex=r"^[A-Z0-9]{3,10}$"),
                name="conversion_currencies",
            ),
            models.CheckConstraint(
                condition=_plain_decimal("from_amount")
                & _plain_decimal("to_amount")
                & _plain_decimal("rate", above_zero=True),
                name="conversion_numbers",
            ),
            models.CheckConstraint(condition=Q(tiebreak__gte=0), name="conversion_tiebreak_positive"),
            models.CheckConstraint(condition=_can_be_written(), name="conversion_created_at_written"),
        )
        triggers = append_only()

    def __str__(self) -> str:
        return self.conversion_id


class DocumentType(models.TextChoices):
    """What papers there are. The values are those on the wire."""

    ACCOUNT_STATEMENT = "accountStatement", _("Account statement")
    TRADE_CONFIRMATION = "tradeConfirmation", _("Trade confirmation")
    TAX_SLIP = "taxSlip", _("Tax slip")
    AGREEMENT = "agreement", _("Agreement")


class Document(models.Model):
    """A paper issued to a user about the account. Written once, by `publish_document`; never changed.

    size_bytes and sha256 are those of the file as it was published: nothing else is ever sent whole.
    """

    # One foreign key on both (document_user_of_partner, in the migration), as a conversion has it.
    partner = models.ForeignKey(
        Partner, models.PROTECT, verbose_name=_("partner"), related_name="+", db_index=False, db_constraint=False
    )
    user = models.ForeignKey(
        User, models.PROTECT, verbose_name=_("user"), related_name="documents", db_index=False, db_constraint=False
    )
    document_id = models.UUIDField(_("documentId"), unique=True, default=uuid.uuid4, editable=False)
    created_at = models.DateTimeField(_("created at"), help_text=_("When the document was issued."))
    # As a conversion's.
    tiebreak = models.BigIntegerField(db_default=_tiebreak())
    type = models.CharField(_("type"), max_length=20, choices=DocumentType)
    title = models.CharField(_("title"), max_length=TITLE_LENGTH)
    content_type = models.CharField(_("content type"), max_length=100)
    size_bytes = models.BigIntegerField(_("size in bytes"))
    sha256 = models.BinaryField("SHA-256", max_length=SHA256_BYTES)
    # Where the storage has the file. It holds nothing personal, and no partner sees it.
    storage_name = models.CharField(max_length=100, unique=True)
    recorded_at = models.DateTimeField(_("recorded at"), db_default=Now(), editable=False)

    serving_privileges = ("SELECT", "INSERT")

    class Meta:
        verbose_name = _("document")
        verbose_name_plural = _("documents")
        constraints = (
            # Also the list's index: an instant and a tiebreak name one document of a user.
            models.UniqueConstraint(fields=("user", "created_at", "tiebreak"), name="document_page"),
            models.CheckConstraint(condition=Q(type__in=DocumentType.values), name="document_type_known"),
            models.CheckConstraint(
                condition=Q(title__regex=r"^[^\u0001-\u001F\u007F-\u009F]+$"), name="document_title_readable"
            ),
            # It goes out as a header.
            models.CheckConstraint(
                condition=Q(content_type__regex=r"^[a-z0-9.+-]+/[a-z0-9.+-]+$"), name="document_content_type_form"
            ),
            models.CheckConstraint(condition=Q(size_bytes__gte=1), name="document_not_empty"),
            models.CheckConstraint(condition=Q(sha256__length=SHA256_BYTES), name="document_sha256_length"),
            models.CheckConstraint(condition=Q(tiebreak__gte=0), name="document_tiebreak_positive"),
            models.CheckConstraint(condition=_can_be_written(), name="document_created_at_written"),
        )
        permissions = (("download_document", "Can download documents"),)
        triggers = append_only()

    def __str__(self) -> str:
        return str(self.document_id)


class FaultCause(models.TextChoices):
    """Why a document's file could not be sent whole. The values are those in the log."""

    MISSING = "missing", _("The file is not there")
    SHORTER = "shorter", _("The file is shorter than published")
    LONGER = "longer", _("The file is longer than published")
    OTHER_BYTES = "other bytes", _("The file holds other bytes than published")
    STORAGE_FAILED = "storage failed", _("The storage failed or could not be reached")


class DocumentFault(models.Model):
    """How often a document's file could not be sent whole for one cause, and when last."""

    document = models.ForeignKey(
        Document, models.PROTECT, verbose_name=_("document"), related_name="faults", db_index=False
    )
    cause = models.CharField(max_length=20, choices=FaultCause)
    count = models.BigIntegerField(default=1)
    last_at = models.DateTimeField(db_default=Now())

    serving_privileges = ("SELECT", "INSERT", "UPDATE (count, last_at)")

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("document", "cause"), name="fault_of_document"),
            models.CheckConstraint(condition=Q(cause__in=FaultCause.values), name="fault_cause_known"),
        )

    def __str__(self) -> str:
        return f"{self.cause} {self.document_id}"


class RunState(models.TextChoices):
    """How an import stands. One that was killed, or lost the database, stays `running`."""

    RUNNING = "running"
    COMPLETE = "complete"
    STOPPED = "stopped"
    FAILED = "failed"


class ImportRun(models.Model):
    """One import of conversions: how far it came, and how it ended. It tells of no line what it holds.

    line: the number of the last line that was dealt with. size_bytes, bytes_read: of the source;
    the size of a pipe is not known.
    """

    source = models.CharField(max_length=255)
    state = models.CharField(max_length=10, choices=RunState, db_default=RunState.RUNNING)
    started_at = models.DateTimeField(db_default=Now())
    updated_at = models.DateTimeField(_("updated at"), db_default=Now())
    ended_at = models.DateTimeField(null=True)
    size_bytes = models.BigIntegerField(null=True)
    bytes_read = models.BigIntegerField(db_default=0)
    line = models.BigIntegerField(db_default=0)
    imported = models.BigIntegerField(db_default=0)
    unchanged = models.BigIntegerField(db_default=0)
    rejected = models.BigIntegerField(db_default=0)

    serving_privileges = (
        "SELECT",
        "INSERT",
        "UPDATE (state, updated_at, ended_at, bytes_read, line, imported, unchanged, rejected)",
    )

    class Meta:
        constraints = (
            models.CheckConstraint(condition=Q(state__in=RunState.values), name="run_state_known"),
            models.CheckConstraint(
                condition=Q(state=RunState.RUNNING, ended_at=None)
                | (~Q(state=RunState.RUNNING) & Q(ended_at__isnull=False)),
                name="run_ended_once",
            ),
        )
        triggers = (
            *append_only(pgtrigger.Delete),
            PermanentTrigger(
                name="ended_stays",
                when=pgtrigger.Before,
                operation=pgtrigger.Update,
                condition=pgtrigger.Condition(f"OLD.state <> '{RunState.RUNNING.value}'"),
                func=refuse("An import that has ended stays as it is."),
            ),
        )

    def __str__(self) -> str:
        return f"{self.pk} {self.state}"
