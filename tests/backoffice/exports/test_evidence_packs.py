"""The evidence packs of several users in one archive."""

import csv
import io
import json
import re
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.test import Client
from pytest_django import Settings

from backoffice.exports import archives, views
from partners.models import Partner
from tests import factories
from tests.backoffice.exports.test_archives import Pack, altered, key, unzipped, verdict  # noqa: F401
from tests.staff.login.test_login import enrolled, inside
from tests.staff.login.test_reauthentication import confirm, grow_stale
from tests.support.documents import LONG, add_document, path_of
from tests.support.staff import client_as, client_of
from users.models import AccessRecord, Status, User
from users.retention import place_hold

PACKS = "/admin/exports/packs/"


@pytest.fixture
def users(partner: Partner) -> list[User]:
    """Two users: of Ada's name and of one that a spreadsheet would run."""
    create = partial(factories.UserFactory.create, partner=partner)
    return [create(external_id="ada"), create(external_id="=bob", first_name="Bob")]


def export(client: Client, **sent: Any) -> Pack:
    return unzipped(client.post(PACKS, sent | {"confirmed": "yes"}))


def test_each_user_has_a_folder_and_one_signature_holds_for_all_of_it(
    key: Ed25519PrivateKey,  # noqa: F811
    users: list[User],
    folder: Path,
    tmp_path: Path,
) -> None:
    whole, missing = (add_document(users[0], LONG) for _ in range(2))
    path_of(folder, missing).unlink()
    place_hold(user=users[0], by=factories.StaffFactory.create(role="reviewer"), reason="Litigation.")
    auditor = factories.StaffFactory.create(role="auditor")
    client = client_of(auditor)
    pack = export(client, user=[user.pk for user in users])

    # Each user has an entry in the access log.
    records = AccessRecord.objects.order_by("id")
    assert [(one.kind, one.user, one.staff) for one in records] == [("exported", user, auditor) for user in users]
    [request_id] = {one.request_id for one in records}
    assert {one.detail for one in records} == {"Evidence packs (2): users chosen from a list"}
    for user in users:
        data = json.loads(pack[f"{user.pk}/data.json"])
        assert data["user"]["externalId"] == user.external_id
        assert [one["requestId"] for one in data["accesses"]] == [request_id]

    # A folder has what a pack of one has.
    single = unzipped(client.post(f"/admin/cases/{users[0].pk}/evidence/"))
    of_first = {name.partition("/")[2] for name in pack if name.startswith(f"{users[0].pk}/")}
    assert f"documents/{whole.document_id}.pdf" in of_first
    assert of_first == single.keys() - {"README.txt", "SHA256SUMS", "SHA256SUMS.sig", "public-key.pem"}
    rest = {name for name in pack if not name.startswith(tuple(str(user.pk) for user in users))}
    assert rest == {"index.csv", "index.html", "README.txt", "SHA256SUMS", "SHA256SUMS.sig", "public-key.pem"}

    # The index names each user and leads to the pages.
    first, second = csv.DictReader(io.StringIO(pack["index.csv"].decode("utf-8-sig")))
    assert first == {
        "name": users[0].full_name,
        "externalId": "ada",
        "userId": str(users[0].pk),
        "partner": users[0].partner.slug,
        "mode": "live",
        "status": "pendingCompliance",
        "held": "true",
        "folder": f"{users[0].pk}/",
        "files": "1",
        "faults": "1",
    }
    assert (second["externalId"], second["held"], second["files"], second["faults"]) == ("'=bob", "false", "0", "0")
    page = pack["index.html"].decode()
    assert set(re.findall(r'href="([^"]*)"', page)) == {"index.csv"} | {f"{one.pk}/index.html" for one in users}
    about = ("Evidence packs of 2 users", "Chosen from a list", "held", "1 missing or not whole", users[1].full_name)
    assert [text for text in about if text not in page] == []

    assert pack["README.txt"].decode().startswith("Evidence packs of 2 users.\nExported by ")
    assert verdict(tmp_path, pack)[:2] == (True, True)
    for name in (f"{users[0].pk}/data.json", "index.csv"):
        are_whole, _is_signed, text = verdict(tmp_path, altered(pack, name))
        assert (are_whole, f"{name}: FAILED" in text) == (False, True), text


def test_the_limit_on_files_is_of_the_whole_archive(
    users: list[User], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents = [add_document(user, LONG) for user in users]
    monkeypatch.setattr(archives, "MAX_FILES_BYTES", len(LONG) + 1)
    pack = export(client_as("auditor"), user=[user.pk for user in users])
    shown = [json.loads(pack[f"{user.pk}/data.json"])["documents"][0]["fileFault"] for user in users]
    assert shown == [None, "too large"]
    assert f"{users[0].pk}/documents/{documents[0].document_id}.pdf" in pack


def test_a_form_chooses_and_the_page_shows_whom_before(users: list[User]) -> None:
    factories.decide(users[1], Status.ACTIVE)
    client = client_as("auditor")
    page = client.post(PACKS, {"status": "active"}).content.decode()
    assert "Evidence pack of 1 user" in page
    assert "Status: Active" in page
    assert users[1].full_name in page
    assert users[0].full_name not in page
    assert not AccessRecord.objects.exists()
    fields = dict(re.findall(r'<input type="hidden" name="(status|confirmed)" value="([^"]*)">', page))
    assert fields == {"status": "active", "confirmed": "yes"}
    assert f"{users[1].pk}/data.json" in export(client, **fields)
    assert AccessRecord.objects.get().detail == "Evidence packs (1): status active"


def test_users_are_chosen_in_a_list(users: list[User]) -> None:
    page = client_as("auditor").post(
        "/admin/users/user/?status__exact=pendingCompliance",
        {"action": "export_selected", "_selected_action": [str(user.pk) for user in users]},
    )
    text = page.content.decode()
    assert set(re.findall(r'name="user" value="([^"]*)"', text)) == {str(user.pk) for user in users}
    assert 'name="back" value="/admin/users/user/?status__exact=pendingCompliance"' in text


def test_after_the_second_factor_a_page_exports_all_who_were_chosen_and_leads_back_to_the_list(
    users: list[User], settings: Settings
) -> None:
    settings.STAFF_MFA_REQUIRED = True
    client = inside(enrolled("auditor"))
    grow_stale(client)
    sent = {"user": [str(user.pk) for user in users], "confirmed": "yes", "back": "/admin/users/user/?q=a"}
    page = client.get(confirm(client, client.post(PACKS, sent)).headers["Location"]).content.decode()
    assert re.findall(r'action="([^"]*)" data-submits', page) == [PACKS]
    assert re.findall(r'name="user" value="([^"]*)"', page) == sent["user"]
    assert 'href="/admin/users/user/?q=a"' in page
    assert not AccessRecord.objects.exists()


def test_more_users_than_the_limit_are_refused_with_what_to_do(
    users: list[User], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(views, "MAX_USERS", 1)
    response = client_as("auditor").post(PACKS, {"confirmed": "yes"})
    assert "More than 1 users" in (page := response.content.decode())
    assert 'name="confirmed"' not in page
    assert not AccessRecord.objects.exists()


def test_nobody_found_says_so_and_the_way_back_stays_here(db: None) -> None:
    client = client_as("auditor")
    for back in ("//evil.example", "https://evil.example/", "javascript:alert(1)"):
        page = client.post(PACKS, {"status": "closed", "confirmed": "yes", "back": back}).content.decode()
        assert "No user matches" in page
        assert 'name="confirmed"' not in page
        assert "evil" not in page
        assert "javascript:alert" not in page


def test_a_malformed_id_is_refused(db: None) -> None:
    assert client_as("auditor").post(PACKS, {"user": "ada"}).status_code == 400
