"""Two who decide, committed."""

import pytest

from partners.models import Partner
from staff.models import Staff
from tests.support.approval_rules import reviewer


@pytest.fixture
def first(committed_partner: Partner) -> Staff:
    return reviewer()


@pytest.fixture
def second(committed_partner: Partner) -> Staff:
    return reviewer()
