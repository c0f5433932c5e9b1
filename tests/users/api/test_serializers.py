"""The bodies of create and update: what a view, a command or a shell may rely on."""

import threading
from typing import Any

import pytest
from django.utils import translation
from rest_framework.exceptions import ValidationError

from partners.api.serializers import TextField
from tests import factories
from users.api.serializers import CREATE, UPDATE, UserCreateSerializer
from users.models.columns import FIELD_NAMES, Profile


def stored(**columns: Any) -> Profile:
    profile: Profile = factories.ProfileFactory.build(**{"postal_code": "M5X 1A9", "province": "ON"} | columns)
    return profile


def test_the_profile_of_a_create_and_of_an_update_is_typed() -> None:
    external_id, profile = CREATE.new_user(
        factories.user_body(externalId="ada", addressLine2=None, postalCode="m5x1a9")
    )
    assert (external_id, profile) == ("ada", stored())
    assert UPDATE.updated({"city": "Ottawa"}, profile) == (profile._replace(city="Ottawa"), {"city"})


def test_every_column_of_the_profile_has_a_field() -> None:
    names = {str(field.source): name for name, field in CREATE.fields.items()}
    assert names == {"external_id": "externalId", **FIELD_NAMES}
    assert list(UPDATE.fields) == list(CREATE.fields)


def test_they_are_serializers_of_drf() -> None:
    serializer = UserCreateSerializer(data=factories.user_body(city="", nickname="Ada"))
    assert not serializer.is_valid()
    assert serializer.errors == {"city": ["Must not be empty."], "nickname": ["Unknown field."]}


def test_hooks_of_drf_are_called() -> None:
    def no_nurses(value: str) -> None:
        if value == "Nurse":
            raise ValidationError("Is a nurse.")

    class Picky(UserCreateSerializer):
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
    with translation.override("fr"), pytest.raises(ValidationError) as caught:
        CREATE.new_user({})
    details: Any = caught.value.detail
    assert {message for messages in details.values() for message in messages} == {"This field is required."}


def test_bodies_in_two_threads_share_no_state() -> None:
    rounds, both = 200, threading.Barrier(2)
    found: dict[str, list[Any]] = {"Ottawa": [], "": []}

    def validate(city: str) -> None:
        both.wait()
        for _ in range(rounds):
            try:
                found[city].append(UPDATE.updated({"city": city}, stored())[1])
            except ValidationError as error:
                found[city].append(error.detail)

    threads = [threading.Thread(target=validate, args=[city]) for city in found]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found["Ottawa"] == [{"city"}] * rounds
    assert found[""] == [{"city": ["Must not be empty."]}] * rounds
