"""What staff type to find a user, in each list that finds users."""

from collections.abc import Callable
from typing import Any

import pytest
from django.utils.html import escape

from partners.models import Mode
from tests import factories
from tests.support.client import Response
from tests.support.staff import client_as
from users.models import Status, User
from users.search import matches

pytestmark = pytest.mark.django_db

Make = Callable[..., User]
PEOPLE = {
    "accents": {"firstName": "François-Xavier", "lastName": "Lévêque"},
    "strokes": {"firstName": "Łukasz", "lastName": "Bjørnson Weiß"},
    "daughter": {"firstName": "Siti Nurhaliza", "lastName": "D/O Krishnan"},
    "son": {"firstName": "Kumar A/L", "lastName": "Subramaniam"},
    "saint": {"firstName": "Oliver", "lastName": "St.John"},
    "short": {"firstName": "Mohd.Ali", "lastName": "Hassan"},
    "initials": {"firstName": "J.R.R.", "lastName": "Tolkien"},
    "spaced": {"firstName": "J. K.", "lastName": "Rowling"},
    "irish": {"firstName": "Conan", "lastName": "O’Brien"},
    "turkish": {"firstName": "İbrahim", "lastName": "Işık"},
    "tamil": {"firstName": "தமிழ்", "lastName": "செல்வன்"},
    "burmese": {"firstName": "မြင့်", "lastName": "အောင်"},
    "khmer": {"firstName": "សុខ", "lastName": "ចាន់"},
    "hebrew": {"firstName": "דָּוִד", "lastName": "כֹּהֵן"},
    "chinese": {"firstName": "小明", "lastName": "李"},
    "korean": {"firstName": "민준", "lastName": "김"},
    "particles": {"firstName": "Anna", "lastName": "van der Berg"},
    "gagnon": {"firstName": "Olivier", "lastName": "Gagnon"},
    "okafor": {"firstName": "Ngozi Mary", "lastName": "Okafor"},
    "singh": {"firstName": "Gurpreet", "lastName": "Singh"},
    "arabic": {"firstName": "فاطمة", "lastName": "أحمد كريمي"},
    "kana": {"firstName": "ジロウ", "lastName": "さいとう"},
    "symbols": {"firstName": "☆☆", "lastName": "!!"},
}
FOUND = [
    *((f"{names['firstName']} {names['lastName']}", who) for who, names in PEOPLE.items()),
    *((f"{names['lastName']}, {names['firstName']}", who) for who, names in PEOPLE.items() if who != "symbols"),
    *((term, "accents") for term in ("Francois", "leveque fran", "FRANÇOIS LEV", "xavier", "francois-xavier")),
    *((term, "accents") for term in ("francoisxavier", "Leve\u0302que", "Francois‑Xavier")),
    *((term, "strokes") for term in ("lukasz", "łuk", "bjornson", "Björnson", "weiss", "WEIẞ")),
    *((term, "daughter") for term in ("D/O Krishnan", "d/o kris", "do krishnan", "Siti D/O", "krishnan siti")),
    *((term, "son") for term in ("A/L Subra", "kumar a/l", "al subramaniam")),
    *((term, "saint") for term in ("St.John", "St. John", "st john", "stjohn", "john", "St-John")),
    *((term, "short") for term in ("Mohd.Ali", "mohd ali", "mohdali", "ali hassan", "Mohd. Ali")),
    *((term, "initials") for term in ("J.R.R.", "JRR", "J. R. R. Tolkien", "jrr tolk", "J R R Tolkien")),
    *((term, "spaced") for term in ("J.K. Rowling", "JK Rowling", "j.k.", "jk")),
    *((f"O{mark}Brien", "irish") for mark in "'’‘ʼʻ′`´＇"),
    *((term, "irish") for term in ("OBrien", "o brien", "brien", "O’Bri", "conan o'br")),
    *((term, "turkish") for term in ("ibrahim", "IBRAHIM", "isik", "ışık", "IŞIK")),
    *((term, "chinese") for term in ("李小明", "小明", "明李")),
    *((term, "korean") for term in ("김민준", "민준")),
    *((term, "gagnon") for term in ("O. Gagnon", "gagnon o", "G. Olivier", "O Gag")),
    *((term, "okafor") for term in ("Okafor M", "M. Okafor", "N M O")),
    *((term, "singh") for term in ("Singh Gu", "singh g", "G S")),
    *((term, "arabic") for term in ("أحمد", "ﺃﺣﻤﺪ", "ف أ")),
    *((term, "kana") for term in ("ジロウ", "ｼﾞﾛｳ", "さいと")),
    *((term, "particles") for term in ("vanderberg", "berg", "van der berg", "VanDer Berg")),
]
RECORDS = ("/admin/users/statuschange/", "/admin/users/userevent/", "/admin/users/accessrecord/")


@pytest.fixture
def make(create_user: Callable[..., Response]) -> Make:
    numbers = iter(range(1000))

    def create(**given: Any) -> User:
        body = {"email": f"user{next(numbers)}@example.com"} | given
        return User.objects.get(pk=create_user(**body).json()["userId"])

    return create


def found(term: str, *, role: str = "reviewer", path: str = "/admin/users/user/") -> set[str]:
    changelist = client_as(role).get(path, {"q": term}).context["cl"]
    return {user.external_id for user in changelist.result_list}


def test_a_name_is_found_however_it_is_written(make: Make) -> None:
    for who, names in PEOPLE.items():
        make(externalId=f"id-{who}", **names)
    users = User.objects.order_by("external_id").values_list("external_id", flat=True)
    results = {term: list(users.filter(matches(term, Mode.LIVE, sees_identity=False))) for term, _who in FOUND}
    assert results == {term: [f"id-{who}"] for term, who in FOUND}


@pytest.mark.parametrize("path", ["/admin/users/user/", "/admin/users/user/queue/"])
def test_a_name_is_found_exactly_as_the_page_shows_it(path: str, make: Make) -> None:
    shown = ("accents", "irish", "saint", "arabic", "symbols")
    users = [make(externalId=f"id-{who}", **PEOPLE[who]) for who in shown]
    text = client_as("reviewer").get(path).content.decode()
    for user in users:
        assert escape(user.full_name) in text
        assert found(user.full_name, path=path) == {user.external_id}


@pytest.mark.parametrize(
    "term",
    [
        "eveque",
        "Xavier Tolkien",
        "O'Brian",
        "தமி செ x",
        "J.R.X.",
        "明红",
        "O. Lévêque",
        "B. O'Brien X",
        "d/p",
        "☆",
        "'",
        "' | 'a",
        "\\",
        ":*",
    ],
)
def test_another_name_is_not_found(term: str, make: Make) -> None:
    for who in ("accents", "daughter", "initials", "irish", "tamil", "chinese", "symbols"):
        make(externalId=f"id-{who}", **PEOPLE[who])
    assert found(term) == set()


def test_a_changed_name_is_found_by_the_new_one_alone(make: Make, api: Any) -> None:
    user = make(firstName="Zoë", lastName="Roy")
    assert api.patch(f"/v1/users/{user.external_id}", {"firstName": "Chloé"}).status == 200
    assert found("chloe roy") == {user.external_id}
    assert found("zoe") == set()


@pytest.mark.parametrize(
    "term",
    [
        *("Cust-ABC-17", "cust-abc-17", "CUST-ABC", "cust-a", "Élan@Mail.Example.org", "élan@mail"),
        *("@mail.example.org", "mail.example.org", "MAIL.Example", "@mail", "1990-07-31"),
    ],
)
def test_other_properties_find_too(term: str, make: Make) -> None:
    make(externalId="Cust-ABC-17", email="élan@mail.example.org", dateOfBirth="1990-07-31", lastName="Roy")
    make(externalId="Dust-ABC-17", email="mail@example.org", dateOfBirth="1990-07-30", lastName="Roi")
    assert found(term) == {"Cust-ABC-17"}


def test_the_digits_of_the_user_id_that_a_case_shows_find_it(make: Make) -> None:
    user, _other = make(), make()
    page = client_as("reviewer").get(f"/admin/cases/{user.pk}/").content.decode()
    digits = str(user.pk)[:8]
    assert f"Case {digits}" in page
    for term in (digits, digits.upper(), f"{digits}…", str(user.pk)[:20], user.pk.hex, str(user.pk).upper()):
        assert found(term) == {user.external_id}


def test_who_may_not_see_birth_dates_cannot_search_by_them(make: Make) -> None:
    user = make(dateOfBirth="1990-07-31")
    assert found("1990-07-31", role="viewer") == set()
    assert found("1990-07-31", role="reviewer") == {user.external_id}


@pytest.mark.parametrize("term", ["leveque fran", "CUST-17", "cust", "@mail.example.org", "1990-07-31"])
def test_the_records_of_a_user_are_found_by_the_same(term: str, make: Make) -> None:
    person = {"externalId": "Cust-17", "email": "fx@mail.example.org", "dateOfBirth": "1990-07-31"}
    user, other = make(**person, firstName="François", lastName="Lévêque"), make()
    for one in (user, other):
        factories.decide(one, Status.ACTIVE)
        factories.ConversionFactory.create(user=one)
        client_as("reviewer").get(f"/admin/cases/{one.pk}/")
    client = client_as("superuser")
    for path in RECORDS:
        rows = client.get(path, {"q": term}).context["cl"].result_list
        assert {getattr(row, "user_id", None) or row.pgh_obj_id for row in rows} == {user.pk}
    rows = client.get("/admin/transactions/conversion/", {"q": term}).context["cl"].result_list
    assert [row.user_id for row in rows] == [user.pk]


def test_an_exact_external_id_is_not_the_beginning_of_others_in_records(make: Make) -> None:
    short, long = make(externalId="c-1"), make(externalId="c-10")
    for one in (short, long):
        factories.decide(one, Status.ACTIVE)
    rows = client_as("reviewer").get("/admin/users/statuschange/", {"q": "C-1"}).context["cl"].result_list
    assert [row.user_id for row in rows] == [short.pk]
