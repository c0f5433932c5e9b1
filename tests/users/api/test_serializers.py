"""UserSerializer through DRF's interface: what a view, a command or a shell may rely on."""

import threading
from typing import Any
from uuid import uuid4

import pytest
from django.core.exceptions import ValidationError
from django.utils import translation

from partners.api.rule_fields import TextField
from tests import factories
from users.api.serializers import UserSerializer
from users.models.columns import FIELD_NAMES
from users.profile.field_rules import today
from users.queries import UserSummary

MINOR = f"{today().year - 1}-01-01"


STORED = UserSummary(str(uuid4()), "ada", "active", "2026-01-15 10:30:00.1234+00", "2026-01-14 09:00:00+00", "", 0, 0)


def update(data: dict[str, Any], **columns: Any) -> UserSerializer:
    profile = factories.ProfileFactory.build(**{"postal_code": "M5X 1A9", "province": "ON"} | columns)
    return UserSerializer(profile, data=data, partial=True)


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
