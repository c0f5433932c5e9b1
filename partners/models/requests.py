"""Records of writes that have taken effect."""

from django.db import models

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

    serving_privileges = (
        "SELECT",
        "INSERT",
        "UPDATE (fingerprint, method, path, status, body, location, completed_at)",
        "DELETE",
    )

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

    serving_privileges = ("SELECT", "INSERT", "DELETE")

    class Meta:
        indexes = (models.Index(fields=("signed_at",), name="used_signature_signed_at"),)

    def __str__(self) -> str:
        return f"signature of {self.signed_at}"
