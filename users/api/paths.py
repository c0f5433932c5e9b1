"""What paths under /v1/users name: checks of their parts, and the user. Contract, section 1."""

from collections.abc import Sequence

from django.core.exceptions import ValidationError

from core.database.statements import T
from core.formats.forms import is_uuid
from partners.api.errors import BadRequestError, FieldError, NotFoundError
from users.profile import field_rules


def check_external_id(external_id: str) -> None:
    """Raise BadRequestError where the externalId is not valid."""
    if field_errors := external_id_errors(external_id):
        raise BadRequestError(field_errors=field_errors)


def check_requirement(external_id: str, requirement_id: str) -> None:
    """Raise BadRequestError where one of the two is not valid."""
    field_errors = external_id_errors(external_id)
    if not is_uuid(requirement_id):
        field_errors.append(FieldError("requirementId", "Must be a UUID.", "format"))
    if field_errors:
        raise BadRequestError(field_errors=field_errors)


def external_id_errors(external_id: str) -> list[FieldError]:
    """The errors of the externalId, if any."""
    try:
        field_rules.external_id(external_id)
    except ValidationError as error:
        return [FieldError("externalId", str(error.message), error.code or "format")]
    return []


def found(users: Sequence[T]) -> T:
    """The user that a query has found. Raises NotFoundError, whether or not another partner has one."""
    if not users:
        raise NotFoundError("User not found.")
    return users[0]
