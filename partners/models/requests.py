"""Records of writes that have taken effect, and of the requests of sandbox partners."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from core.database.schema import shape
from partners.models.partner import Partner


class IdempotencyRecord(models.Model):
    """A write with an Idempotency-Key that has taken effect, and the response to it (contract, section 4)."""

    pk = models.CompositePrimaryKey("partner_id", "key")
    partner = models.ForeignKey(Partner, models.CASCADE, related_name="+", db_index=False)
    key = models.UUIDField()
    fingerprint = models.BinaryField(max_length=32)
    method = models.CharField(max_length=10)
    # The canonical path.
    path = models.TextField()
    status = models.PositiveSmallIntegerField()
    body = models.BinaryField()
    location = models.TextField(null=True)  # noqa: DJ001 - no header is not an empty one
    completed_at = models.DateTimeField(db_default=models.Func(function="clock_timestamp"))

    class Meta:
        indexes = (models.Index(fields=("completed_at",), name="idempotency_completed_at"),)

    def __str__(self) -> str:
        return str(self.key)


class UsedSignature(models.Model):
    """The signature of a PATCH that succeeded without an Idempotency-Key: contract, section 3."""

    pk = models.CompositePrimaryKey("partner_id", "signature")
    partner = models.ForeignKey(Partner, models.CASCADE, related_name="+", db_index=False)
    signature = models.BinaryField(max_length=32)
    signed_at = models.DateTimeField(help_text="The request's own timestamp.")
    # The canonical path, by which it goes with the user.
    path = models.TextField(db_default="")

    class Meta:
        indexes = (models.Index(fields=("signed_at",), name="used_signature_signed_at"),)

    def __str__(self) -> str:
        return f"signature of {self.signed_at}"


_FIELD_ERRORS = """
    $.type() == "array" && !exists($[*].type() ? (@ != "object")) && !exists($[*] ? (!(
        @.field.type() == "string" && @.message.type() == "string" && @.code.type() == "string")))
"""
_DIAGNOSIS = """
    $.type() == "object" && $.cause.type() == "string" && $.message.type() == "string"
    && $.canonicalRequest.type() == "string"
"""


class SandboxRequest(models.Model):
    """A request of a sandbox partner and how it was answered, without bodies (contract, section 11).

    created_at: when it arrived. path: canonical. query: as sent. status, error, field_errors, diagnosis: of the
    response. Long texts are cut.
    """

    pk = models.CompositePrimaryKey("partner_id", "request_id")
    partner = models.ForeignKey(Partner, models.CASCADE, related_name="sandbox_requests", db_index=False)
    request_id = models.UUIDField(db_index=True)
    created_at = models.DateTimeField()
    method = models.CharField(max_length=10)
    path = models.TextField()
    query = models.TextField()
    status = models.PositiveSmallIntegerField()
    error = models.TextField(null=True)  # noqa: DJ001 - null on the wire, as the next
    field_errors = models.JSONField()
    idempotency_key = models.TextField(null=True)  # noqa: DJ001
    replayed = models.BooleanField()
    milliseconds = models.PositiveIntegerField()
    diagnosis = models.JSONField(null=True)

    class Meta:
        verbose_name = _("sandbox request")
        verbose_name_plural = _("sandbox requests")
        constraints = (
            shape("field_errors", _FIELD_ERRORS, name="sandbox_request_field_errors_readable"),
            shape("diagnosis", _DIAGNOSIS, name="sandbox_request_diagnosis_readable"),
        )
        indexes = (
            models.Index(fields=("partner", "-created_at", "-request_id"), name="sandbox_request_newest"),
            models.Index(fields=("created_at",), name="sandbox_request_created_at"),
        )

    def __str__(self) -> str:
        return str(self.request_id)
