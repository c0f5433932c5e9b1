"""The snapshot that an export reads."""

from collections.abc import Generator

from django.db import connection

from backoffice.exports import downloads
from core.database.statements import acting
from partners.models import Partner


def setting(name: str) -> str:
    with connection.cursor() as cursor:
        cursor.execute(f"SHOW {name}")
        return str(cursor.fetchone()[0])


def test_an_export_runs_in_a_read_only_snapshot_with_longer_timeouts(committed_partner: Partner) -> None:
    def chunks() -> Generator[bytes, None, None]:
        assert setting("transaction_isolation") == "repeatable read"
        assert setting("transaction_read_only") == "on"
        assert setting("statement_timeout") == "30s"
        assert setting("idle_in_transaction_session_timeout") == "1min"
        yield from (b"", b"chunk")

    with acting(command="export_person"):
        assert [*downloads.from_snapshot(chunks())] == [b"chunk"]


def test_after_an_export_the_usual_timeouts_apply(committed_partner: Partner) -> None:
    before = setting("statement_timeout")
    assert [*downloads.from_snapshot(downloads.in_chunks(["text"]))] == [b"text"]
    assert setting("statement_timeout") == before
    assert setting("transaction_read_only") == "off"
