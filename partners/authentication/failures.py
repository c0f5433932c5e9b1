"""The causes of a 401 (contract, section 3), for the log and the metrics; partners see few of them."""

from enum import StrEnum

from rest_framework.exceptions import AuthenticationFailed


class AuthenticationFailure(StrEnum):
    """Why a request is `unauthorized`; docs/operations.md says what to do."""

    MISSING_HEADER = "missing header"
    MALFORMED_TIMESTAMP = "malformed timestamp"
    CLOCK_SKEW = "clock skew"
    UNKNOWN_KEY = "unknown key"
    BAD_SIGNATURE = "bad signature"
    NOT_IN_FORCE = "key not in force or partner disabled"
    REPLAY = "replay"


class SignatureRefusedError(AuthenticationFailed):
    """The request is not authenticated. message: what the partner may know; "" for the text that most causes share."""

    def __init__(self, message: str = "") -> None:
        super().__init__()
        self.message = message


class SecretLostError(Exception):
    """No present key of SECRETS_ENCRYPTION_KEYS decrypts the secret of the API key; it is logged where it is read."""
