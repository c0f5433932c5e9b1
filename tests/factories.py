"""Rows and bodies for tests, made by the service's own functions."""

import itertools
import secrets
from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import factory
from django.utils import timezone

from partners.authentication import keys
from partners.models import ApiKey, Partner
from tests.support.client import PartnerClient, Transport
from transactions.models import Conversion
from users.models import Staff, Status, User
from users.models.columns import Profile
from users.services import profile as users
from users.services.compliance import change_status
from users.services.staff import create_staff

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


def issued_days_ago(key: ApiKey, days: float, **fields: Any) -> None:
    """Makes `key` another one of its partner, issued so long ago: when a key was issued never changes."""
    key.pk, key.prefix, key.digest = None, f"{keys.KEY_PREFIX}aged{next(_numbers):04}", secrets.token_bytes(32)
    key.created_at = timezone.now() - timedelta(days=days)
    for name, value in fields.items():
        setattr(key, name, value)
    key.save(force_insert=True)


def profile(**columns: Any) -> Profile:
    """The profile of a new user."""
    values: dict[str, Any] = {
        "email": "ada@example.com",
        "first_name": "Ada",
        "last_name": "Byron",
        "date_of_birth": date(1990, 12, 10),
        "address_line1": "100 King St W",
        "address_line2": "",
        "city": "Toronto",
        "postal_code": "",
        "province": "",
        "country": "CA",
        "occupation": "Engineer",
        "is_ciro_affiliate": False,
    }
    return Profile(**values | columns)


def create_user(partner: Partner, external_id: str = "") -> User:
    """A new user, by default with an externalId of its own."""
    external_id = external_id or f"user-{next(_numbers)}"
    return User.objects.get(pk=users.create_user(partner_id=partner.pk, external_id=external_id, profile=profile()).id)


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


def make_staff(role: str = "reviewer") -> Staff:
    """A staff account in a role, whose owner has chosen a password already."""
    number = next(_numbers)
    staff, _ = create_staff(username=f"staff-{number}", email=f"staff-{number}@example.com", role=role)
    staff.password_is_one_time = False
    staff.save(update_fields=["password_is_one_time"])
    return staff


def conversion_fields(user: User, **fields: Any) -> dict[str, Any]:
    """The columns of a conversion of this user, with a conversionId of its own."""
    return {
        "partner": user.partner,
        "user": user,
        "conversion_id": f"cv-{next(_numbers)}",
        "created_at": datetime(2026, 1, 15, 10, 30, tzinfo=UTC),
        "from_currency": "CAD",
        "from_amount": Decimal("100.00"),
        "to_currency": "USD",
        "to_amount": Decimal("71.50"),
        "rate": Decimal("0.715"),
    } | fields


_WAYS = {
    Status.PENDING_COMPLIANCE: (),
    Status.ACTIVE: (Status.ACTIVE,),
    Status.REJECTED: (Status.REJECTED,),
    Status.SUSPENDED: (Status.ACTIVE, Status.SUSPENDED),
    Status.CLOSED: (Status.ACTIVE, Status.CLOSED),
}


def move_to(user: User, status: Status) -> None:
    """Has staff decide about a new user until they stand in `status`."""
    for step in _WAYS[status]:
        change_status(user=user, to_status=step, by=make_staff(), reason="Papers seen.")


def add_conversions(user: User, moments: Iterable[datetime], **fields: Any) -> list[Conversion]:
    """Records a conversion of the user at each of these moments."""
    return Conversion.objects.bulk_create(
        [Conversion(**conversion_fields(user, created_at=moment, **fields)) for moment in moments]
    )
