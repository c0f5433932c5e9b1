"""Conversions and documents (contract, sections 6 and 7)."""

import uuid
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from django.db import models
from django.db.models import Func, Q
from django.db.models.functions import Length, Now
from django.utils.translation import gettext_lazy as _
from django.utils.translation import gettext_noop

from core.audit import entry_trigger, register
from core.database.schema import json_text, newest_of_each_mode, wire_time
from core.database.triggers import append_only, json_object, stamped, trigger
from events.models import EventType, outbox_entry, outbox_entry_of_rows
from partners.models import Partner
from staff.models import Staff
from users.models import User
from users.models.columns import names_of_user
from users.models.triggers import by_active_staff, staff_entry

_PUBLISHED = register("document.published", _("Document published"))

CONVERSION_ID_PATTERN = "[A-Za-z0-9_.-]{1,64}"
CURRENCY_PATTERN = "[A-Z0-9]{3,10}"
# Numbers are below it.
NUMBER_LIMIT = 10**20
MAX_DECIMALS = 18
TITLE_LENGTH = 200
WITHDRAWAL_REASON_LENGTH = 2000
SHA256_BYTES = 32
# What the law's reports are about: so much in this currency, by one person within 24 hours.
THRESHOLD_CURRENCY, THRESHOLD = "CAD", 10_000
# How many conversions of a sandbox user are added up at a time.
MAX_ADDED_UP = 10_000
# PostgreSQL also has years before 1 and after 9999, and infinity. Elsewhere, the first day of all is in the year 0, and
# the last one in 10000.
EARLIEST, LATEST = datetime(1, 1, 2, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC)

models.BinaryField.register_lookup(Length)

# What triggers write to the outbox (contract, section 10).
_TRANSACTIONS_RECORDED = outbox_entry_of_rows(
    EventType.TRANSACTIONS_RECORDED,
    source="inserted",
    external_id="(SELECT u.external_id FROM users_user u WHERE u.id = user_id)",
    time="created_at",
)
_DOCUMENT_PUBLISHED = outbox_entry(
    EventType.DOCUMENT_PUBLISHED,
    source="users_user u WHERE u.id = NEW.user_id",
    documentId="NEW.document_id",
    type="NEW.type",
    createdAt=wire_time("NEW.created_at"),
)
_DOCUMENT_WITHDRAWN = outbox_entry(
    EventType.DOCUMENT_WITHDRAWN,
    source="transactions_document d JOIN users_user u ON u.id = d.user_id WHERE d.id = NEW.document_id",
    documentId="d.document_id",
)


class NumericField(models.Field):  # type: ignore[type-arg]  # Django's own class takes no parameters
    """PostgreSQL's numeric without a scale: `100.00` stays `100.00`, which numeric(38,18) would pad."""

    def db_type(self, connection: Any) -> str:
        """The column's type."""
        return "numeric"


@NumericField.register_lookup
class Scale(models.Transform):
    """The number of digits after the point."""

    lookup_name = "scale"
    function = "scale"
    output_field = models.IntegerField()


def _plain_decimal(name: str, *, above_zero: bool = False) -> Q:
    # To PostgreSQL NaN and infinity are greater than any number: the upper bound excludes them too.
    lowest = Q(**{f"{name}__gt" if above_zero else f"{name}__gte": Decimal(0)})
    return lowest & Q(**{f"{name}__lt": Decimal(NUMBER_LIMIT), f"{name}__scale__lte": MAX_DECIMALS})


class UserRow(models.Model):
    """A row of a user's list (partners/api/lists.py). Written once, never changed."""

    # One foreign key on these two and is_sandbox (*_user_of_partner, in the migration) replaces a constraint on each.
    partner = models.ForeignKey(
        Partner, models.PROTECT, verbose_name=_("partner"), related_name="+", db_index=False, db_constraint=False
    )
    user = models.ForeignKey(
        User, models.PROTECT, verbose_name=_("user"), related_name="%(class)ss", db_index=False, db_constraint=False
    )
    # The user's, here too for the indexes of the lists of staff.
    is_sandbox = models.BooleanField(_("sandbox"), db_default=False, editable=False)
    created_at = models.DateTimeField(_("created at"))
    # The order of rows with the same created_at. Random, because cursors show it.
    tiebreak = models.BigIntegerField(
        db_default=Func(template="(random() * 9223372036854775000)::bigint", output_field=models.BigIntegerField())
    )
    recorded_at = models.DateTimeField(_("recorded at"), db_default=Now(), editable=False)

    class Meta:
        abstract = True
        constraints = (
            # It is the list's index, too.
            models.UniqueConstraint(fields=("user", "created_at", "tiebreak"), name="%(class)s_page"),
            models.CheckConstraint(condition=Q(tiebreak__gte=0), name="%(class)s_tiebreak_positive"),
            models.CheckConstraint(
                condition=Q(created_at__gte=EARLIEST) & Q(created_at__lt=LATEST), name="%(class)s_created_at_written"
            ),
        )
        indexes = newest_of_each_mode("%(class)s", "created_at", "id")


class Conversion(UserRow):
    """A currency conversion made by a user; written by imports."""

    conversion_id = models.CharField(_("conversion ID"), max_length=64)
    created_at = models.DateTimeField(_("created at"), help_text=_("When the conversion was made."))
    type = models.CharField(_("type"), max_length=20, db_default="conversion")
    from_currency = models.CharField(_("from currency"), max_length=10)
    from_amount = NumericField(_("from amount"))
    to_currency = models.CharField(_("to currency"), max_length=10)
    to_amount = NumericField(_("to amount"))
    rate = NumericField(_("rate"))
    # Risk flags of the user (transactions/risk_flags.py): this one by what inserts, which reads the user anyway,
    while_inactive = models.BooleanField(_("recorded while the user was not active"), db_default=False, editable=False)
    # this one by a trigger: with those of the 24 hours up to it, the conversion comes to THRESHOLD.
    reaches_threshold = models.BooleanField(_("10,000 CAD within 24 hours"), db_default=False, editable=False)

    # The item of a list (contract, section 6). Constraints leave nothing to escape.
    wire = json_text(
        '{"conversionId":"%s","createdAt":"%s","type":"%s","from":{"currency":"%s","amount":"%s"},'
        '"to":{"currency":"%s","amount":"%s"},"rate":"%s"}',
        *("conversion_id", wire_time("created_at"), "type"),
        *("from_currency", "from_amount", "to_currency", "to_amount", "rate"),
    )

    class Meta:
        verbose_name = _("conversion")
        verbose_name_plural = _("conversions")
        constraints = (
            *UserRow.Meta.constraints,
            models.UniqueConstraint(fields=("partner", "conversion_id"), name="conversion_partner_id"),
            models.CheckConstraint(
                condition=Q(conversion_id__regex=f"^{CONVERSION_ID_PATTERN}$"), name="conversion_id_characters"
            ),
            models.CheckConstraint(condition=Q(type="conversion"), name="conversion_type_known"),
            models.CheckConstraint(
                condition=Q(from_currency__regex=f"^{CURRENCY_PATTERN}$")
                & Q(to_currency__regex=f"^{CURRENCY_PATTERN}$"),
                name="conversion_currencies",
            ),
            models.CheckConstraint(
                condition=_plain_decimal("from_amount")
                & _plain_decimal("to_amount")
                & _plain_decimal("rate", above_zero=True),
                name="conversion_numbers",
            ),
        )
        indexes = (
            *UserRow.Meta.indexes,
            models.Index(
                fields=("user", "recorded_at"), condition=Q(while_inactive=True), name="conversion_while_inactive"
            ),
            models.Index(
                fields=("user", "created_at"), condition=Q(reaches_threshold=True), name="conversion_threshold"
            ),
            # The list of staff and its filters.
            models.Index(fields=("is_sandbox", "from_currency", "from_amount"), name="conversion_from_amount"),
            models.Index(fields=("is_sandbox", "to_currency", "to_amount"), name="conversion_to_amount"),
            models.Index(
                fields=("is_sandbox", "created_at", "id"),
                condition=Q(reaches_threshold=True),
                name="conversion_threshold_listed",
            ),
        )
        triggers = (
            *append_only(marked="reaches_threshold"),
            trigger(
                "threshold",
                "after insert",
                function="transactions_mark_threshold",
                arguments=(THRESHOLD_CURRENCY, THRESHOLD, MAX_ADDED_UP),
                rows="inserted",
            ),
            trigger("event", "after insert", f"{_TRANSACTIONS_RECORDED};", rows="inserted"),
        )

    def __str__(self) -> str:
        return self.conversion_id


IMPORT_ENDED = register("import.ended", _("Import ended"))


class DocumentType(models.TextChoices):
    """The types of documents, as on the wire."""

    ACCOUNT_STATEMENT = "accountStatement", _("Account statement")
    TRADE_CONFIRMATION = "tradeConfirmation", _("Trade confirmation")
    TAX_SLIP = "taxSlip", _("Tax slip")
    AGREEMENT = "agreement", _("Agreement")


class Document(UserRow):
    """A document issued to a user about the account; no file but one of this size and SHA-256 is sent whole."""

    document_id = models.UUIDField(_("document ID"), unique=True, default=uuid.uuid4, editable=False)
    created_at = models.DateTimeField(_("created at"), help_text=_("When the document was issued."))
    type = models.CharField(_("type"), max_length=20, choices=DocumentType)
    title = models.CharField(_("title"), max_length=TITLE_LENGTH)
    content_type = models.CharField(_("content type"), max_length=100)
    size_bytes = models.BigIntegerField(_("size in bytes"))
    sha256 = models.BinaryField("SHA-256", max_length=SHA256_BYTES)
    # The file's name in the storage. It holds nothing personal, and partners do not see it.
    storage_name = models.CharField(max_length=100, unique=True)

    # The item of a list (contract, section 7). Constraints leave nothing to escape but in the title.
    wire = json_text(
        '{"documentId":"%s","createdAt":"%s","type":"%s","title":%s,"contentType":"%s","sizeBytes":%s,"sha256":"%s"}',
        *("document_id", wire_time("created_at"), "type", "to_json(title)"),
        *("content_type", "size_bytes", "encode(sha256, 'hex')"),
    )

    class Meta:
        verbose_name = _("document")
        verbose_name_plural = _("documents")
        constraints = (
            *UserRow.Meta.constraints,
            models.CheckConstraint(condition=Q(type__in=DocumentType.values), name="document_type_known"),
            models.CheckConstraint(
                condition=Q(title__regex=r"^[^\u0001-\u001F\u007F-\u009F]+$"), name="document_title_readable"
            ),
            # It is sent as a header.
            models.CheckConstraint(
                condition=Q(content_type__regex=r"^[a-z0-9.+-]+/[a-z0-9.+-]+$"), name="document_content_type_form"
            ),
            models.CheckConstraint(condition=Q(size_bytes__gte=1), name="document_not_empty"),
            models.CheckConstraint(condition=Q(sha256__length=SHA256_BYTES), name="document_sha256_length"),
        )
        indexes = UserRow.Meta.indexes
        permissions = (("download_document", gettext_noop("Can download documents")),)
        triggers = (
            *append_only(),
            stamped("recorded_at"),
            trigger("event", "after insert", f"{_DOCUMENT_PUBLISHED};"),
            trigger(
                "file_goes",
                "after delete",
                "INSERT INTO transactions_erasedfile (storage_name) VALUES (OLD.storage_name);",
            ),
            entry_trigger(
                f"'{_PUBLISHED}'",
                # Simulated documents are the sandbox partner's own.
                where="NOT context ? 'partner'",
                object="NEW.document_id::text",
                detail=json_object({"user": "NEW.user_id", "type": "NEW.type", "title": "NEW.title"}),
                further=names_of_user("NEW.user_id"),
            ),
        )

    def __str__(self) -> str:
        return str(self.document_id)


class ErasedFile(models.Model):
    """The file of a document that went with its user, until the storage has deleted it: documents/publishing.py."""

    storage_name = models.CharField(max_length=100, primary_key=True)

    def __str__(self) -> str:
        return self.storage_name


class DocumentWithdrawal(models.Model):
    """The end of a document that was published by mistake: the partner no longer sees it. Never changed."""

    document = models.OneToOneField(
        Document, models.PROTECT, primary_key=True, verbose_name=_("document"), related_name="withdrawal"
    )
    by = models.ForeignKey(Staff, models.PROTECT, verbose_name=_("by"), related_name="+", db_index=False)
    reason = models.CharField(_("reason"), max_length=WITHDRAWAL_REASON_LENGTH)
    created_at = models.DateTimeField(_("withdrawn at"), db_default=Now(), editable=False)

    class Meta:
        verbose_name = _("withdrawal")
        verbose_name_plural = _("withdrawals")
        constraints = (models.CheckConstraint(condition=Q(reason__regex=r"\S"), name="withdrawal_reason_given"),)
        triggers = (
            *append_only(),
            stamped("created_at"),
            by_active_staff("by_id"),
            trigger("event", "after insert", f"{_DOCUMENT_WITHDRAWN};"),
            staff_entry(
                "document.withdrawn",
                _("Document withdrawn"),
                {"reason": "NEW.reason"},
                user="(SELECT user_id FROM transactions_document WHERE id = NEW.document_id)",
                object="(SELECT document_id::text FROM transactions_document WHERE id = NEW.document_id)",
            ),
        )

    def __str__(self) -> str:
        return str(self.document_id)
