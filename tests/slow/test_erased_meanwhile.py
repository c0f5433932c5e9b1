"""Imports and documents of a user who is erased meanwhile: rejected like those of an unknown user, and nothing lost."""

import json
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import psycopg
import pytest
from django.db import connection, connections

from core.database import serving_role
from partners.models import Partner
from tests import factories
from tests.conftest import database_url
from tests.support.at_once import wait_for_sessions
from tests.support.commands import run
from tests.support.erasing import approve_erasure, date_back, erase
from tests.transactions.imports.running import Line, Result, stored, write
from transactions import imports
from transactions.models import Document
from users.models import Erasure, User

PDF = b"%PDF-1.7 slip %%EOF\n"


@pytest.fixture
def payer(committed_partner: Partner, line: Line) -> Iterator[User]:
    """The user of the lines, who is due for erasure."""
    user = User.objects.get(partner=committed_partner, external_id="payer")
    factories.StatusChangeFactory.create(user=user, to_status="rejected", by__username=f"r-{uuid.uuid4().hex[:12]}")
    date_back(user.pk, datetime(2015, 6, 1, tzinfo=UTC))
    yield user
    connections.close_all()


@contextmanager
def being_erased(user: User) -> Iterator[None]:
    """Erase the user, and commit once the block waits for it."""
    approve_erasure(user)

    def commit_once_others_wait(owner: psycopg.Connection) -> None:
        try:
            wait_for_sessions(1)
        finally:
            owner.commit()
            # `run` replaces connections.close_all.
            connection.close()

    with psycopg.connect(database_url(serving_role.OWNER)) as owner, ThreadPoolExecutor(1) as pool:
        erase(owner, user)
        waited = pool.submit(commit_once_others_wait, owner)
        yield
        waited.result()
    assert Erasure.objects.filter(pk=user.pk).exists()


def test_lines_of_an_import_are_rejected_and_the_others_imported(
    tmp_path: Path, line: Line, committed_partner: Partner, payer: User
) -> None:
    factories.UserFactory.create(partner=committed_partner, external_id="other")
    lines = [line(1), line(2, externalId="other"), line(3), line(4, externalId="other")]
    file, rejects = write(tmp_path / "f", *lines), tmp_path / "rejects"
    with being_erased(payer):
        result = Result(file, "--rejects", str(rejects))
    assert (result.counts, result.status) == ((2, 0, 2), 1)
    assert result.errors == [f"line {number}: {imports.UNKNOWN_USER}" for number in (1, 3)]
    assert stored(committed_partner) == {"cv-2", "cv-4"}
    assert [json.loads(one) for one in rejects.read_bytes().splitlines()[1::2]] == [lines[0], lines[2]]


def test_a_document_is_refused_in_one_line_and_leaves_no_file(
    tmp_path: Path, folder: Path, committed_partner: Partner, payer: User
) -> None:
    (tmp_path / "slip.pdf").write_bytes(PDF)
    command = ("publish_document", committed_partner.slug, "payer", str(tmp_path / "slip.pdf"))
    with being_erased(payer):
        ended = run(*command, "--type", "taxSlip", "--title", "T5")
    assert (ended.status, ended.errors.strip()) == (1, "CommandError: The user was erased meanwhile.")
    assert not [one for one in folder.rglob("*") if one.is_file()]


def test_a_line_of_a_manifest_is_rejected_and_the_others_published(
    tmp_path: Path, folder: Path, committed_partner: Partner, payer: User
) -> None:
    factories.UserFactory.create(partner=committed_partner, external_id="other")
    (tmp_path / "slip.pdf").write_bytes(PDF)
    lines = [
        {"partner": committed_partner.slug, "externalId": name, "file": "slip.pdf", "type": "taxSlip"}
        | {"title": "T5", "createdAt": "2014-02-28T23:30:00Z"}
        for name in ("payer", "other")
    ]
    manifest = write(tmp_path / "manifest.ndjson", *lines)
    with being_erased(payer):
        ended = run("publish_documents", str(manifest))
    assert ended.status == 1
    assert "line 1: The user was erased meanwhile." in ended.errors
    assert [one.user.external_id for one in Document.objects.filter(partner=committed_partner)] == ["other"]
