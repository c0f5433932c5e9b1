"""Partners with their API keys, and records of requests."""

import re

import pgtrigger
from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import RegexValidator
from django.db import models
from django.db.models.functions import Least, Now
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from core.audit import tracked
from core.database.schema import shape
from core.database.triggers import append_only, refuse, trigger
from core.formats import parse_rate

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def validate_rate(value: str) -> None:
    """Raises Django's ValidationError unless `value` has a form such as 600/minute."""
    try:
        parse_rate(value)
    except ValueError as error:
        raise ValidationError(str(error)) from error


def validate_one_line(value: str) -> None:
    """Raises Django's ValidationError for control characters (category Cc), which commands would print as they are."""
    if _CONTROL.search(value):
        raise ValidationError(_("Must not contain control characters."), code="format")


def in_force(path: str = "") -> models.Q:
    """Match API keys neither revoked nor expired, as ApiKey.state and KEY_IS_ACTIVE do. path: such as `api_keys__`."""
    not_expired = models.Q((f"{path}expires_at", None)) | models.Q((f"{path}expires_at__gt", Now()))
    return models.Q((f"{path}revoked_at", None)) & not_expired


# Whether requests are accepted: the key in force, and the partner enabled. The statement names them key and partner.
KEY_IS_ACTIVE = """
    partner.enabled AND key.revoked_at IS NULL AND (key.expires_at IS NULL OR key.expires_at > statement_timestamp())
"""


class Mode(models.TextChoices):
    """Whether a partner's users are real, as on the wire: contract, section 11."""

    LIVE = "live", _("Live")
    SANDBOX = "sandbox", _("Sandbox")


@tracked(
    *("slug", "name", "mode", "enabled", "rate_limit"),
    action="partner",
    labels=(_("Partner created"), _("Partner changed")),
    object="NEW.slug",
)
class Partner(models.Model):
    """A business that registers its users here."""

    slug = models.CharField(
        _("slug"),
        max_length=50,
        unique=True,
        validators=[
            RegexValidator(
                r"\A[a-z0-9]+(-[a-z0-9]+)*\Z", "Lower-case letters and digits, in groups joined by single hyphens."
            )
        ],
        help_text=_("How commands, imports and GET /v1/ping name the partner."),
    )
    name = models.CharField(_("name"), max_length=200, validators=[validate_one_line])
    mode = models.CharField(
        _("mode"),
        max_length=10,
        choices=Mode,
        default=Mode.LIVE,
        db_default=Mode.LIVE.value,
        help_text=_("A sandbox partner tests its integration, with users that are not real. It never changes."),
    )
    enabled = models.BooleanField(
        _("enabled"), default=True, help_text=_("A disabled partner is refused from its next request on.")
    )
    rate_limit = models.CharField(
        _("rate limit"),
        max_length=40,
        blank=True,
        validators=[validate_rate],
        help_text=_("Such as 600/minute; empty for the service's default."),
    )
    created_at = models.DateTimeField(_("created at"), db_default=Now(), editable=False)

    class Meta:
        verbose_name = _("partner")
        verbose_name_plural = _("partners")
        ordering = ("slug",)
        constraints = (models.CheckConstraint(condition=models.Q(mode__in=Mode.values), name="partner_mode_known"),)
        triggers = (
            trigger(
                "mode_stays",
                "before update",
                refuse("The mode of a partner does not change."),
                condition="OLD.mode IS DISTINCT FROM NEW.mode",
            ),
        )

    def __str__(self) -> str:
        return self.slug

    @property
    def is_sandbox(self) -> bool:
        """Whether its users are not real."""
        return self.mode == Mode.SANDBOX

    @property
    def effective_rate_limit(self) -> str:
        """The partner's rate limit, or the service's default."""
        return self.rate_limit or settings.PARTNER_RATE_LIMIT


# How the keys and secrets of each kind of partner begin: scanners find leaked ones by it.
KEY_PREFIXES = {Mode.LIVE: "psi_key_", Mode.SANDBOX: "psi_test_key_"}
SECRET_PREFIXES = {Mode.LIVE: "psi_secret_", Mode.SANDBOX: "psi_test_secret_"}

_PREFIX_BY_MODE = " ".join(f"WHEN '{mode.value}' THEN '{prefix}'" for mode, prefix in KEY_PREFIXES.items())

# How long a key is kept after its end: then its lines in the audit log are left of it. A sandbox partner makes many.
KEY_DAYS = 365
SANDBOX_KEY_DAYS = 30
_KEPT_DAYS = (
    f"(CASE WHEN starts_with(OLD.prefix, '{KEY_PREFIXES[Mode.SANDBOX]}') THEN {SANDBOX_KEY_DAYS} ELSE {KEY_DAYS} END)"
)
# SQL, null of one without an end.
KEY_ENDED_AT = "least(revoked_at, expires_at)"

_IDENTITY = "{0}.id, {0}.partner_id, {0}.prefix, {0}.digest, {0}.created_at"
_KEY_TRIGGERS = [
    trigger(
        "kind_of_partner",
        "before insert",
        f"""
            IF NOT starts_with(NEW.prefix, (
                SELECT CASE mode {_PREFIX_BY_MODE} END
                  FROM partners_partner WHERE id = NEW.partner_id
            )) THEN
                {refuse("A key of this kind is not for this kind of partner.")}
            END IF;
        """,
    ),
    *append_only(
        pgtrigger.Delete, deletable=f"least(OLD.revoked_at, OLD.expires_at) < now() - {_KEPT_DAYS} * interval '1 day'"
    ),
    *(
        trigger(name, "before update", refuse(message), condition=condition)
        for name, condition, message in (
            (
                "key_identity_immutable",
                f"ROW({_IDENTITY.format('OLD')}) IS DISTINCT FROM ROW({_IDENTITY.format('NEW')})",
                "The identity of an API key does not change.",
            ),
            (
                "revocation_stays",
                "OLD.revoked_at IS DISTINCT FROM NEW.revoked_at AND OLD.revoked_at IS NOT NULL",
                "A revoked API key stays revoked.",
            ),
            (
                "expiry_comes_no_later",
                "coalesce(NEW.expires_at, 'infinity') > coalesce(OLD.expires_at, 'infinity')",
                "An API key expires no later than it was to.",
            ),
        )
    ),
]


@tracked(
    *("partner", "prefix", "label", "expires_at", "revoked_at"),
    action="apiKey",
    labels=(_("API key issued"), _("API key changed")),
    object="NEW.prefix",
    detail={"partner": "(SELECT slug FROM partners_partner WHERE id = NEW.partner_id)"},
    goes_with_row=True,
)
class ApiKey(models.Model):
    """A partner's API key and its secret (partners/authentication/keys.py)."""

    partner = models.ForeignKey(Partner, models.PROTECT, verbose_name=_("partner"), related_name="api_keys")
    prefix = models.CharField(_("prefix"), max_length=25, unique=True, editable=False)
    digest = models.BinaryField(max_length=32, unique=True, editable=False)
    encrypted_secret = models.TextField(editable=False)
    label = models.CharField(_("label"), max_length=100, blank=True, validators=[validate_one_line])
    created_at = models.DateTimeField(_("created at"), db_default=Now(), editable=False)
    expires_at = models.DateTimeField(_("expires at"), null=True, blank=True)
    revoked_at = models.DateTimeField(_("revoked at"), null=True, editable=False)
    # Accurate to LAST_USED_INTERVAL: a write per request would cost more than the request.
    last_used_at = models.DateTimeField(_("last used at"), null=True, editable=False)

    class Meta:
        verbose_name = _("API key")
        verbose_name_plural = _("API keys")
        ordering = ("-created_at", "-id")
        indexes = (models.Index(Least("revoked_at", "expires_at"), name="api_key_ended"),)
        triggers = _KEY_TRIGGERS

    def __str__(self) -> str:
        return self.prefix

    @property
    def state(self) -> str:
        """`active`, `expired` or `revoked`, by this machine's clock."""
        if self.revoked_at:
            return "revoked"
        return "expired" if self.expires_at and self.expires_at <= timezone.now() else "active"

    @property
    def is_in_force(self) -> bool:
        """Whether the key is neither revoked nor expired."""
        return self.state == "active"


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
