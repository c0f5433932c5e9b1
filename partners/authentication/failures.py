"""The causes of a 401 (contract, section 3), for the log and the metrics; partners see few of them."""

from enum import StrEnum


class AuthenticationFailure(StrEnum):
    """Why a request is `unauthorized`; docs/operations.md says what to do."""

    MISSING_HEADER = "missing header"
    MALFORMED_TIMESTAMP = "malformed timestamp"
    CLOCK_SKEW = "clock skew"
    UNKNOWN_KEY = "unknown key"
    BAD_SIGNATURE = "bad signature"
    NOT_IN_FORCE = "key not in force or partner disabled"
    REPLAY = "replay"
