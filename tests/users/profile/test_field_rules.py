"""A user's texts, addresses of email and booleans, and the object they come in: contract, section 2."""

import json
from collections.abc import Callable

import pytest

from tests import factories
from tests.support.client import PartnerClient, Response
from tests.support.responses import failing_fields
from tests.users.sending import CHANGES, OPTIONAL_TEXTS, TEXTS, Send, kept, refused

# In a country that asks nothing of them.
FREE_TEXTS = {"postalCode": 16, "province": 100}
VALID = factories.user_body() | CHANGES
STRINGS = ["email", "dateOfBirth", "country", *TEXTS, *OPTIONAL_TEXTS, *FREE_TEXTS]
FREE = {"country": "AW", "postalCode": "", "province": ""}


@pytest.mark.parametrize(("name", "longest"), (TEXTS | OPTIONAL_TEXTS | FREE_TEXTS).items())
@pytest.mark.parametrize("character", ["a", "é", "漢", "😀"], ids=ascii)
def test_lengths_count_code_points(send: Send, name: str, longest: int, character: str) -> None:
    place = FREE if name in FREE_TEXTS else {}
    assert send(**place | {name: character * longest}).status in {200, 201}
    assert kept(name) == (character * longest)


@pytest.mark.parametrize(("name", "longest"), (TEXTS | OPTIONAL_TEXTS | FREE_TEXTS).items())
def test_one_code_point_more_is_refused(send: Send, name: str, longest: int) -> None:
    place = FREE if name in FREE_TEXTS else {}
    assert failing_fields(send(**place | {name: "é" * (longest + 1)})) == [name]


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("empty", ["", " ", "\u00a0\u3000\u2003"], ids=ascii)
def test_a_required_text_is_not_empty(send: Send, name: str, empty: str) -> None:
    assert refused(send(**{name: empty})) == [name]


# Zero-width, soft hyphen, variation selector, marks alone; the fillers, which are letters; the empty Braille pattern; a
# private-use and an unassigned character.
INVISIBLE = ["\u200b", "\u00ad\u2060", "\ufe0f", "\u0301", "\u115f", "\u1160", "\u3164", "\uffa0", "\u2800\u3000\u2800"]
INVISIBLE += ["\U000e0041", "\ue000", "\u0378"]


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("text", INVISIBLE, ids=ascii)
def test_a_required_text_has_a_visible_character(send: Send, name: str, text: str) -> None:
    response = send(**{name: text})
    assert refused(response) == [name]
    assert response.json()["fieldErrors"][0]["code"] == "format"


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("visible", ["Å", "が", "٣", "–", "😀"], ids=ascii)
def test_one_visible_character_is_enough(send: Send, name: str, visible: str) -> None:
    assert send(**{name: f"\u3164{visible}\u200b"}).status in {200, 201}
    assert kept(name) == f"\u3164{visible}\u200b"


@pytest.mark.parametrize("name", [*TEXTS, *OPTIONAL_TEXTS])
@pytest.mark.parametrize("space", [" ", "\u00a0", "\u2003", "\u3000", "\u2028", " \u00a0 "], ids=ascii)
def test_white_space_around_a_text_is_taken_away(send: Send, name: str, space: str) -> None:
    assert send(**{name: f"{space}Ada  Byron{space}"}).status in {200, 201}
    assert kept(name) == "Ada  Byron"


def test_white_space_does_not_count_as_length(send: Send) -> None:
    assert send(city=" " * 500 + "a" * 100 + " " * 500).status in {200, 201}
    assert kept("city") == "a" * 100


@pytest.mark.parametrize("none", [None, "", "  "])
def test_no_second_address_line_is_an_empty_one(send: Send, none: str | None) -> None:
    assert send(addressLine2=none).status in {200, 201}
    assert kept("addressLine2") == ""


@pytest.mark.parametrize("text", ["O'Brien; DROP TABLE", "<b>", "a\u200db", "a\u00adb", "\u202eabc", "%s", "\\"])
def test_a_text_is_stored_as_it_is(send: Send, text: str) -> None:
    assert send(lastName=text).status in {200, 201}
    assert kept("lastName") == text


@pytest.mark.parametrize("name", STRINGS)
def test_control_characters_and_lone_surrogates_are_refused(send: Send, name: str) -> None:
    valid = VALID[name]
    for character in "\x00\x07\x1f\x7f\x80\x9f\ud800\udfff":
        assert refused(send(**{name: f"{valid[:1]}{character}{valid[1:]}"})) == [name], ascii(character)


@pytest.mark.parametrize("name", STRINGS)
def test_control_characters_are_refused_before_white_space_is_taken_away(send: Send, name: str) -> None:
    for character in "\t\n\r\x0b\x0c\x1c\x85":
        assert refused(send(**{name: f"{VALID[name]}{character}"})) == [name], ascii(character)


@pytest.mark.parametrize("name", STRINGS)
def test_nothing_but_a_string_is_a_string(send: Send, name: str) -> None:
    for value in (1, 0, 1.5, True, False, None, [], ["text"], {}, {"a": "b"}):
        if (name, value) != ("addressLine2", None):
            assert refused(send(**{name: value})) == [name], repr(value)


@pytest.mark.parametrize("value", ["true", "false", "", 0, 1, 1.0, None, [], [True], {}], ids=repr)
def test_nothing_but_true_and_false_is_a_boolean(send: Send, value: object) -> None:
    assert refused(send(isCiroAffiliate=value)) == ["isCiroAffiliate"]


@pytest.mark.parametrize("value", [True, False])
def test_a_boolean_is_stored(send: Send, *, value: bool) -> None:
    assert send(isCiroAffiliate=value).status in {200, 201}
    assert kept("isCiroAffiliate") is value


# Email addresses

LONGEST_EMAIL = f"{'a' * 64}@{'a' * 63}.{'b' * 63}.{'c' * 57}.com"


@pytest.mark.parametrize(
    ("sent", "stored"),
    [
        ("ada@example.com", "ada@example.com"),
        (" ada@example.com ", "ada@example.com"),
        ("Ada.Byron+tag@EXAMPLE.com", "Ada.Byron+tag@example.com"),
        ("o'brien@example.co.uk", "o'brien@example.co.uk"),
        ("ada@bücher.de", "ada@bücher.de"),
        ("ada@xn--bcher-kva.de", "ada@bücher.de"),
        ("用户@例子.中国", "用户@例子.中国"),
        ("пётр@example.com", "пётр@example.com"),
        (LONGEST_EMAIL, LONGEST_EMAIL),
    ],
)
def test_a_valid_address_is_stored(send: Send, sent: str, stored: str) -> None:
    assert send(email=sent).status in {200, 201}
    assert kept("email") == stored


@pytest.mark.parametrize(
    "sent",
    [
        "",
        "ada",
        "ada@localhost",
        "ada@exam ple.com",
        '"ada"@example.com',
        "Ada <ada@example.com>",
        "ada@[127.0.0.1]",
        LONGEST_EMAIL.replace("@a", "@aa").replace("cc.", "ccc."),
        LONGEST_EMAIL.replace(".com", "c.com"),
    ],
)
def test_what_is_no_valid_address_is_refused(send: Send, sent: str) -> None:
    assert refused(send(email=sent)) == ["email"]


# The object


def test_every_required_field_is_named_in_order(api: PartnerClient) -> None:
    assert refused(api.post("/v1/users", {})) == [
        "externalId",
        "email",
        "firstName",
        "lastName",
        "dateOfBirth",
        "addressLine1",
        "city",
        "country",
        "occupation",
        "isCiroAffiliate",
    ]


def test_all_failing_fields_are_named_at_once_unknown_ones_last(send: Send) -> None:
    wrong = dict.fromkeys(["b", "isCiroAffiliate", "a", "postalCode", "occupation", "city", "province", "email"], 1)
    assert refused(send(**wrong)) == [
        "email",
        "city",
        "postalCode",
        "province",
        "occupation",
        "isCiroAffiliate",
        "a",
        "b",
    ]


@pytest.mark.parametrize("name", ["nickname", "", "Email", "first_name", "userId", "status", "updatedAt", "email "])
def test_an_unknown_field_is_named(send: Send, name: str) -> None:
    assert refused(send(**{name: "active"})) == [name]


@pytest.mark.parametrize("name", ["email", "isCiroAffiliate", "addressLine2"])
@pytest.mark.parametrize("method", ["POST", "PATCH"])
def test_a_field_given_twice_is_named(
    api: PartnerClient, create_user: Callable[..., Response], method: str, name: str
) -> None:
    create_user(externalId="ada")
    body = factories.user_body() if method == "POST" else {name: factories.user_body()[name]}
    text = json.dumps(body).removesuffix("}") + f", {json.dumps(name)}: {json.dumps(body[name])}}}"
    target = "/v1/users" if method == "POST" else "/v1/users/ada"
    assert refused(api.send(method, target, text.encode())) == [name]


def test_no_message_repeats_what_was_sent(api: PartnerClient) -> None:
    body = {name: f"Xyzzy {name}" * 30 for name in factories.user_body()}
    assert set(failing_fields(api.post("/v1/users", body))) == body.keys()
    assert b"Xyzzy" not in api.post("/v1/users", body).body
