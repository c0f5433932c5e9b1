"""The causes of a 401 (contract, section 3), for the log and the metrics; partners see few of them."""

from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING

from rest_framework.exceptions import AuthenticationFailed

if TYPE_CHECKING:
    from partners.authentication.keys import Caller


class AuthenticationFailure(StrEnum):
    """Why a request is `unauthorized`; docs/operations.md says what to do."""

    MISSING_HEADER = "missing header"
    MALFORMED_TIMESTAMP = "malformed timestamp"
    CLOCK_SKEW = "clock skew"
    UNKNOWN_KEY = "unknown key"
    BAD_SIGNATURE = "bad signature"
    NOT_IN_FORCE = "key not in force or partner disabled"
    REPLAY = "replay"


# Found before the API key is read.
BEFORE_THE_KEY = {
    AuthenticationFailure.MISSING_HEADER,
    AuthenticationFailure.MALFORMED_TIMESTAMP,
    AuthenticationFailure.CLOCK_SKEW,
}


class SignatureRefusedError(AuthenticationFailed):
    """The request is not authenticated.

    message: what the partner may know; "" for the text that most causes share. caller: of the key, where it was read
    and is known. diagnosis: of a sandbox key in force (partners/api/sandbox/diagnosis.py).
    """

    diagnosis: Mapping[str, str] | None = None

    def __init__(self, failure: AuthenticationFailure, message: str = "", caller: "Caller | None" = None) -> None:
        super().__init__()
        self.failure, self.message, self.caller = failure, message, caller


class SecretLostError(Exception):
    """No present key of SECRETS_ENCRYPTION_KEYS decrypts the secret of the API key; it is logged where it is read."""
