"""Two who decide, committed."""

import pytest

from partners.models import Partner
from tests.support.approval_rules import reviewer
from users.models import Staff


@pytest.fixture
def first(committed_partner: Partner) -> Staff:
    return reviewer()


@pytest.fixture
def second(committed_partner: Partner) -> Staff:
    return reviewer()
