"""UserSerializer through DRF's interface: what a view, a command or a shell may rely on."""

import threading
from collections.abc import Callable
from datetime import date
from typing import Any
from uuid import uuid4

import pytest
from django.core.exceptions import ValidationError
from django.utils import translation

from partners.api.errors import BadRequestError, UnprocessableEntityError
from partners.api.json import parse_object
from partners.api.rule_fields import TextField
from tests import factories
from tests.users.sending import columns_of
from users.api.serializers import UserSerializer
from users.models.columns import FIELD_NAMES
from users.profile.field_rules import today
from users.queries import UserSummary

MINOR = f"{today().year - 1}-01-01"


STORED = UserSummary(str(uuid4()), "ada", "active", "2026-01-15 10:30:00.1234+00", "2026-01-14 09:00:00+00", "", 0, 0)


def update(data: dict[str, Any], **columns: Any) -> UserSerializer:
    profile = factories.ProfileFactory.build(**{"postal_code": "M5X 1A9", "province": "ON"} | columns)
    return UserSerializer(profile, data=data, partial=True)


def test_a_create_is_validated_from_a_plain_dict() -> None:
    serializer = UserSerializer(data=factories.user_body(externalId="ada", province="on", firstName=" Ada "))
    assert serializer.is_valid()
    assert serializer.errors == {}
    body = factories.user_body(externalId="ada")
    assert serializer.validated_data == columns_of(body) | {"date_of_birth": date(1990, 12, 10)}


def test_the_profile_of_a_create_and_of_an_update_is_typed() -> None:
    create = UserSerializer(data=factories.user_body(addressLine2=None, postalCode="m5x1a9"))
    assert create.is_valid()
    assert create.profile == factories.ProfileFactory.build(postal_code="M5X 1A9", province="ON")
    changed = update({"city": "Ottawa"})
    assert changed.is_valid()
    assert changed.profile == create.profile._replace(city="Ottawa")


def test_every_column_of_the_profile_has_a_field() -> None:
    names = {str(field.source): name for name, field in UserSerializer().fields.items() if not field.read_only}
    assert names == {"external_id": "externalId", **FIELD_NAMES}


def test_errors_name_all_failing_fields_in_declared_order_and_then_unknown_ones() -> None:
    body = factories.user_body(zodiac="Leo", age=3, status="active", city="", postalCode="12345", email=1)
    del body["occupation"]
    serializer = UserSerializer(data=body)
    assert not serializer.is_valid()
    assert list(serializer.errors.items()) == [
        ("email", ["Must be a string."]),
        ("city", ["Must not be empty."]),
        ("postalCode", ["Must be a postal code of country CA, such as H3Z 2Y7."]),
        ("occupation", ["This field is required."]),
        ("age", ["Unknown field."]),
        ("status", ["Unknown field."]),
        ("zodiac", ["Unknown field."]),
    ]
    assert serializer.validated_data == {}


def test_an_exception_names_what_errors_names() -> None:
    serializer = UserSerializer(data=factories.user_body(email="nobody", country="XX"))
    with pytest.raises(BadRequestError) as caught:
        serializer.is_valid(raise_exception=True)
    assert {error.field: [error.message] for error in caught.value.field_errors} == serializer.errors
    assert list(serializer.errors) == ["email", "country"]


def test_a_name_given_twice_is_an_error_where_the_data_knows_of_it() -> None:
    serializer = update(parse_object(b'{"city": "Ottawa", "city": "Ottawa", "x": 1, "x": 2}'))
    assert not serializer.is_valid()
    assert serializer.errors == {name: ["Duplicate field."] for name in ("city", "x")}


@pytest.mark.parametrize("data", [[], "ada", 1, None], ids=repr)
def test_what_is_no_object_is_a_bad_request_that_blames_no_field(data: Any) -> None:
    serializer = UserSerializer(data=data)
    assert not serializer.is_valid()
    with pytest.raises(BadRequestError) as caught:
        serializer.is_valid(raise_exception=True)
    assert caught.value.field_errors == ()


def test_an_update_is_validated_as_the_user_that_it_leaves_behind() -> None:
    serializer = update({"postalCode": "k1p5w1", "city": " Ottawa "})
    assert serializer.is_valid()
    assert serializer.validated_data == {"postal_code": "K1P 5W1", "city": "Ottawa"}
    assert not update({"postalCode": "k1p5w1"}, country="US", province="NY").is_valid()


def test_an_update_names_only_what_was_sent() -> None:
    serializer = update({"country": "US"})
    assert not serializer.is_valid()
    message = "Does not match the user's postalCode and province: send their new values too."
    assert serializer.errors == {"country": [message]}
    serializer = update({"country": "US", "province": "NY"})
    assert not serializer.is_valid()
    assert serializer.errors == {"country": ["Does not match the user's postalCode: send its new value too."]}


def test_an_update_of_nothing_is_valid() -> None:
    serializer = update({})
    assert serializer.is_valid()
    assert serializer.validated_data == {}


def test_an_external_id_cannot_be_changed() -> None:
    serializer = update({"externalId": "ada"})
    assert not serializer.is_valid()
    assert serializer.errors == {"externalId": ["externalId cannot be changed."]}


@pytest.mark.parametrize("make", [update, lambda data: UserSerializer(data=factories.user_body(**data))])
def test_a_minor_is_unprocessable_only_where_nothing_else_fails(
    make: Callable[[dict[str, Any]], UserSerializer],
) -> None:
    serializer = make({"dateOfBirth": MINOR})
    assert not serializer.is_valid()
    assert serializer.errors == {"dateOfBirth": ["The user must be at least 18 years old."]}
    with pytest.raises(UnprocessableEntityError, match="at least 18"):
        serializer.is_valid(raise_exception=True)
    with pytest.raises(BadRequestError) as caught:
        make({"dateOfBirth": MINOR, "nickname": "Ada"}).is_valid(raise_exception=True)
    assert [error.field for error in caught.value.field_errors] == ["nickname"]


def test_data_of_a_stored_user_has_no_personal_data() -> None:
    assert UserSerializer(STORED).data == {
        "userId": STORED.id,
        "externalId": "ada",
        "status": "active",
        "statusReason": "verified",
        "statusChangedAt": "2026-01-14T09:00:00.000000Z",
        "requirements": [],
        "updatedAt": "2026-01-15T10:30:00.123400Z",
    }


def test_a_field_with_a_default_may_be_left_out_of_a_create() -> None:
    class Lenient(UserSerializer):
        occupation = TextField(max_length=100, default="none", write_only=True)

    body = factories.user_body()
    del body["occupation"]
    serializer = Lenient(data=body)
    assert serializer.is_valid()
    assert serializer.validated_data["occupation"] == "none"
    assert not UserSerializer(data=body).is_valid()


def test_hooks_of_drf_are_called() -> None:
    def no_nurses(value: str) -> None:
        if value == "Nurse":
            raise ValidationError("Is a nurse.")

    class Picky(UserSerializer):
        occupation = TextField(max_length=100, write_only=True, validators=[no_nurses])

        def validate_city(self, value: str) -> str:
            if value == "Ottawa":
                raise ValidationError("Is Ottawa.")
            return value.upper()

    serializer = Picky(data=factories.user_body(city="Ottawa", occupation="Nurse"))
    assert not serializer.is_valid()
    assert serializer.errors == {"city": ["Is Ottawa."], "occupation": ["Is a nurse."]}
    serializer = Picky(data=factories.user_body())
    assert serializer.is_valid()
    assert serializer.validated_data["city"] == "TORONTO"


def test_errors_are_english_whatever_language_is_active() -> None:
    with translation.override("fr"):
        serializer = UserSerializer(data={})
        serializer.is_valid()
    assert {message for messages in serializer.errors.values() for message in messages} == {"This field is required."}


def test_serializers_in_two_threads_share_no_state() -> None:
    rounds, both = 200, threading.Barrier(2)
    found: dict[str, list[Any]] = {"Ottawa": [], "": []}

    def validate(city: str) -> None:
        both.wait()
        for _ in range(rounds):
            serializer = update({"city": city}) if city else UserSerializer(data=factories.user_body(city=city))
            serializer.is_valid()
            found[city].append((serializer.partial, serializer.validated_data, serializer.errors))

    threads = [threading.Thread(target=validate, args=[city]) for city in found]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found["Ottawa"] == [(True, {"city": "Ottawa"}, {})] * rounds
    assert found[""] == [(False, {}, {"city": ["Must not be empty."]})] * rounds


def test_a_serializer_keeps_nothing_of_the_one_before() -> None:
    assert not update({"city": ""}).is_valid()
    serializer = UserSerializer(STORED)
    assert not hasattr(serializer, "initial_data")
    with pytest.raises(AssertionError):
        _ = serializer.errors
    with pytest.raises(TypeError):
        serializer.fields["city"] = TextField(max_length=1)  # type: ignore[index]  # it is read-only
    assert not serializer.partial


def test_a_serializer_with_a_context_has_fields_of_its_own_that_see_it() -> None:
    serializer = UserSerializer(data=factories.user_body(), context={"request": 1})
    assert serializer.is_valid()
    assert serializer.fields["city"].context == {"request": 1}
    assert UserSerializer(data=factories.user_body()).fields["city"].context == {}
