"""Django's transactions with prepared and queued statements."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any

import pytest
from django.db import IntegrityError, ProgrammingError, connection, transaction
from django.db.transaction import TransactionManagementError
from django.db.utils import DataError, InternalError
from psycopg.pq import PipelineStatus, TransactionStatus

from core.database import statements
from core.database.pipeline import Query
from core.database.statements import PRESENT, acting
from partners.models import Partner
from tests.support.round_trips import round_trips

NAME = "SELECT name FROM partners_partner WHERE id = %s"
RENAME = "UPDATE partners_partner SET name = %s WHERE id = %s RETURNING name"
FAIL = "SELECT 1 / %s::int"


@pytest.fixture(params=["transaction", "savepoint"])
def partner(request: pytest.FixtureRequest) -> Iterator[Partner]:
    """A partner named `before`; outside of a transaction, as a request finds it, and inside a test's."""
    fixture = "committed_partner" if request.param == "transaction" else "transactional_partner"
    partner: Partner = request.getfixturevalue(fixture)
    Partner.objects.filter(pk=partner.pk).update(name="before")
    yield partner
    assert_connection_is_clean(partner, in_transaction=request.param == "savepoint")


@pytest.fixture
def transactional_partner(db: None) -> Partner:
    return Partner.objects.create(slug="of-a-write", name="x")


@pytest.fixture
def committed(committed_partner: Partner) -> Iterator[Partner]:
    """A partner named `before`, outside of a transaction."""
    Partner.objects.filter(pk=committed_partner.pk).update(name="before")
    yield committed_partner
    assert_connection_is_clean(committed_partner, in_transaction=False)


def assert_connection_is_clean(partner: Partner, *, in_transaction: bool) -> None:
    """Assert that the connection is usable and nothing is queued."""
    with round_trips() as made:
        statements.fetch_one(NAME, (partner.pk,))
    assert made.sent.count("Execute") == 1
    driver: Any = connection.connection
    assert driver.pgconn.pipeline_status == PipelineStatus.OFF
    assert connection.in_atomic_block == in_transaction
    if not in_transaction:
        assert driver.pgconn.transaction_status == TransactionStatus.IDLE
        assert connection.get_autocommit()
    assert Partner.objects.filter(pk=partner.pk).exists()


def name(partner: Partner) -> str:
    return Partner.objects.values_list("name", flat=True).get(pk=partner.pk)


def rename(partner: Partner, new: str | None) -> Query[Any]:
    return Query(RENAME, (new, partner.pk))


def fail() -> None:
    statements.fetch_one(FAIL, (0,))


class RefusedError(Exception):
    pass


def in_transaction(*queued: Query[Any] | Callable[[], object]) -> None:
    """Queues the queries and makes the calls in one transaction."""
    with transaction.atomic():
        for statement in queued:
            if isinstance(statement, Query):
                statements.queue(statement)
            else:
                statement()


# --- Queued statements ---


def test_a_queued_statement_is_sent_before_the_next_one_and_the_orm_sees_it(partner: Partner) -> None:
    with transaction.atomic():
        statements.queue(rename(partner, "queued"))
        assert statements.fetch_one(NAME, (partner.pk,)) == ("queued",)
        statements.queue(rename(partner, "again"))
        assert name(partner) == "again"
        statements.queue(rename(partner, "iterated"))
        (found,) = Partner.objects.filter(pk=partner.pk).iterator()
        assert found.name == "iterated"
        statements.queue(rename(partner, "last"))
    assert name(partner) == "last"


def test_a_write_of_a_claim_an_effect_and_an_answer_takes_two_round_trips(committed: Partner) -> None:
    def write() -> None:
        with transaction.atomic():
            statements.queue(rename(committed, "claimed"))
            statements.fetch_one(NAME, (committed.pk,))
            statements.queue(rename(committed, "answered"))

    write()  # prepares
    with round_trips() as made:
        write()
    # BEGIN, claim, effect; answer, COMMIT.
    assert (made.count, made.sent.count("Execute")) == (2, 5)


def test_who_acts_is_sent_with_begin_whatever_comes_first(committed: Partner) -> None:
    firsts = (lambda: Partner.objects.get(pk=committed.pk), lambda: statements.fetch_one(NAME, (committed.pk,)))

    def seen(first: Callable[[], object]) -> Any:
        with transaction.atomic():
            first()
            return statements.fetch_one(f"SELECT {PRESENT} ->> 'staff'", ())

    for first in firsts:
        with acting(staff="ada"):
            assert seen(first) == ("ada",)
            with round_trips() as made:
                seen(first)
        with round_trips() as made_by_nobody:
            assert seen(first) == (None,)
        assert made.count == made_by_nobody.count


def test_a_transaction_without_statements_takes_no_round_trip(committed: Partner) -> None:
    with round_trips() as made, transaction.atomic():
        pass
    assert made.count == 0


def test_outside_a_transaction_nothing_can_be_queued(committed: Partner) -> None:
    with pytest.raises(TransactionManagementError):
        statements.queue(rename(committed, "queued"))
    with transaction.atomic():
        pass
    assert name(committed) == "before"


def test_on_a_connection_closed_in_the_transaction_nothing_can_be_queued(committed: Partner) -> None:
    def write() -> None:
        with transaction.atomic():
            connection.close()
            statements.queue(rename(committed, "queued"))

    with pytest.raises(ProgrammingError):
        write()
    assert name(committed) == "before"


# --- Errors ---


@pytest.mark.parametrize("number", [0, 1])
def test_an_exception_rolls_back_and_clears_the_queue(partner: Partner, number: int) -> None:
    def write() -> None:
        with transaction.atomic():
            statements.queue(rename(partner, "claimed"))
            for _ in range(number):
                statements.fetch_one(NAME, (partner.pk,))
            statements.queue(rename(partner, "answered"))
            raise RefusedError

    with pytest.raises(RefusedError):
        write()
    assert name(partner) == "before"


def effect(partner: Partner) -> Callable[[], object]:
    return partial(statements.run, RENAME, ("effect", partner.pk))


@pytest.mark.parametrize(
    ("statements_of", "error"),
    [
        (lambda partner: (Query(FAIL, (0,)), effect(partner)), DataError),
        (lambda partner: (rename(partner, "claimed"), fail), DataError),
        (lambda partner: (effect(partner), rename(partner, None)), IntegrityError),
    ],
    ids=["queued", "behind a queued one", "with commit"],
)
def test_a_statement_that_fails_rolls_back(
    partner: Partner, statements_of: Callable[[Partner], tuple[Any, ...]], error: type[Exception]
) -> None:
    with pytest.raises(error):
        in_transaction(*statements_of(partner))
    assert name(partner) == "before"


def test_set_rollback_drops_queued_statements(partner: Partner) -> None:
    with transaction.atomic():
        statements.run(RENAME, ("effect", partner.pk))
        statements.queue(rename(partner, "queued"))
        transaction.set_rollback(True)
    assert name(partner) == "before"


def test_a_transaction_with_a_suppressed_error_raises_at_commit(committed: Partner) -> None:
    def fail_unnoticed() -> None:
        with suppress(DataError):
            fail()

    with pytest.raises(InternalError):
        in_transaction(partial(statements.run, RENAME, ("effect", committed.pk)), fail_unnoticed)
    assert name(committed) == "before"


# --- Savepoints ---


def test_an_inner_block_is_a_savepoint(partner: Partner) -> None:
    with transaction.atomic():
        statements.queue(rename(partner, "outer"))
        with suppress(DataError), transaction.atomic():
            statements.run(RENAME, ("inner", partner.pk))
            fail()
        assert statements.fetch_one(NAME, (partner.pk,)) == ("outer",)
    assert name(partner) == "outer"


def test_statements_queued_before_a_savepoint_survive_its_rollback(partner: Partner) -> None:
    with transaction.atomic():
        statements.queue(rename(partner, "outer"))
        with suppress(RefusedError), transaction.atomic():
            statements.queue(rename(partner, "inner"))
            raise RefusedError
    assert name(partner) == "outer"


def test_statements_queued_in_a_savepoint_belong_to_it(partner: Partner) -> None:
    with transaction.atomic():
        with transaction.atomic():
            statements.queue(rename(partner, "inner"))
        assert statements.fetch_one(NAME, (partner.pk,)) == ("inner",)
    assert name(partner) == "inner"


def test_after_an_error_without_a_savepoint_nothing_more_is_sent(partner: Partner) -> None:
    def write() -> None:
        with transaction.atomic():
            with suppress(RefusedError), transaction.atomic(savepoint=False):
                statements.queue(rename(partner, "inner"))
                raise RefusedError
            statements.fetch_one(NAME, (partner.pk,))

    with pytest.raises(TransactionManagementError):
        write()
    assert name(partner) == "before"


# --- Django's guarantees ---


def test_on_commit_runs_after_the_commit_and_not_after_a_rollback(committed: Partner) -> None:
    seen: list[tuple[str, bool]] = []

    def write(new: str | None, then: Callable[[], object] = int) -> None:
        with transaction.atomic():
            transaction.on_commit(lambda: seen.append((name(committed), connection.in_atomic_block)))
            statements.queue(rename(committed, new))
            then()

    write("kept")
    with pytest.raises(DataError):
        write("rolled back", fail)
    # It fails with the commit.
    with pytest.raises(IntegrityError):
        write(None)
    with transaction.atomic():
        statements.queue(rename(committed, "later"))
    assert seen == [("kept", False)]


def test_durable_is_honoured(committed: Partner) -> None:
    with transaction.atomic(durable=True):
        statements.queue(rename(committed, "kept"))
        with pytest.raises(RuntimeError, match="durable"), transaction.atomic(durable=True):
            pass
    assert name(committed) == "kept"


def test_in_atomic_block_is_true_with_only_prepared_statements(committed: Partner) -> None:
    with transaction.atomic():
        statements.fetch_one(NAME, (committed.pk,))
        assert connection.in_atomic_block
        driver: Any = connection.connection
        assert driver.pgconn.transaction_status == TransactionStatus.INTRANS
    assert not connection.in_atomic_block
