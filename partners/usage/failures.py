"""The causes of a 401 (contract, section 3), for the log, the usage counters and support; partners see few of them."""

from http import HTTPStatus

from django.db import models
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

UNAUTHORIZED = HTTPStatus.UNAUTHORIZED.value


class AuthenticationFailure(models.TextChoices):
    """Why a request is `unauthorized`. The log has the values."""

    MISSING_HEADER = "missing header", _("Header missing")
    MALFORMED_TIMESTAMP = "malformed timestamp", _("Malformed timestamp")
    CLOCK_SKEW = "clock skew", _("Clock skew")
    UNKNOWN_KEY = "unknown key", _("Unknown key")
    BAD_SIGNATURE = "bad signature", _("Wrong signature")
    NOT_IN_FORCE = "key not in force or partner disabled", _("Key not in force, or partner disabled")
    REPLAY = "replay", _("Signature used before")

    @property
    def advice(self) -> Promise:
        """What support checks with the partner, translated."""
        return _ADVICE[self]


_ADVICE = {
    AuthenticationFailure.MISSING_HEADER: _(
        "Their program, or a proxy on the way, leaves out a header, or sends it empty or not in ASCII;"
        " the answer names it."
    ),
    AuthenticationFailure.MALFORMED_TIMESTAMP: _(
        "X-Request-Timestamp must be an RFC 3339 date-time with an offset or Z."
    ),
    AuthenticationFailure.CLOCK_SKEW: _("Their clock is wrong, or requests wait in a queue after they were signed."),
    AuthenticationFailure.UNKNOWN_KEY: _("A key was mistyped or cut, or is that of another environment."),
    AuthenticationFailure.BAD_SIGNATURE: _(
        "The secret is not this key's, or what they sign is not what they send: contract, section 3."
    ),
    AuthenticationFailure.NOT_IN_FORCE: _("The key has expired or was revoked, or the partner is disabled: see above."),
    AuthenticationFailure.REPLAY: _(
        "An update was sent twice with one signature: sign each request, or send an Idempotency-Key."
    ),
}
