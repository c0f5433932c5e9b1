"""Rows and bodies for tests, made by the service's own functions."""

import itertools
from typing import Any

import factory

from partners import keys
from partners.models import Partner
from tests.client import PartnerClient, Transport

_numbers = itertools.count(1)


class PartnerFactory(factory.django.DjangoModelFactory[Partner]):
    """A partner."""

    class Meta:
        model = Partner

    slug = factory.declarations.Sequence(lambda n: f"made-{n}")  # type: ignore[no-untyped-call]
    name = "A Partner Inc."


def client_of(partner: Partner, transport: Transport) -> PartnerClient:
    """A client with a new key of this partner."""
    issued = keys.issue(partner=partner)
    return PartnerClient(issued.api_key, issued.secret, transport)


def user_body(**fields: Any) -> dict[str, Any]:
    """The body of a create that passes every rule, with an externalId of its own."""
    return {
        "externalId": f"user-{next(_numbers)}",
        "email": "ada@example.com",
        "firstName": "Ada",
        "lastName": "Byron",
        "dateOfBirth": "1990-12-10",
        "addressLine1": "100 King St W",
        "addressLine2": "Suite 200",
        "city": "Toronto",
        "postalCode": "M5X 1A9",
        "province": "ON",
        "country": "CA",
        "occupation": "Engineer",
        "isCiroAffiliate": False,
    } | fields
