"""The fields of a user in requests, and what comes of them."""

import re
from collections.abc import Collection, Mapping
from typing import Any

from rest_framework.exceptions import ValidationError

from docs_site.reference import description
from tests.factories import user_body
from tests.support.client import Response
from tests.support.responses import failing_fields
from users.api.serializers import CREATE, UPDATE
from users.models import User
from users.models.columns import PROFILE_COLUMNS, Profile

# What the description says of each field of an update.
FIELDS: dict[str, Any] = description()["components"]["schemas"]["UserChanges"]["properties"]
# A valid change of each field but the country, which is changed together with what depends on it.
CHANGES: dict[str, Any] = {
    name: field["examples"][0] for name, field in FIELDS.items() if name != "country" and "examples" in field
} | {
    "email": "bob@example.com",
    "firstName": "Bob",
    "lastName": "Gray",
    "dateOfBirth": "1985-06-07",
    "addressLine2": "Floor 3",
    "province": "QC",
    "occupation": "Nurse",
    "isCiroAffiliate": True,
}
# The longest of each text that depends on no other field.
_LENGTHS = {
    name: field["maxLength"]
    for name, field in FIELDS.items()
    if "maxLength" in field and name not in {"email", "postalCode", "province"}
}
TEXTS = {name: length for name, length in _LENGTHS.items() if FIELDS[name]["minLength"] > 0}
OPTIONAL_TEXTS = {name: length for name, length in _LENGTHS.items() if name not in TEXTS}


def column_of(name: str) -> str:
    """The column of a field."""
    return re.sub("[A-Z]", lambda letter: f"_{letter[0].lower()}", name)


def columns_of(body: Mapping[str, Any]) -> dict[str, Any]:
    """What a create with this body stores of it; what it does not name is the empty text."""
    return dict.fromkeys(PROFILE_COLUMNS, "") | {column_of(name): value for name, value in body.items()}


def refused(response: Response) -> list[str]:
    """The fields that a bad_request names; nothing that was sent is stored then."""
    assert set(User.objects.values_list("first_name", "city", "country")) <= {("Ada", "Toronto", "CA")}
    return failing_fields(response)


# The rules of bodies, without a request: that creates and updates follow them is tested in tests/users/api.


def stored(name: str, value: Any, **others: Any) -> Any:
    """What a create with this value stores of the field."""
    _external_id, profile = CREATE.new_user(user_body(**others | {name: value}))
    return getattr(profile, column_of(name))


def updated(profile: Profile, **fields: Any) -> Profile:
    """What an update leaves behind."""
    return UPDATE.updated(fields, profile)[0]


def field_errors(profile: Profile | None = None, /, *, without: Collection[str] = (), **fields: Any) -> dict[str, str]:
    """The codes of the fields that a create refuses, or an update of this profile. without: what is not sent."""
    try:
        if profile is not None:
            updated(profile, **fields)
        else:
            CREATE.new_user({name: value for name, value in user_body(**fields).items() if name not in without})
    except ValidationError as error:
        detail: Any = error.detail
        return {name: problems[0].code for name, problems in detail.items()}
    return {}


def invalid_fields(**fields: Any) -> list[str]:
    """The fields that a create refuses."""
    return list(field_errors(**fields))
