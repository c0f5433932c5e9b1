"""Decisions that take two people, where a file asks for it."""

from collections.abc import Iterator

import pytest

from partners.models import Partner
from staff.models import Staff
from tests.support.approval_rules import new_user, no_rules_left, reviewer, set_rule
from users.models import User


@pytest.fixture(scope="module")
def always_by_two(django_db_setup: None) -> Iterator[None]:
    with no_rules_left():
        set_rule("always")
        yield


@pytest.fixture
def user(partner: Partner) -> User:
    return new_user(partner)


@pytest.fixture
def first(db: None) -> Staff:
    return reviewer()


@pytest.fixture
def second(db: None) -> Staff:
    return reviewer()
