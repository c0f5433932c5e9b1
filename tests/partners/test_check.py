"""`manage.py check --deploy --database default`: what is wrong with an installation, and what to do."""

import errno
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.core.checks import run_checks
from django.core.files.storage import FileSystemStorage
from django.db import OperationalError, connection, connections, transaction
from django.utils import timezone
from pytest_django.fixtures import Settings

import events.monitoring
from core.database import serving_role
from events.monitoring import APPLICATION_NAME
from partners import checks
from partners.authentication import keys
from partners.models import Partner
from partners.monitoring import health
from tests import factories
from tests.conftest import database_url
from tests.slow.live.conftest import free_port
from tests.support.approval_rules import no_rules_left, set_rule
from tests.support.commands import run
from tests.support.documents import add_document, folder, stored_at

__all__ = ("folder",)


@pytest.fixture(autouse=True)
def of_this_test(monkeypatch: pytest.MonkeyPatch, db: None, settings: Settings, folder: Path) -> None:
    """Wait for no deliverer; a folder of documents is there, and evidence packs are signed."""
    monkeypatch.setattr(events.monitoring, "DELIVERER_SECONDS", 0.0)
    folder.mkdir()
    settings.EVIDENCE_SIGNING_KEY = Ed25519PrivateKey.generate()


def found() -> dict[str, str]:
    """The messages by id. Each has a hint."""
    messages = run_checks(tags=["database"], include_deployment_checks=True, databases=["default"])
    assert all(message.hint for message in messages)
    return {message.id or "": message.msg for message in messages}


def test_each_finding_has_an_id_and_an_error_ends_with_status_1() -> None:
    end = run("check", "--deploy", "--database", "default")
    assert end.status == 1
    assert "?: (psi.E010) deliver_events is not connected to the database.\n\tHINT: Start it" in end.errors


def test_without_the_database_nothing_of_the_installation_is_looked_at() -> None:
    messages = run_checks(tags=["database"], include_deployment_checks=True)
    assert [message for message in messages if (message.id or "").startswith("psi.")] == []


def test_what_readyz_fails_for_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    ready = {"database": health.OK, "migrations": "not applied: users.0009_new", "apiKeys": "lost"}
    monkeypatch.setattr(health, "readiness", lambda: (ready, {}))
    assert (found()["psi.E003"], found()["psi.E004"]) == ("migrations: not applied: users.0009_new.", "apiKeys: lost.")
    monkeypatch.setattr(health, "readiness", lambda: ({}, {"apiKeys": "some are lost"}))
    assert found()["psi.W004"] == "apiKeys: some are lost."


def test_a_database_that_is_away_is_one_error_and_hides_no_other(
    monkeypatch: pytest.MonkeyPatch, folder: Path, settings: Settings
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OperationalError("connection to 10.0.0.5 failed for psi_service")

    monkeypatch.setattr(checks, "_database_time", refuse)
    assert found()["psi.E000"] == "Could not be checked: clock (OperationalError)."
    monkeypatch.setattr(health, "readiness", lambda: ({"database": "cannot be reached"}, {}))
    folder.rmdir()
    settings.EVIDENCE_SIGNING_KEY = None
    messages = found()
    assert "psi.E000" not in messages
    assert {"psi.E001", "psi.W009", "psi.E021"} <= messages.keys()
    assert "10.0.0.5" not in str(messages)


@pytest.mark.django_db(databases=[serving_role.SERVING, serving_role.OWNER])
def test_grants_are_compared_with_those_that_are_declared(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not {"psi.E005", "psi.E006", "psi.E007"} & found().keys()
    role = connection.settings_dict["USER"]
    owner = connections[serving_role.OWNER]
    for statement, differences in (
        (f"REVOKE SELECT ON users_user FROM {role}", (["SELECT on users_user"], [])),
        (f"GRANT DELETE ON users_userevent TO {role}", ([], ["DELETE on users_userevent"])),
    ):
        with transaction.atomic(using=serving_role.OWNER):
            with owner.cursor() as cursor:
                cursor.execute(statement)
            assert serving_role.differences(owner, role) == differences
            transaction.set_rollback(True, using=serving_role.OWNER)
    monkeypatch.setattr(serving_role, "differences", lambda *_: (["SELECT on a"], ["DELETE on b"]))
    messages = found()
    assert "DELETE on b" in messages["psi.E006"]
    assert "SELECT on a" in messages["psi.E007"]


def test_a_superuser_is_named_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    with psycopg.connect(database_url("default", "postgres")) as superuser:
        monkeypatch.setattr(checks, "connections", {serving_role.SERVING: superuser})
        monkeypatch.setattr(checks, "_database_time", time.time)
        messages = found()
    assert "SUPERUSER" in messages["psi.E005"]
    assert "psi.E006" not in messages


@pytest.mark.parametrize(("ahead", "id_"), [(0, None), (3, "psi.W008"), (-60, "psi.E008")])
def test_the_clock_is_compared_with_the_databases(ahead: int, id_: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    now = checks._database_time
    monkeypatch.setattr(checks, "_database_time", lambda: now() + ahead)
    assert found().keys() & {"psi.W008", "psi.E008"} == ({id_} if id_ else set())


def test_counts_that_processes_do_not_share_are_warned_of(settings: Settings) -> None:
    assert "psi.W002" in found()
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    assert "psi.W002" not in found()


def test_unsigned_packs_are_warned_of(settings: Settings) -> None:
    assert "psi.W009" not in found()
    settings.EVIDENCE_SIGNING_KEY = None
    assert found()["psi.W009"] == "Evidence packs are unsigned."


def test_a_deliverer_is_known_by_its_session() -> None:
    assert "psi.E010" in found()
    with psycopg.connect(database_url(serving_role.SERVING), application_name=APPLICATION_NAME):
        assert "psi.E010" not in found()


def test_partners_without_a_key_in_force_and_those_whose_last_key_ends_soon_are_named(
    partner: Partner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health, "MAX_NAMED", 1000)
    assert partner.slug in found()["psi.W011"]
    keys.issue(partner=partner, label="old", expires_at=timezone.now() + timedelta(days=3))
    messages = found()
    assert partner.slug not in messages.get("psi.W011", "")
    assert partner.slug in messages["psi.W012"]
    keys.issue(partner=partner, label="new")
    assert partner.slug not in str(found())


# --- The storage of documents ---


def test_the_storage_takes_a_file_and_keeps_none(folder: Path, settings: Settings, tmp_path: Path) -> None:
    assert not {"psi.E021", "psi.E022", "psi.E023"} & found().keys()
    assert list(folder.iterdir()) == []
    (tmp_path / "file").touch()
    settings.STORAGES = stored_at((tmp_path / "file").as_uri())
    assert "psi.E021" in found()


def test_a_folder_that_is_not_mounted_is_an_error_and_is_not_made(folder: Path) -> None:
    add_document(factories.UserFactory.create())
    assert "psi.E021" not in found()
    for path in sorted(folder.rglob("*"), reverse=True):
        path.unlink() if path.is_file() else path.rmdir()
    assert "psi.E021" in found()
    folder.rmdir()
    assert "psi.E021" in found()
    assert not folder.exists()


def test_a_full_storage_is_left_without_a_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fill(storage: FileSystemStorage, name: str, _content: Any) -> str:
        Path(storage.path(name)).write_bytes(b"a part")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(FileSystemStorage, "_save", fill)
    assert found()["psi.E022"] == "The storage of documents failed: OSError."
    assert list(folder.iterdir()) == []


# --- Staff ---


def test_a_rule_needs_two_who_may_decide_and_have_signed_in() -> None:
    assert "1 needed" in found()["psi.E031"]
    factories.StaffFactory.create(role="reviewer")
    assert "psi.E031" not in found()
    with no_rules_left():
        set_rule("always")
        assert "2 needed" in found()["psi.E031"]
        second = factories.StaffFactory.create(role="reviewer")
        assert "psi.E031" not in found()
        second.password_is_one_time = True
        second.save()
        assert "psi.E031" in found()


def test_a_provider_that_does_not_answer_is_an_error(settings: Settings) -> None:
    settings.STAFF_OIDC_ISSUER = f"http://127.0.0.1:{free_port()}"
    assert found()["psi.E032"] == "The discovery document of STAFF_OIDC_ISSUER cannot be read (ConnectionError)."
