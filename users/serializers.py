"""A user on the wire and in the table: the one place where camelCase meets snake_case."""

from collections.abc import Callable, Mapping
from datetime import date
from functools import partial
from typing import Any, NamedTuple

from rest_framework.serializers import BaseSerializer

from partners.api.errors import FieldError, UnprocessableEntityError, invalid_fields
from partners.api.json import JsonObject
from partners.sql import rfc_3339
from users import fields
from users.addresses import rules_for
from users.fields import FieldProblem
from users.queries import StoredUser, UserSummary

ADULT_YEARS = 18
NAME_LENGTH_IN_ERRORS = 100


class WireField(NamedTuple):
    """A field's column, its rule, whether create must have it, and what is stored where a create has no such field."""

    column: str
    rule: Callable[[Any], Any]
    required: bool = True
    absent: Any = ""


def _text(longest: int, shortest: int = 1) -> Callable[[Any], str]:
    return partial(fields.text, shortest=shortest, longest=longest)


# By the name on the wire, in the order in which errors name them.
WIRE_FIELDS: dict[str, WireField] = {
    "externalId": WireField("external_id", fields.external_id),
    "email": WireField("email", fields.email),
    "firstName": WireField("first_name", _text(100)),
    "lastName": WireField("last_name", _text(100)),
    "dateOfBirth": WireField("date_of_birth", fields.date_of_birth),
    "addressLine1": WireField("address_line1", _text(200)),
    "addressLine2": WireField("address_line2", fields.address_line2, required=False),
    "city": WireField("city", _text(100)),
    # Whether these two are required is the country's matter.
    "postalCode": WireField("postal_code", _text(16, shortest=0), required=False),
    "province": WireField("province", _text(100, shortest=0), required=False),
    "country": WireField("country", fields.country),
    "occupation": WireField("occupation", _text(100)),
    "isCiroAffiliate": WireField("is_ciro_affiliate", fields.boolean),
}


class UserSerializer(BaseSerializer[StoredUser | UserSummary]):
    """Checks the body of a create or of an update; shows a user. It keeps nothing, so that one is enough.

    Not DRF's field by field serializer: that one copies its fields for each request, and names
    neither unknown nor repeated ones.
    """

    def to_internal_value(self, data: JsonObject, stored: StoredUser | None = None) -> dict[str, Any]:
        """The values to store, by column: all of them for a create, those sent for an update of `stored`.

        Raises BadRequestError naming every failing field, then UnprocessableEntityError for a minor.
        """
        problems: dict[str, str] = {}
        values = _each_field(data, stored, problems)
        _address(data, stored, values, problems)
        problems |= dict.fromkeys(data.keys() - WIRE_FIELDS.keys(), "This field is not known.")
        problems |= dict.fromkeys(data.repeated, "This field is given more than once.")
        if problems:
            raise invalid_fields(_in_order(problems))
        if "date_of_birth" in values:
            require_adult(values["date_of_birth"])
        return values

    def to_representation(self, instance: StoredUser | UserSummary) -> dict[str, str]:
        """A user as update and read answer it: no personal data."""
        return {
            "userId": instance.id,
            "externalId": instance.external_id,
            "status": instance.status,
            "updatedAt": rfc_3339(instance.updated_at),
        }


class _Shim(UserSerializer):
    def __init__(self, instance=None, data=None, partial=False, **kwargs):
        super().__init__(instance, **({} if data is None else {"data": data}))
        self.stored = instance

    def is_valid(self, *, raise_exception=False):
        self._validated_data = self.to_internal_value(self.initial_data, self.stored)
        self._errors = {}
        return True


_Base, UserSerializer = UserSerializer, _Shim


def _each_field(data: JsonObject, stored: StoredUser | None, problems: dict[str, str]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name, field in WIRE_FIELDS.items():
        if name not in data:
            if stored is None and field.required:
                problems[name] = "This field is required."
            elif stored is None:
                values[field.column] = field.absent
        elif stored is not None and name == "externalId":
            problems[name] = "An externalId does not change."
        else:
            try:
                values[field.column] = field.rule(data[name])
            except FieldProblem as problem:
                problems[name] = str(problem)
    return values


def _address(
    data: Mapping[str, Any], stored: StoredUser | None, values: dict[str, Any], problems: dict[str, str]
) -> None:
    """Checks postal code and province against the country of the user that would be left behind."""
    country = values.get("country") or (stored.country if stored and "country" not in data else None)
    if country is None:
        return  # named as failing already
    rules = rules_for(country)
    for name, column, rule in (
        ("postalCode", "postal_code", rules.postal_code),
        ("province", "province", rules.province),
    ):
        if name in problems or (stored and name not in data and "country" not in data):
            continue
        if stored and name not in data:
            _keep(name, getattr(stored, column), rule, problems)
            continue
        try:
            values[column] = rule(values.get(column, ""))
        except FieldProblem as problem:
            problems[name] = str(problem)


def _keep(name: str, stored: str, rule: Callable[[str], str], problems: dict[str, str]) -> None:
    """Checks a stored code, which is not touched, against a new country: an error names what was sent."""
    try:
        fits = rule(stored) == stored
    except FieldProblem:
        fits = False
    if not fits:
        problems.setdefault("country", f"Does not fit the user's {name}: send both.")


def _in_order(problems: Mapping[str, str]) -> list[FieldError]:
    known = [name for name in WIRE_FIELDS if name in problems]
    others = sorted(problems.keys() - WIRE_FIELDS.keys())
    return [FieldError(_printable(name), problems[name]) for name in [*known, *others]]


def _printable(name: str) -> str:
    """A name that a partner made up, fit to be shown: JSON can hold what UTF-8 cannot."""
    return name[:NAME_LENGTH_IN_ERRORS].encode(errors="replace").decode()


def require_adult(born: date) -> None:
    """Raises UnprocessableEntityError before the 18th birthday; on 29 February born, that is 1 March."""
    if fields.age_in_years(born, on=fields.today()) < ADULT_YEARS:
        raise UnprocessableEntityError(f"The user must be at least {ADULT_YEARS} years old.")
