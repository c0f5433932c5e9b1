"""Write: a transaction of few statements, whatever happens in it, and nothing of it in the next."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import psycopg
import pytest
from django.db import IntegrityError, connection
from django.db.utils import DataError, InternalError, OperationalError
from partners.writes import Write
from psycopg.pq import PipelineStatus, TransactionStatus

from partners import roles, sql
from partners.models import Partner
from tests.conftest import database_url

NAME = "SELECT name FROM partners_partner WHERE id = %s"
RENAME = "UPDATE partners_partner SET name = %s WHERE id = %s RETURNING name"
FAIL = "SELECT 1 / %s::int"


@pytest.fixture(params=["transaction", "savepoint"])
def partner(request: pytest.FixtureRequest) -> Iterator[Partner]:
    """A partner named `before`; by itself, as a request finds it, and inside a test's transaction."""
    fixture = "committed_partner" if request.param == "transaction" else "transactional_partner"
    partner: Partner = request.getfixturevalue(fixture)
    Partner.objects.filter(pk=partner.pk).update(name="before")
    yield partner
    if request.param == "transaction":
        driver: Any = connection.connection
        assert driver.pgconn.transaction_status == TransactionStatus.IDLE
        assert driver.pgconn.pipeline_status == PipelineStatus.OFF
        assert connection.get_autocommit()
    # Nothing waits to be sent with the next statement, or the next commit.
    assert sql.fetch_one(NAME, (partner.pk,)) == sql.fetch_one(NAME, (partner.pk,))
    assert Partner.objects.filter(pk=partner.pk).exists()


@pytest.fixture
def transactional_partner(db: None) -> Partner:
    return Partner.objects.create(slug="of-a-write", name="x")


@pytest.fixture
def committed_only(committed_partner: Partner) -> Partner:
    Partner.objects.filter(pk=committed_partner.pk).update(name="before")
    return committed_partner


def name(partner: Partner) -> str:
    """As another session sees it, where the test is not in a transaction."""
    return Partner.objects.values_list("name", flat=True).get(pk=partner.pk)


def claim(partner: Partner) -> tuple[str, tuple[object, ...]]:
    return RENAME, ("claimed", partner.pk)


class Refused(Exception):  # noqa: N818 - what a test raises
    pass


def refuse(_rows: object) -> None:
    raise Refused


def test_all_of_it_is_committed(partner: Partner) -> None:
    taken: list[Any] = []
    with Write(claim(partner), taken.extend) as write:
        assert sql.fetch_one(NAME, (partner.pk,)) == ("claimed",)
        assert taken == [("claimed",)]
        write.keep((RENAME, ("kept", partner.pk)))
    assert name(partner) == "kept"


def test_a_claim_alone_is_committed(partner: Partner) -> None:
    taken: list[Any] = []
    with Write(claim(partner), taken.extend):
        pass
    assert (name(partner), taken) == ("claimed", [("claimed",)])


def ask(partner: Partner, statements: int) -> None:
    for _ in range(statements):
        sql.fetch_one(NAME, (partner.pk,))


@pytest.mark.parametrize("statements", [0, 1])
def test_what_is_raised_undoes_it_after_the_claim_was_taken(partner: Partner, statements: int) -> None:
    taken: list[Any] = []

    def fail() -> None:
        with Write(claim(partner), taken.extend) as write:
            ask(partner, statements)
            write.keep((RENAME, ("kept", partner.pk)))
            raise Refused

    with pytest.raises(Refused):
        fail()
    assert (name(partner), taken) == ("before", [("claimed",)])


@pytest.mark.parametrize("statements", [0, 1])
def test_a_claim_that_is_refused_undoes_it(partner: Partner, statements: int) -> None:
    with pytest.raises(Refused), Write(claim(partner), refuse):
        ask(partner, statements)
    assert name(partner) == "before"


def test_a_refused_claim_comes_before_the_blocks_own_error(partner: Partner) -> None:
    with pytest.raises(Refused), Write(claim(partner), refuse):
        raise ValueError
    with pytest.raises(Refused), Write(claim(partner), refuse):
        sql.fetch_one(FAIL, (0,))
    assert name(partner) == "before"


@pytest.mark.parametrize(
    "fail",
    [
        lambda partner: Write((FAIL, (0,)), list),
        lambda partner: Write(claim(partner), lambda _: sql.fetch_one(FAIL, (0,))),
    ],
    ids=["claim", "take"],
)
@pytest.mark.parametrize("statements", [0, 1])
def test_a_statement_that_fails_undoes_it(partner: Partner, statements: int, fail: Callable[[Partner], Write]) -> None:
    with pytest.raises(DataError), fail(partner):
        ask(partner, statements)
    assert name(partner) == "before"


def test_a_first_statement_that_fails_undoes_it(partner: Partner) -> None:
    with pytest.raises(DataError), Write(claim(partner), list):
        sql.fetch_one(FAIL, (0,))
    assert name(partner) == "before"


def test_a_last_statement_that_fails_undoes_it(partner: Partner) -> None:
    with pytest.raises(IntegrityError), Write(claim(partner), list) as write:
        write.keep((RENAME, (None, partner.pk)))
    assert name(partner) == "before"


def test_the_orm_is_refused_in_it(partner: Partner) -> None:
    with pytest.raises(RuntimeError, match="ORM"), Write(claim(partner), list):
        Partner.objects.count()
    assert name(partner) == "before"


def test_a_value_larger_than_the_sockets_room_goes_through(committed_only: Partner) -> None:
    much = "x" * 8_000_000
    with Write(("SELECT %s::text", (much,)), list):
        assert sql.fetch_one("SELECT %s::text", (much,)) == (much,)


def cut() -> None:
    """Ends this thread's session from another one."""
    backend = connection.connection.info.backend_pid
    with psycopg.connect(database_url(roles.SERVING), autocommit=True) as other:
        assert other.execute("SELECT pg_terminate_backend(%s)", [backend]).fetchone() == (True,)


@pytest.mark.parametrize("when", ["first", "second", "commit", "commit with the last"])
def test_a_connection_that_is_cut_leaves_nothing(committed_only: Partner, when: str) -> None:
    def write() -> None:
        with Write(claim(committed_only), list) as write:
            if when == "first":
                cut()
            sql.fetch_one(NAME, (committed_only.pk,))
            if when == "second":
                cut()
            sql.fetch_one(NAME, (committed_only.pk,))
            cut()
            if when == "commit with the last":
                write.keep((RENAME, ("kept", committed_only.pk)))

    with pytest.raises(OperationalError):
        write()
    sql.renew()
    assert sql.fetch_one(NAME, (committed_only.pk,)) == ("before",)
    with Write(claim(committed_only), list):
        pass
    assert name(committed_only) == "claimed"


def test_a_transaction_that_failed_unnoticed_is_no_success(committed_only: Partner) -> None:
    with pytest.raises(InternalError), Write(claim(committed_only), list), suppress(DataError):
        sql.fetch_one(FAIL, (0,))
    assert name(committed_only) == "before"


def test_a_connection_lost_in_the_midst_is_not_replaced_there(committed_only: Partner) -> None:
    def write() -> None:
        with Write(claim(committed_only), list):
            ask(committed_only, 1)
            cut()
            sql.fetch_one_afresh(RENAME, ("by itself", committed_only.pk))

    with pytest.raises(OperationalError):
        write()
    assert name(committed_only) == "before"
