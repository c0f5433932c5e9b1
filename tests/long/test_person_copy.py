"""The person's copy of a user with many conversions streams: docs/operations.md, "Records"."""

import tracemalloc
from datetime import UTC, datetime, timedelta

import pytest

from backoffice.exports import downloads, person_copy
from tests import factories


@pytest.mark.django_db
def test_ten_thousand_conversions_stream() -> None:
    user, auditor = factories.UserFactory.create(), factories.StaffFactory.create(role="auditor")
    start = datetime(2026, 1, 1, tzinfo=UTC)
    for batch in range(20):
        times = [start + timedelta(minutes=batch * 500 + number) for number in range(500)]
        factories.add_conversions(user, times)
    access = person_copy.record_export(user=user, by=auditor)
    written, largest = 0, 0
    tracemalloc.start()
    try:
        for chunk in downloads.from_snapshot(person_copy.archive(access, "en")):
            written, largest = written + len(chunk), max(largest, len(chunk))
        _now, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert written > 100_000
    assert largest < 512 * 1024
    assert peak < 16 * 1024 * 1024
