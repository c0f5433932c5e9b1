"""What staff type to find a user, in each list that finds users."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.utils.html import escape

from core.database import serving_role
from partners.models import Mode, Partner
from staff.models import Staff
from tests import factories
from tests.support.client import PartnerClient
from tests.support.plans import planning_of_many_users
from tests.support.staff import client_of, list_of
from users.models import User
from users.models.case import live
from users.search import _conditions, begins_with, find_user_ids, matches

pytestmark = pytest.mark.django_db

Make = Callable[..., User]
USERS = "/admin/users/user/"
PEOPLE = {
    "accents": {"first_name": "François-Xavier", "last_name": "Lévêque"},
    "strokes": {"first_name": "Łukasz", "last_name": "Bjørnson Weiß"},
    "daughter": {"first_name": "Siti Nurhaliza", "last_name": "D/O Krishnan"},
    "son": {"first_name": "Kumar A/L", "last_name": "Subramaniam"},
    "saint": {"first_name": "Oliver", "last_name": "St.John"},
    "short": {"first_name": "Mohd.Ali", "last_name": "Hassan"},
    "initials": {"first_name": "J.R.R.", "last_name": "Tolkien"},
    "spaced": {"first_name": "J. K.", "last_name": "Rowling"},
    "irish": {"first_name": "Conan", "last_name": "O’Brien"},
    "turkish": {"first_name": "İbrahim", "last_name": "Işık"},
    "tamil": {"first_name": "தமிழ்", "last_name": "செல்வன்"},
    "burmese": {"first_name": "မြင့်", "last_name": "အောင်"},
    "khmer": {"first_name": "សុខ", "last_name": "ចាន់"},
    "hebrew": {"first_name": "דָּוִד", "last_name": "כֹּהֵן"},
    "chinese": {"first_name": "小明", "last_name": "李"},
    "korean": {"first_name": "민준", "last_name": "김"},
    "particles": {"first_name": "Anna", "last_name": "van der Berg"},
    "gagnon": {"first_name": "Olivier", "last_name": "Gagnon"},
    "okafor": {"first_name": "Ngozi Mary", "last_name": "Okafor"},
    "singh": {"first_name": "Gurpreet", "last_name": "Singh"},
    "arabic": {"first_name": "فاطمة", "last_name": "أحمد كريمي"},
    "kana": {"first_name": "ジロウ", "last_name": "さいとう"},
    "symbols": {"first_name": "☆☆", "last_name": "!!"},
}
FOUND = [
    *((f"{names['first_name']} {names['last_name']}", who) for who, names in PEOPLE.items()),
    *((f"{names['last_name']}, {names['first_name']}", who) for who, names in PEOPLE.items() if who != "symbols"),
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
# Of a name, of another property, and what SQL or a tsquery would read as more than its characters.
NOT_FOUND = (
    *("eveque", "Xavier Tolkien", "O'Brian", "தமி செ x", "J.R.X.", "明红", "O. Lévêque", "B. O'Brien X", "d/p"),
    *("ovelace", "lovelace ada", "v", "da-1", "xample.com", "_da", "%", "☆", "'", "' | 'a", "a & b", "\\", ":*", "😀"),
)
RECORDS = ("/admin/users/statuschange/", "/admin/users/userevent/", "/admin/users/accessrecord/")
CONVERSIONS = "/admin/transactions/conversion/"


@pytest.fixture
def make(partner: Partner) -> Make:
    """Makes a user of `partner` with an e-mail address of their own."""
    numbers = iter(range(1000))

    def create(**fields: Any) -> User:
        email = f"user{next(numbers)}@example.com"
        return factories.UserFactory.create(**{"partner": partner, "email": email} | fields)

    return create


def found(*terms: str, sees_identity: bool = True) -> dict[str, list[str]]:
    """The externalIds of the users whom each term finds."""
    users = User.objects.order_by("external_id").values_list("external_id", flat=True)
    return {term: list(users.filter(matches(term, Mode.LIVE, sees_identity=sees_identity))) for term in terms}


def test_a_name_is_found_however_it_is_written(make: Make) -> None:
    for who, names in PEOPLE.items():
        make(external_id=f"id-{who}", **names)
    expected = {term: [f"id-{who}"] for term, who in FOUND}
    assert found(*expected) == expected


def test_nothing_else_is_found(make: Make) -> None:
    for who in ("accents", "daughter", "initials", "irish", "tamil", "chinese", "symbols"):
        make(external_id=f"id-{who}", **PEOPLE[who])
    make(external_id="ada-17", email="ada@example.com", first_name="Grace", last_name="Lovelace")
    assert found(*NOT_FOUND) == {term: [] for term in NOT_FOUND}


def test_a_name_is_found_exactly_as_the_page_shows_it(make: Make, reviewer: Staff) -> None:
    shown = ("accents", "irish", "saint", "arabic", "symbols")
    users = [make(external_id=f"id-{who}", **PEOPLE[who]) for who in shown]
    text = client_of(reviewer).get(USERS).content.decode()
    for user in users:
        assert escape(user.full_name) in text
        for path in (USERS, f"{USERS}queue/"):
            assert list_of(reviewer, path, q=user.full_name).result_list == [user]


def test_a_changed_name_is_found_by_the_new_one_alone(make: Make, api: PartnerClient) -> None:
    make(external_id="zoe-1", first_name="Zoë", last_name="Roy")
    assert api.patch("/v1/users/zoe-1", {"firstName": "Chloé"}).status == 200
    assert found("chloe roy", "zoe roy") == {"chloe roy": ["zoe-1"], "zoe roy": []}


def test_other_properties_find_too(make: Make) -> None:
    user = make(external_id="Cust-ABC-17", email="élan@mail.example.org", date_of_birth="1990-07-31", last_name="Roy")
    make(external_id="Dust-ABC-17", email="mail@example.org", date_of_birth="1990-07-30", last_name="Roi")
    # The first digits are those that a case shows.
    ids = (str(user.pk)[:8], str(user.pk)[:8].upper(), f"{str(user.pk)[:8]}…", str(user.pk)[:20], user.pk.hex)
    terms = (
        *("Cust-ABC-17", "cust-abc-17", "CUST-ABC", "cust-a", "Élan@Mail.Example.org", "élan@mail"),
        *("@mail.example.org", "mail.example.org", "MAIL.Example", "@mail", "1990-07-31", str(user.pk).upper(), *ids),
    )
    assert found(*terms) == {term: ["Cust-ABC-17"] for term in terms}


def test_who_may_not_see_birth_dates_cannot_search_by_them(make: Make, reviewer: Staff) -> None:
    user = make(date_of_birth="1990-07-31")
    viewer = factories.StaffFactory.create(role="viewer")
    assert not list_of(viewer, USERS, q="1990-07-31").result_list
    assert list_of(reviewer, USERS, q="1990-07-31").result_list == [user]
    conversion = factories.ConversionFactory.create(user=user)
    assert not list_of(viewer, CONVERSIONS, q="1990-07-31").result_list
    assert list_of(reviewer, CONVERSIONS, q="1990-07-31").result_list == [conversion]
    for sees_identity in (False, True):
        found, _is_cut = find_user_ids("1990-07-31", Mode.LIVE, sees_identity=sees_identity)
        assert found == [user.pk] * sees_identity


def test_the_records_of_a_user_are_found_by_the_same(make: Make) -> None:
    user = make(
        external_id="Cust-17",
        email="fx@mail.example.org",
        date_of_birth="1990-07-31",
        first_name="François",
        last_name="Lévêque",
    )
    short, long, other = make(external_id="c-1"), make(external_id="c-10"), make()
    found = {
        term: {*find_user_ids(term, Mode.LIVE, sees_identity=True)[0]}
        for term in ("leveque fran", "CUST-17", "cust", "@mail.example.org", "1990-07-31", "ust-17", "C-1", "c-")
    }
    # An exact externalId is not the beginning of others.
    assert (found.pop("ust-17"), found.pop("C-1"), found.pop("c-")) == (set(), {short.pk}, {short.pk, long.pk})
    assert [*found.values()] == [{user.pk}] * 5
    staff = factories.StaffFactory.create(role="auditor")
    for one in (user, other):
        change = factories.StatusChangeFactory.create(user=one)
        factories.ConversionFactory.create(user=one)
        factories.AccessRecordFactory.create(user=one, staff=change.by)
    for path in (*RECORDS, CONVERSIONS):
        rows = list_of(staff, path, q="leveque fran").result_list
        assert {getattr(row, "user_id", None) or row.pgh_obj_id for row in rows} == {user.pk}, path


# What serves a search


def test_a_prefix_holds_for_any_last_character() -> None:
    with connection.cursor() as cursor:
        for last in ("a", "z", "é", "\ud7ff", "\U0010ffff"):
            texts = {f"x{last}": True, f"x{last}yz": True, f"x{chr(ord(last) - 1)}z": False, "y": False}
            condition: Any = begins_with("%s::text", f"x{last}")
            begins = {}
            for text in texts:
                given = [value for bound in condition.params for value in (text, bound)]
                cursor.execute(f"SELECT {condition.sql}", given)
                [begins[text]] = cursor.fetchone()
            assert begins == texts


PREFIXES = ("user_external_id_any_case", "user_email_prefix")


@pytest.mark.django_db(databases=[serving_role.SERVING, serving_role.OWNER])
def test_each_kind_of_search_uses_its_index(subtests: pytest.Subtests) -> None:
    expected = {
        "6c0e7a52-8c8f-4b43-9e57-0d1c5a3f8f0e": ["Index Cond: (id ="],
        "6C0E7A52": [*PREFIXES, "Index Cond: ((id >=", "user_folded_words"],
        "ada@": [*PREFIXES],
        "@example.org": [*PREFIXES, "user_email_domain"],
        "1990-12-10": [*PREFIXES, "user_birth_and_name", "user_folded_words"],
        "ada": [*PREFIXES, "user_folded_words"],
        "D/O 李小明": [*PREFIXES, "user_folded_words"],
    }
    with planning_of_many_users():
        for term, indexes in expected.items():
            with subtests.test(term):
                for condition, index in zip(_conditions(term, sees_identity=True), indexes, strict=True):
                    users = live(User.objects.using(serving_role.OWNER).filter(condition))
                    plan = users.order_by().values("pk")[:10].explain()
                    assert index in plan
                    assert "Seq Scan" not in plan
