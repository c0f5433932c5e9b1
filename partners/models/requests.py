"""Records of writes, and usage counters."""

from django.db import models

from partners.models.partner import ApiKey, Partner


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


class ApiUsage(models.Model):
    """The number of requests of one kind within an hour (partners/usage/)."""

    hour = models.DateTimeField()
    # Both None if the key is unknown or missing.
    partner = models.ForeignKey(Partner, models.CASCADE, related_name="+", db_index=False, null=True)
    key = models.ForeignKey(ApiKey, models.CASCADE, related_name="+", db_index=False, null=True)
    status = models.PositiveSmallIntegerField()
    replayed = models.BooleanField(default=False)
    # The value of an AuthenticationFailure for status 401, else empty.
    failure = models.CharField(max_length=40, blank=True)
    # The caller's clock minus the server's, rounded (partners/usage/clock_skew.py); None if unknown.
    skew_seconds = models.BigIntegerField(null=True)
    count = models.BigIntegerField()

    serving_privileges = ("SELECT", "INSERT", "UPDATE (count)", "DELETE")

    class Meta:
        constraints = (
            # Begins with the columns that reports filter by.
            models.UniqueConstraint(
                fields=("partner", "hour", "key", "status", "replayed", "failure", "skew_seconds"),
                name="api_usage_unique",
                nulls_distinct=False,
            ),
        )
        # For the purge.
        indexes = (models.Index(fields=("hour",), name="api_usage_hour"),)

    def __str__(self) -> str:
        return f"{self.status} {self.hour}"
