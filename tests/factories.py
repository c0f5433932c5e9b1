"""Factories of each model, by the service's own functions where it has one, and of the bodies that partners send."""

import secrets
from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any
from unittest.mock import patch
from uuid import uuid4

import factory
from django.contrib.auth.models import Group
from django.db.models.expressions import DatabaseDefault
from django.utils import timezone
from factory.declarations import LazyAttribute, LazyFunction, SelfAttribute, Sequence, SubFactory

from core import encryption
from core.database import statements
from events.feed.relay import Relay
from events.models import DeliveryState, Event, EventType, WebhookDelivery, WebhookEndpoint
from events.webhooks import addresses, endpoints
from partners.authentication import keys
from partners.authentication.signature_authentication import digest, visible_prefix
from partners.models import KEY_PREFIXES, SECRET_PREFIXES, ApiKey, Mode, Partner
from staff.models import Staff
from tests.support.client import PartnerClient, Transport
from tests.support.internal import REASON
from transactions.documents.publishing import publish
from transactions.models import Conversion, Document, DocumentType
from users import claims, queries
from users.decisions import compliance
from users.models import AccessKind, AccessRecord, Claim, Requirement, RequirementCode, Status, StatusChange, User
from users.models.columns import PROFILE_COLUMNS, Profile
from users.requirements import open_requirement, respond

NOON = datetime(2026, 1, 15, 12, tzinfo=UTC)

_DECISIONS: dict[str, tuple[Status, ...]] = {
    Status.PENDING_COMPLIANCE: (),
    Status.ACTIVE: (Status.ACTIVE,),
    Status.REJECTED: (Status.REJECTED,),
    Status.SUSPENDED: (Status.ACTIVE, Status.SUSPENDED),
    Status.CLOSED: (Status.ACTIVE, Status.CLOSED),
}


class PartnerFactory(factory.django.DjangoModelFactory[Partner]):
    """A partner."""

    class Meta:
        model = Partner

    slug = Sequence(lambda n: f"made-{n}")
    name = "A Partner Inc."


class ApiKeyFactory(factory.django.DjangoModelFactory[ApiKey]):
    """A key; with `age`, one issued that long ago: no function makes one, because created_at never changes."""

    class Meta:
        model = ApiKey

    partner = SubFactory(PartnerFactory)

    @classmethod
    def _create(cls, model_class: type[ApiKey], *, age: timedelta | None = None, **fields: Any) -> ApiKey:
        partner = fields.pop("partner")
        key = keys.issue(partner=partner).record
        if age is not None:
            key.pk, key.prefix, key.digest = (
                None,
                f"{KEY_PREFIXES[partner.mode]}{secrets.token_hex(4)}",
                secrets.token_bytes(32),
            )
            key.created_at = timezone.now() - age
            for name, value in fields.items():
                setattr(key, name, value)
            key.save(force_insert=True)
        return key


class StaffFactory(factory.django.DjangoModelFactory[Staff]):
    """A staff account in a role, whose owner has chosen a password; `role=""` gives a superuser without one."""

    class Meta:
        model = Staff

    username = Sequence(lambda n: f"staff-{n}")
    role = "reviewer"

    @classmethod
    def _create(cls, model_class: type[Staff], *, username: str, role: str) -> Staff:
        if not role:
            return Staff.objects.create(username=username, is_staff=True, is_superuser=True)
        staff: Staff = Staff.objects.create_user(
            username, f"{username}@example.com", secrets.token_urlsafe(), is_staff=True
        )
        staff.groups.add(Group.objects.get(name=role))
        return staff


def add_endpoint(*, partner: Partner, url: str, **fields: Any) -> tuple[WebhookEndpoint, str]:
    """Add a webhook as a command does; return it and its secret."""
    return endpoints.create_endpoint(partner=partner, url=addresses.checked(url), **fields)


class WebhookEndpointFactory(factory.django.DjangoModelFactory[WebhookEndpoint]):
    """A webhook, whose host name need not resolve."""

    class Meta:
        model = WebhookEndpoint

    partner = SubFactory(PartnerFactory)
    url = Sequence(lambda n: f"https://hooks-{n}.example.com/events")

    @classmethod
    def _create(cls, model_class: type[WebhookEndpoint], **fields: Any) -> WebhookEndpoint:
        with patch.object(addresses, "look_up"):
            return add_endpoint(**fields)[0]


class ProfileFactory(factory.base.Factory[Profile]):
    """The columns that a partner may change."""

    class Meta:
        model = Profile

    email = "ada@example.com"
    first_name = "Ada"
    last_name = "Byron"
    date_of_birth = date(1990, 12, 10)
    address_line1 = "100 King St W"
    city = "Toronto"
    country = "CA"
    occupation = "Engineer"
    is_ciro_affiliate = False

    @classmethod
    def _build(cls, model_class: type[Profile], **given: Any) -> Profile:
        return model_class(**dict.fromkeys(PROFILE_COLUMNS, "") | given)


class UserFactory(factory.django.DjangoModelFactory[User]):
    """A user, in a status that staff decided."""

    class Meta:
        model = User

    partner = SubFactory(PartnerFactory)
    external_id = Sequence(lambda n: f"user-{n}")
    status = Status.PENDING_COMPLIANCE

    @classmethod
    def _create(cls, model_class: type[User], **fields: Any) -> User:
        partner, external_id, status = (fields.pop(name) for name in ("partner", "external_id", "status"))
        profile = ProfileFactory.build(**{name: fields.pop(name) for name in PROFILE_COLUMNS if name in fields})
        assert not fields, fields
        [created] = statements.fetch(queries.insert(partner.pk, external_id, profile))
        user = User.objects.get(pk=created[0])
        decide(user, status)
        return user


class StatusChangeFactory(factory.django.DjangoModelFactory[StatusChange]):
    """A decision on a pending user."""

    class Meta:
        model = StatusChange

    user = SubFactory(UserFactory)
    to_status = Status.ACTIVE
    by = SubFactory(StaffFactory)
    reason = REASON

    @classmethod
    def _create(cls, model_class: type[StatusChange], **fields: Any) -> StatusChange:
        return compliance.decide(compliance.Decision(**fields))


class RequirementFactory(factory.django.DjangoModelFactory[Requirement]):
    """What compliance asks of a partner."""

    class Meta:
        model = Requirement

    user = SubFactory(UserFactory)
    code = RequirementCode.ADDRESS_UNCLEAR
    fields = ("address_line1", "postal_code")
    message = "The postal code is not in the province."
    due_in_days = 14
    by = SubFactory(StaffFactory)

    @classmethod
    def _create(cls, model_class: type[Requirement], **fields: Any) -> Requirement:
        return open_requirement(**fields)


class EventFactory(factory.django.DjangoModelFactory[Event]):
    """An event in the feed of a partner, without deliveries: the latest decision about a user."""

    class Meta:
        model = Event

    partner = SubFactory(PartnerFactory)
    user = SubFactory(
        UserFactory,
        partner=SelfAttribute("..partner"),
        external_id=Sequence(lambda n: f"decided-{n}"),
        status=Status.ACTIVE,
    )

    @classmethod
    def _create(cls, model_class: type[Event], *, partner: Partner, user: User) -> Event:
        Relay().assign_positions()
        event = Event.objects.filter(partner=partner, user_id=user.pk, type=EventType.STATUS_CHANGED).latest("id")
        event.deliveries.all().delete()
        return event


class WebhookDeliveryFactory(factory.django.DjangoModelFactory[WebhookDelivery]):
    """A delivery of an event, in any state."""

    class Meta:
        model = WebhookDelivery

    endpoint = SubFactory(WebhookEndpointFactory)
    event = SubFactory(EventFactory, partner=SelfAttribute("..endpoint.partner"))
    event_uuid = SelfAttribute("event.event_id")
    type = SelfAttribute("event.type")
    user_id = SelfAttribute("event.user_id")
    position = SelfAttribute("event.position")
    state = DeliveryState.PENDING
    attempt_count = LazyAttribute(lambda fields: len(fields.attempts))
    attempts: Any = ()
    next_attempt_at = LazyAttribute(lambda fields: timezone.now() if fields.state == DeliveryState.PENDING else None)
    ended_at = LazyAttribute(lambda fields: None if fields.state == DeliveryState.PENDING else timezone.now())


class ClaimFactory(factory.django.DjangoModelFactory[Claim]):
    """A claim on a pending user."""

    class Meta:
        model = Claim

    user = SubFactory(UserFactory)
    staff = SubFactory(StaffFactory)

    @classmethod
    def _create(cls, model_class: type[Claim], *, user: User, staff: Staff) -> Claim:
        return claims.claim(user=user, staff=staff)


class AccessRecordFactory(factory.django.DjangoModelFactory[AccessRecord]):
    """An entry of the access log."""

    class Meta:
        model = AccessRecord

    kind = AccessKind.OPENED
    user = SubFactory(UserFactory)
    staff = SubFactory(StaffFactory)


class UserBodyFactory(factory.base.DictFactory):
    """See user_body."""

    externalId = Sequence(lambda n: f"user-{n}")
    email = "ada@example.com"
    firstName = "Ada"
    lastName = "Byron"
    dateOfBirth = "1990-12-10"
    addressLine1 = "100 King St W"
    addressLine2 = "Suite 200"
    city = "Toronto"
    postalCode = "M5X 1A9"
    province = "ON"
    country = "CA"
    occupation = "Engineer"
    isCiroAffiliate = False


class ConversionFactory(factory.django.DjangoModelFactory[Conversion]):
    """A conversion; imports store them by COPY, so this inserts a row."""

    class Meta:
        model = Conversion

    user = SubFactory(UserFactory)
    partner = SelfAttribute("user.partner")
    is_sandbox = SelfAttribute("user.is_sandbox")
    conversion_id = Sequence(lambda n: f"cv-{n}")
    created_at = datetime(2026, 1, 15, 10, 30, tzinfo=UTC)
    from_currency = "CAD"
    from_amount = Decimal("100.00")
    to_currency = "USD"
    to_amount = Decimal("71.50")
    rate = Decimal("0.715")

    @classmethod
    def _create(cls, model_class: type[Conversion], **fields: Any) -> Conversion:
        [conversion] = insert_conversions([model_class(**fields)])
        return conversion


class DocumentFactory(factory.django.DjangoModelFactory[Document]):
    """A document; with `content` it is published and has a file, otherwise it is a row for lists."""

    class Meta:
        model = Document

    user = SubFactory(UserFactory)
    partner = SelfAttribute("user.partner")
    is_sandbox = SelfAttribute("user.is_sandbox")
    created_at = NOON
    type = DocumentType.ACCOUNT_STATEMENT
    title = "March 2026"
    content_type = "application/pdf"
    size_bytes = 10
    sha256 = b"\x07" * 32
    storage_name = LazyFunction(lambda: f"absent/{uuid4()}")

    @classmethod
    def _create(cls, model_class: Any, *, content: bytes | None = None, **fields: Any) -> Document:
        if content is None:
            return Document.objects.create(**fields)
        named = {name: fields[name] for name in ("user", "title", "content_type", "created_at")}
        return publish(content=content, kind=fields["type"], **named)


def user_body(**fields: Any) -> dict[str, Any]:
    """Return the body of a create that passes every rule, with an externalId of its own."""
    body: dict[str, Any] = UserBodyFactory.create(**fields)
    return body


def columns_of(model_factory: type[factory.base.Factory[Any]], **fields: Any) -> dict[str, Any]:
    """Return what a factory would store, by the model's fields."""
    columns: dict[str, Any] = factory.helpers.build(dict, FACTORY_CLASS=model_factory, **fields)
    return columns


def client_of(partner: Partner, transport: Transport) -> PartnerClient:
    """A client with a new key of this partner."""
    mode = Mode(partner.mode)
    api_key, secret = (prefixes[mode] + secrets.token_urlsafe() for prefixes in (KEY_PREFIXES, SECRET_PREFIXES))
    # What `keys.issue` asks of a partner's other keys takes longer than most requests.
    ApiKey.objects.create(
        partner=partner,
        prefix=visible_prefix(api_key),
        digest=digest(api_key),
        encrypted_secret=encryption.encrypt(secret, purpose=encryption.API_SECRETS),
    )
    return PartnerClient(api_key, secret, transport)


def decide(user: User, status: str) -> None:
    """Have staff decide on a pending user until the user has this status."""
    for to_status in _DECISIONS[status]:
        StatusChangeFactory.create(user=user, to_status=to_status)


def answer(requirement: Requirement, note: str = "As asked.") -> None:
    """Have the partner answer by a note."""
    respond(requirement=requirement, note=note)


def reopen(user: User, *, reason: str = REASON, reason_code: str | None = None) -> None:
    """Have staff reject a pending user, for this reason, and reopen the case."""
    StatusChangeFactory.create(user=user, to_status=Status.REJECTED, reason=reason, reason_code=reason_code)
    StatusChangeFactory.create(user=user, to_status=Status.PENDING_COMPLIANCE)


def add_conversions(user: User, times: Iterable[datetime], **fields: Any) -> list[Conversion]:
    """Store a conversion of the user at each of these times."""
    return insert_conversions([ConversionFactory.build(user=user, created_at=time, **fields) for time in times])


def insert_conversions(conversions: list[Conversion]) -> list[Conversion]:
    """Insert them by one statement, without the columns that are the database's; return them as stored."""
    if not conversions:
        return []
    fields = [
        field
        for field in Conversion._meta.concrete_fields
        if field.attname not in {"id", "recorded_at", "reaches_threshold"}
    ]
    rows, values = [], []
    for conversion in conversions:
        given = [getattr(conversion, field.attname) for field in fields]
        rows.append(", ".join("DEFAULT" if isinstance(value, DatabaseDefault) else "%s" for value in given))
        values += [value for value in given if not isinstance(value, DatabaseDefault)]
    columns = ", ".join(field.attname for field in fields)
    statement = f"INSERT INTO transactions_conversion ({columns}) VALUES ({'), ('.join(rows)}) RETURNING *"
    return list(Conversion.objects.raw(statement, values))


def add_documents(user: User, times: Iterable[datetime], **fields: Any) -> list[Document]:
    """Store a document without a file at each of these times."""
    return [DocumentFactory.create(user=user, created_at=time, **fields) for time in times]
