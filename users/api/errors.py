"""Errors that several operations on a user share: contract, section 1."""

from django.core.exceptions import ValidationError

from partners.api.errors import ConflictError, FieldError, NotFoundError, invalid_parameter
from users.profile import field_rules

NOT_A_UUID = "Must be a UUID."
BAD_REQUIREMENT_ID = invalid_parameter("requirementId", NOT_A_UUID)


def external_id_taken() -> ConflictError:
    """The error for an externalId that another user of this partner has."""
    return ConflictError("A user with this externalId already exists.")


def user_not_found() -> NotFoundError:
    """The error for a user that this partner does not have, whether or not another partner does."""
    return NotFoundError("User not found.")


def requirement_not_found() -> NotFoundError:
    """The error for a requirement that this user does not have."""
    return NotFoundError("Requirement not found.")


def external_id_errors(external_id: str) -> list[FieldError]:
    """The errors of the externalId in a path, if any."""
    try:
        field_rules.external_id(external_id)
    except ValidationError as error:
        return [FieldError("externalId", str(error.message), error.code or "format")]
    return []
