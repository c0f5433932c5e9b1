"""How tests of this app send fields and look at what came of it."""

import re
from collections.abc import Mapping
from typing import Any, Protocol

from docs_site.reference import description
from tests.support.client import Response
from tests.support.responses import failing_fields
from users.models import User
from users.models.columns import PROFILE_COLUMNS

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


class Send(Protocol):
    """Sends fields, by their names on the wire."""

    def __call__(self, **fields: Any) -> Response: ...


def kept(name: str) -> Any:
    """What is stored of the only user in this field."""
    return getattr(User.objects.get(), column_of(name))


def refused(response: Response) -> list[str]:
    """The fields that a bad_request names; nothing that was sent is stored then."""
    assert set(User.objects.values_list("first_name", "city", "country")) <= {("Ada", "Toronto", "CA")}
    return failing_fields(response)
