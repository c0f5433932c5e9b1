"""A user's texts, addresses of email and booleans, and the object they come in: contract, section 2."""

import json
from typing import Any

import pytest

from tests import factories
from tests.support.client import PartnerClient
from tests.support.responses import failing_fields
from tests.users.sending import CHANGES, OPTIONAL_TEXTS, TEXTS, column_of, field_errors, invalid_fields, refused, stored
from users.api.serializers import CREATE
from users.models import User

# In a country that asks nothing of them.
FREE_TEXTS = {"postalCode": 16, "province": 100}
FREE = {"country": "AW", "postalCode": "", "province": ""}
VALID = factories.user_body() | CHANGES
ALL_TEXTS = TEXTS | OPTIONAL_TEXTS | FREE_TEXTS
STRINGS = ["email", "dateOfBirth", "country", *ALL_TEXTS]


def all_stored(texts: dict[str, str]) -> dict[str, str]:
    """What a create stores of these texts, sent together."""
    _external_id, profile = CREATE.new_user(factories.user_body(**FREE | texts))
    return {name: getattr(profile, column_of(name)) for name in texts}


def test_lengths_count_code_points(api: PartnerClient) -> None:
    for character in "aé漢😀":
        longest = {name: character * length for name, length in ALL_TEXTS.items()}
        assert all_stored(longest) == longest
    longest["email"] = LONGEST_EMAIL
    assert api.post("/v1/users", factories.user_body(**FREE | longest)).status == 201
    assert {name: getattr(User.objects.get(), column_of(name)) for name in longest} == longest


def test_one_code_point_more_is_refused() -> None:
    longer = {name: "é" * (length + 1) for name, length in ALL_TEXTS.items()}
    assert field_errors(**FREE | longer) == dict.fromkeys(ALL_TEXTS, "length")


@pytest.mark.parametrize("empty", ["", " ", "\u00a0\u3000\u2003"], ids=ascii)
def test_a_required_text_is_not_empty(empty: str) -> None:
    assert field_errors(**dict.fromkeys(TEXTS, empty)) == dict.fromkeys(TEXTS, "length")


# Zero-width, soft hyphen, variation selector, marks alone; the fillers, which are letters; the empty Braille pattern; a
# private-use and an unassigned character.
INVISIBLE = ["\u200b", "\u00ad\u2060", "\ufe0f", "\u0301", "\u115f", "\u1160", "\u3164", "\uffa0", "\u2800\u3000\u2800"]
INVISIBLE += ["\U000e0041", "\ue000", "\u0378"]


@pytest.mark.parametrize("text", INVISIBLE, ids=ascii)
def test_a_required_text_has_a_visible_character(text: str) -> None:
    assert field_errors(**dict.fromkeys(TEXTS, text)) == dict.fromkeys(TEXTS, "format")


@pytest.mark.parametrize("visible", ["Å", "が", "٣", "–", "😀"], ids=ascii)
def test_one_visible_character_is_enough(visible: str) -> None:
    texts = dict.fromkeys(TEXTS, f"\u3164{visible}\u200b")
    assert all_stored(texts) == texts


@pytest.mark.parametrize("space", [" ", "\u00a0", "\u2003", "\u3000", "\u2028", " \u00a0 "], ids=ascii)
def test_white_space_around_a_text_is_taken_away(space: str) -> None:
    names = [*TEXTS, *OPTIONAL_TEXTS]
    assert all_stored(dict.fromkeys(names, f"{space}Ada  Byron{space}")) == dict.fromkeys(names, "Ada  Byron")


def test_white_space_does_not_count_as_length() -> None:
    assert stored("city", " " * 500 + "a" * 100 + " " * 500) == "a" * 100


def test_no_second_address_line_is_an_empty_one() -> None:
    assert {stored("addressLine2", none) for none in (None, "", "  ")} == {""}


def test_a_text_is_stored_as_it_is(api: PartnerClient) -> None:
    text = "O'Brien; DROP TABLE <b>, a\u200db, a\u00adb, \u202eabc, %s, \\"
    assert api.post("/v1/users", factories.user_body(lastName=text)).status == 201
    assert User.objects.get().last_name == text


@pytest.mark.parametrize("character", "\x00\x07\x1f\x7f\x80\x9f\ud800\udfff", ids=ascii)
def test_control_characters_and_lone_surrogates_are_refused(character: str) -> None:
    sent = {name: f"{VALID[name][:1]}{character}{VALID[name][1:]}" for name in STRINGS}
    assert field_errors(**sent) == dict.fromkeys(STRINGS, "format")


def test_control_characters_and_lone_surrogates_of_a_request_are_refused(api: PartnerClient) -> None:
    sent = {"firstName": "A\x00", "lastName": "B\x1f", "city": "C\x80", "occupation": "\ud800", "nickname": "\udfff"}
    assert refused(api.post("/v1/users", factories.user_body(**sent))) == list(sent)


@pytest.mark.parametrize("character", "\t\n\r\x0b\x0c\x1c\x85", ids=ascii)
def test_control_characters_are_refused_before_white_space_is_taken_away(character: str) -> None:
    assert field_errors(**{name: f"{VALID[name]}{character}" for name in STRINGS}) == dict.fromkeys(STRINGS, "format")


@pytest.mark.parametrize("value", [1, 0, 1.5, True, False, None, [], ["text"], {}, {"a": "b"}], ids=repr)
def test_nothing_but_a_string_is_a_string(value: object) -> None:
    names = [name for name in STRINGS if (name, value) != ("addressLine2", None)]
    assert set(invalid_fields(**dict.fromkeys(names, value))) == set(names)


def test_nothing_but_true_and_false_is_a_boolean() -> None:
    others: list[Any] = ["true", "false", "", 0, 1, 1.0, None, [], [True], {}]
    for other in others:
        assert invalid_fields(isCiroAffiliate=other) == ["isCiroAffiliate"], repr(other)
    assert [stored("isCiroAffiliate", value) for value in (True, False)] == [True, False]


# Email addresses

LONGEST_EMAIL = f"{'a' * 64}@{'a' * 63}.{'b' * 63}.{'c' * 57}.com"


EMAILS = {
    "ada@example.com": "ada@example.com",
    " ada@example.com ": "ada@example.com",
    "Ada.Byron+tag@EXAMPLE.com": "Ada.Byron+tag@example.com",
    "o'brien@example.co.uk": "o'brien@example.co.uk",
    "ada@bücher.de": "ada@bücher.de",
    "ada@xn--bcher-kva.de": "ada@bücher.de",
    "用户@例子.中国": "用户@例子.中国",
    "пётр@example.com": "пётр@example.com",
    LONGEST_EMAIL: LONGEST_EMAIL,
}


def test_a_valid_address_is_stored_in_its_normal_form() -> None:
    assert {sent: stored("email", sent) for sent in EMAILS} == EMAILS


def test_what_is_no_valid_address_is_refused() -> None:
    for sent in (
        "",
        "ada",
        "ada@localhost",
        "ada@exam ple.com",
        '"ada"@example.com',
        "Ada <ada@example.com>",
        "ada@[127.0.0.1]",
        LONGEST_EMAIL.replace("@a", "@aa").replace("cc.", "ccc."),
        LONGEST_EMAIL.replace(".com", "c.com"),
    ):
        assert invalid_fields(email=sent) == ["email"], sent


# The object


def test_every_required_field_is_named_in_order(api: PartnerClient) -> None:
    assert refused(api.post("/v1/users", {})) == [
        *("externalId", "email", "firstName", "lastName", "dateOfBirth", "addressLine1", "city", "country"),
        *("occupation", "isCiroAffiliate"),
    ]


def test_all_failing_fields_are_named_at_once_unknown_ones_last() -> None:
    wrong = dict.fromkeys(["b", "isCiroAffiliate", "a", "postalCode", "occupation", "city", "province", "email"], 1)
    assert invalid_fields(**wrong) == [
        *("email", "city", "postalCode", "province", "occupation", "isCiroAffiliate", "a", "b"),
    ]


def test_an_unknown_field_is_named() -> None:
    names = ["nickname", "", "Email", "first_name", "userId", "status", "updatedAt", "email ", "non_field_errors"]
    assert field_errors(**dict.fromkeys(names, "active")) == dict.fromkeys(names, "unknown")


@pytest.mark.parametrize("method", ["POST", "PATCH"])
def test_a_field_given_twice_is_named(api: PartnerClient, method: str) -> None:
    body = factories.user_body()
    twice = {name: body[name] for name in ("email", "addressLine2", "isCiroAffiliate")}
    text = "".join(f", {json.dumps(name)}: {json.dumps(value)}" for name, value in twice.items())
    sent = f"{json.dumps(body if method == 'POST' else twice).removesuffix('}')}{text}}}"
    api.post("/v1/users", factories.user_body(externalId="ada"))
    target = "/v1/users" if method == "POST" else "/v1/users/ada"
    assert refused(api.send(method, target, sent.encode())) == list(twice)


def test_no_message_repeats_what_was_sent(api: PartnerClient) -> None:
    body = {name: f"Xyzzy {name}" * 30 for name in factories.user_body()}
    response = api.post("/v1/users", body)
    assert set(failing_fields(response)) == body.keys()
    assert b"Xyzzy" not in response.body
