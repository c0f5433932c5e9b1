"""How tests of this app send fields and look at what came of it."""

from typing import Any, Protocol

from tests.support.client import Response
from tests.support.responses import failing_fields
from users.models import User

_COLUMNS = {
    "firstName": "first_name",
    "lastName": "last_name",
    "dateOfBirth": "date_of_birth",
    "addressLine1": "address_line1",
    "addressLine2": "address_line2",
    "postalCode": "postal_code",
    "isCiroAffiliate": "is_ciro_affiliate",
}


class Send(Protocol):
    """Sends fields, by their names on the wire, in a create or an update."""

    def __call__(self, **fields: Any) -> Response: ...


def kept(name: str) -> Any:
    """What is stored of the only user in this field."""
    return getattr(User.objects.get(), _COLUMNS.get(name, name))


def refused(response: Response) -> list[str]:
    """The fields that a bad_request names; nothing that was sent is stored then."""
    assert set(User.objects.values_list("first_name", "city", "country")) <= {("Ada", "Toronto", "CA")}
    return failing_fields(response)
