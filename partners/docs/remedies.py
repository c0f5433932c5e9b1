"""Errors and what to do about them, as the guide says it: contract, sections 1 and 3."""

from dataclasses import dataclass

from django.conf import settings

from partners.api import errors
from partners.api.authentication import NOT_VALID


@dataclass(frozen=True, slots=True)
class Remedy:
    """An error and what to do. again: whether sending the same once more can help."""

    error: type[errors.ApiError]
    when: str
    remedy: str
    again: str

    @property
    def code(self) -> str:
        """The value of `error`."""
        return self.error.code

    @property
    def status(self) -> int:
        """The status of the answer."""
        return self.error.status_code


@dataclass(frozen=True, slots=True)
class Refusal:
    """What a 401 may say (contract, section 3), what it means, and what to do."""

    message: str
    meaning: str
    remedy: str


AFTER_CORRECTION = "No: correct the request first"
AFTER_WAITING = "Yes, after Retry-After"

REMEDIES = (
    Remedy(
        errors.BadRequestError,
        "The body is not a JSON object, or a field, parameter or header breaks a rule. A field that the reference does"
        " not name is wrong too; a query parameter that it does not name is ignored, though signed.",
        "Read fieldErrors: all fields that are wrong are named at once. Show them to whoever typed the values, and"
        " check the rules in the reference before you send.",
        AFTER_CORRECTION,
    ),
    Remedy(
        errors.MethodNotAllowedError,
        "The path exists, but not with this method. HEAD and OPTIONS count too; the answer to a HEAD has no body. This"
        " comes before key and signature are looked at.",
        "Allow names the methods that this path takes.",
        AFTER_CORRECTION,
    ),
    Remedy(
        errors.BodyTooLargeError,
        "The body is too large.",
        "A body of this interface is far below the limit: look for what has got into yours.",
        AFTER_CORRECTION,
    ),
    Remedy(
        errors.UnsupportedMediaTypeError,
        "A POST or PATCH without Content-Type: application/json, or with a charset other than UTF-8.",
        "Set the header yourself: many HTTP libraries choose another one for a body of text or bytes.",
        AFTER_CORRECTION,
    ),
    Remedy(
        errors.UnauthorizedError,
        "The request does not prove that it comes from you.",
        "Go by the message, listed below. For a signature that does not fit, ask the signature doctor.",
        "No: correct the cause and sign again",
    ),
    Remedy(
        errors.NotFoundError,
        "You have no user, or this user no document, with this identifier; or there is no such path,"
        " which is answered before key and signature are looked at.",
        "Check the letter case and the encoding of externalId. Create the user first. Another partner's users look"
        " as if they did not exist.",
        AFTER_CORRECTION,
    ),
    Remedy(
        errors.ConflictError,
        "You have a user with this externalId already.",
        "Read the user, and treat it as yours if you meant to create it once: an earlier request may have succeeded"
        " without your seeing the answer. To change it, send an update.",
        "No: it stays so",
    ),
    Remedy(
        errors.UnprocessableEntityError,
        "The user is under 18.",
        "Do not register this person now. If the date was mistyped, correct it and create the user.",
        "No: not before the 18th birthday",
    ),
    Remedy(
        errors.TooManyRequestsError,
        "The rate limit is used up.",
        "Wait for the seconds that Retry-After gives, then go on more slowly: RateLimit tells what is left.",
        AFTER_WAITING,
    ),
    Remedy(
        errors.InternalError,
        "Something failed here. Nothing has happened.",
        "Send again with the same Idempotency-Key, waiting longer each time. If it stays, quote the requestId to"
        " support.",
        "Yes, waiting longer each time",
    ),
    Remedy(
        errors.UnavailableError,
        "The service is busy or away for a moment. Nothing has happened, except in rare cases what was asked.",
        "Send again with the same Idempotency-Key once Retry-After has passed.",
        AFTER_WAITING,
    ),
)


def refusals() -> list[Refusal]:
    """What a 401 may say."""
    return [
        Refusal(
            "Header … is missing.",
            "One of X-Api-Key, X-Request-Timestamp and X-Request-Signature is absent or empty.",
            "Send all three, on reads too. Look for a proxy or an HTTP library that drops headers it does not know.",
        ),
        Refusal(
            "X-Request-Timestamp is not an RFC 3339 date-time.",
            "The time has no offset, a blank in place of T, or another form.",
            "Send UTC such as 2026-01-15T10:30:00Z. Fractions of a second are fine; epoch seconds are not.",
        ),
        Refusal(
            f"X-Request-Timestamp is more than {settings.CLOCK_SKEW_SECONDS} seconds from the server's time, which is"
            " [time].",
            "Your clock is wrong, the request waited before it was sent, or local time was marked as Z.",
            "Compare with the time in the message. Run NTP. Sign each attempt at the moment of sending.",
        ),
        Refusal(
            NOT_VALID,
            "The key is unknown, revoked or expired; you are disabled; or the signature is not the one for this"
            " request. The answer is the same for all of them, so that nobody learns which keys exist.",
            "Check that key and secret belong together and to this environment. Then let the signature doctor"
            " compare your canonical request with ours.",
        ),
        Refusal(
            "This request was already received and has taken effect: sign the next one anew.",
            "A PATCH without an Idempotency-Key takes effect once for each signature, and this one has.",
            "Nothing is lost: the change was made. To be able to send again, use an Idempotency-Key.",
        ),
    ]
