"""Administrators who disable each other at the same moment: committed rows, and a connection each."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from django.db import connection

from partners.models import Partner
from partners.refusals import RefusedError
from tests import factories
from users.models import Staff
from users.staff import staff_access


@pytest.fixture
def two(committed_partner: Partner) -> Iterator[list[Staff]]:
    """The only administrators there are, until the test ends."""
    staff_access.administrators().update(is_active=False)
    yield [factories.StaffFactory.create(role=staff_access.ADMINISTRATOR) for _number in range(2)]
    staff_access.administrators().update(is_active=False)


def test_one_of_two_administrators_stays(two: list[Staff]) -> None:
    barrier = Barrier(2)

    def disable(staff: Staff, by: Staff) -> str:
        try:
            connection.ensure_connection()
            barrier.wait()
            staff_access.disable(staff=staff, reason="Told so.", by=by)
        except RefusedError as refusal:
            return str(refusal)
        finally:
            connection.close()
        return ""

    with ThreadPoolExecutor(2) as pool:
        said = list(pool.map(disable, two, reversed(two)))
    assert sorted(map(bool, said)) == [False, True]
    assert "only active administrator" in "".join(said)
    assert len(staff_access.administrators()) == 1
