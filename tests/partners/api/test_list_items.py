"""The items of lists, which PostgreSQL writes, are byte for byte what Python makes of the rows: contract, section 6."""

import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import orjson
import pytest
from django.db import connection
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.database import statements
from core.database.schema import json_text, wire_time
from core.formats import format_timestamp
from events.models import Event
from partners.api.lists import MAX_LIMIT, KeysetList
from partners.models import Partner
from tests import factories
from tests.support.client import PartnerClient
from tests.support.events import place_events
from transactions.models import EARLIEST, LATEST, Conversion, Document
from users.models import Status, User

# Between letters: at the ends the contract does not allow all of them.
TEXTS = [
    f"x{'x'.join(texts)}x"
    for texts in (
        ('"', "\\", "'", '"\\\'"', "\\u0041", "%s %% %(a)s", "{}[]:, ", "<b>&amp;<!-- -->", "  "),
        ("é", "e\u0301", "東京都", "שלום", "\u202eabc\u202c", "\u200f", "\u2028\u2029", "\ufeff", "\ufffd", "\uffff"),
        ("👩‍👩‍👧‍👦", "\U0001f1e8\U0001f1e6", "\U0010ffff", "\xad", "\xa0"),
        ("a" * 126,),
    )
]
MOMENTS = (
    EARLIEST,
    datetime(999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
    datetime(2026, 1, 15, 12, tzinfo=UTC),
    datetime(2026, 1, 15, 12, 0, 0, 1, tzinfo=UTC),
    datetime(2026, 1, 15, 12, 0, 0, 100000, tzinfo=UTC),
    datetime(2026, 7, 15, 0, 30, tzinfo=timezone(timedelta(hours=14))),
    LATEST - timedelta(microseconds=1),
)
NUMBERS = (
    *("0.000000000000000001", "1", "100.00", "0.10", "10", "1e19"),
    *("99999999999999999999.999999999999999999", "99999999999999999999"),
)


def conversion(row: Conversion) -> dict[str, Any]:
    return {
        "conversionId": row.conversion_id,
        "createdAt": format_timestamp(row.created_at),
        "type": row.type,
        "from": {"currency": row.from_currency, "amount": format(row.from_amount, "f")},
        "to": {"currency": row.to_currency, "amount": format(row.to_amount, "f")},
        "rate": format(row.rate, "f"),
    }


def document(row: Document) -> dict[str, Any]:
    return {
        "documentId": str(row.document_id),
        "createdAt": format_timestamp(row.created_at),
        "type": row.type,
        "title": row.title,
        "contentType": row.content_type,
        "sizeBytes": row.size_bytes,
        "sha256": bytes(row.sha256).hex(),
    }


def listed_user(row: User) -> dict[str, Any]:
    return {
        "userId": str(row.pk),
        "externalId": row.external_id,
        "status": row.status,
        "createdAt": format_timestamp(row.created_at),
        "updatedAt": format_timestamp(row.updated_at),
        "openRequirements": row.open_requirements,
    }


def event(row: Event) -> dict[str, Any]:
    return {
        "eventId": str(row.event_id),
        "type": row.type,
        "createdAt": format_timestamp(row.created_at),
        "data": row.data,
    }


def assert_listed(api: PartnerClient, path: str, items: Iterable[dict[str, Any]], **head: object) -> None:
    """The list, of one page, whatever the session's formats are."""
    expected = orjson.dumps({**head, "items": list(items)})
    for setting, value in (("timezone", "UTC"), ("timezone", "Asia/Kolkata"), ("datestyle", "SQL, DMY")):
        with connection.cursor() as cursor:
            cursor.execute("SELECT set_config(%s, %s, true)", [setting, value])
        assert api.get(f"{path}?limit={MAX_LIMIT}").body == expected


@pytest.fixture
def users_of_texts(partner: Partner) -> list[User]:
    return [factories.UserFactory.create(partner=partner, external_id=text) for text in TEXTS]


def test_conversions(api: PartnerClient, ada: User) -> None:
    made = [
        *factories.add_conversions(ada, MOMENTS),
        *(
            factories.ConversionFactory.create(
                user=ada, from_amount=Decimal(number), to_amount=Decimal(number), rate=Decimal(number)
            )
            for number in NUMBERS
        ),
        *(
            factories.ConversionFactory.create(user=ada, from_amount=Decimal(zero), to_amount=Decimal(zero))
            for zero in ("0", "0.00", "0E-18")
        ),
        factories.ConversionFactory.create(
            user=ada, conversion_id="A-z_0.9" * 9, from_currency="A" * 10, to_currency="099"
        ),
    ]
    made.sort(key=lambda row: (row.created_at, row.tiebreak), reverse=True)
    head = {"externalId": "ada", "userId": str(ada.pk), "nextCursor": None}
    assert_listed(api, "/v1/users/ada/transactions", map(conversion, made), **head)


def test_documents(api: PartnerClient, ada: User) -> None:
    made = [
        *factories.add_documents(ada, MOMENTS),
        *(factories.DocumentFactory.create(user=ada, title=text) for text in (*TEXTS, "a/b")),
        factories.DocumentFactory.create(user=ada, content_type="text/csv", size_bytes=2**63 - 1, sha256=b"\xff" * 32),
        factories.DocumentFactory.create(user=ada, title="𝕏" * 200, size_bytes=1, sha256=bytes(32)),
    ]
    made = list(Document.objects.filter(pk__in=[row.pk for row in made]).order_by("-created_at", "-tiebreak"))
    head = {"externalId": "ada", "userId": str(ada.pk), "nextCursor": None}
    assert_listed(api, "/v1/users/ada/documents", map(document, made), **head)


def test_users(api: PartnerClient, users_of_texts: list[User]) -> None:
    factories.RequirementFactory.create(user=users_of_texts[0])
    for user, status in zip(users_of_texts[1:], (Status.ACTIVE, Status.REJECTED), strict=False):
        factories.decide(user, status)
    users = User.objects.filter(partner=users_of_texts[0].partner).order_by("-created_at", "-id")
    assert_listed(api, "/v1/users", map(listed_user, users), nextCursor=None)


def test_events(api: PartnerClient, partner: Partner, users_of_texts: list[User]) -> None:
    for user in users_of_texts:
        # Its data has a null.
        factories.decide(user, Status.REJECTED)
    factories.add_conversions(users_of_texts[0], MOMENTS)
    factories.RequirementFactory.create(user=factories.UserFactory.create(partner=partner))
    place_events()
    events = Event.objects.filter(partner=partner).order_by("position")
    head = {"nextCursor": f"{len(events):016x}", "hasMore": False}
    assert_listed(api, "/v1/events", map(event, events), **head)


ANY_FIXTURE = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))


def written(expression: str, value: str) -> str:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {expression}", [value])
        [text] = cursor.fetchone() or [""]
    return str(text)


@ANY_FIXTURE
@given(text=TEXT)
def test_a_text_is_escaped_as_orjson_does(db: None, text: str) -> None:
    assert written(json_text('{"a":%s}', "to_json(%s::text)"), text) == orjson.dumps({"a": text}).decode()


# Offsets of a day at most: no moment leaves the years that Python has.
IN_ANY_ZONE = st.datetimes(
    min_value=datetime(1, 1, 2),  # noqa: DTZ001 - the offset follows
    max_value=datetime(9999, 12, 30),  # noqa: DTZ001
    timezones=st.integers(-14, 14).map(lambda hours: timezone(timedelta(hours=hours))),
)


@ANY_FIXTURE
@given(moment=IN_ANY_ZONE)
def test_a_time_is_as_python_writes_it(db: None, moment: datetime) -> None:
    expected = format_timestamp(moment)
    assert written(wire_time("%s::timestamptz"), expected) == expected


@pytest.mark.parametrize("model", [Conversion, Document, Event, User])
def test_no_column_of_an_item_can_be_null(model: Any) -> None:
    # A null would make the whole item null, and the list would leave it out.
    shown = [field for field in model._meta.concrete_fields if re.search(rf"\b{field.column}\b", model.wire)]
    assert shown
    assert [field.column for field in shown if field.null] == []


@pytest.mark.django_db
@pytest.mark.parametrize("is_oldest_first", [True, False])
@pytest.mark.parametrize("key", [{"created_at": "timestamptz"}, {"tiebreak": "bigint"}, {"user_id": "uuid"}], ids=str)
def test_a_first_page_begins_at_the_beginning_of_any_order(
    partner: Partner, *, key: dict[str, str], is_oldest_first: bool
) -> None:
    [column] = key
    for day in range(1, 4):
        user = factories.UserFactory.create(partner=partner)
        factories.ConversionFactory.create(user=user, created_at=datetime(2026, 1, day, tzinfo=UTC))
    rows = KeysetList(
        table="transactions_conversion",
        item="to_json(conversion_id)",
        owner="SELECT %s::bigint AS id",
        of_owner="partner_id = owner.id",
        key=key,
        is_oldest_first=is_oldest_first,
    )
    [page] = statements.fetch(rows.page((partner.pk,), None, MAX_LIMIT))
    found = Conversion.objects.filter(partner=partner).order_by(column if is_oldest_first else f"-{column}")
    assert orjson.loads(page.items) == [one.conversion_id for one in found]
