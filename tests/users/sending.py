"""How tests of this app send fields and look at what came of it."""

import re
from collections.abc import Mapping
from typing import Any, Protocol

from tests.support.client import Response
from tests.support.responses import failing_fields
from users.models import User
from users.models.columns import PROFILE_COLUMNS

# A valid change of each field but the country, which is changed together with what depends on it.
CHANGES: dict[str, Any] = {
    "email": "bob@example.com",
    "firstName": "Bob",
    "lastName": "Gray",
    "dateOfBirth": "1985-06-07",
    "addressLine1": "1 Elgin St",
    "addressLine2": "Floor 3",
    "city": "Ottawa",
    "postalCode": "K1P 5W1",
    "province": "QC",
    "occupation": "Nurse",
    "isCiroAffiliate": True,
}
# The longest of each: contract, section 2.
TEXTS = {"firstName": 100, "lastName": 100, "addressLine1": 200, "city": 100, "occupation": 100}
OPTIONAL_TEXTS = {"addressLine2": 200}


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
