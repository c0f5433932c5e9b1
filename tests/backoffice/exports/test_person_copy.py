"""The person's copy: docs/operations.md, "Records". Nobody is tipped off."""

import io
import json
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from django.test import override_settings

from backoffice.exports import person_copy
from core.models import AuditEntry
from staff.models import Staff
from tests import factories
from tests.support.commands import outcome, refusal
from tests.support.database import undone
from tests.support.documents import add_document, stored_at
from tests.support.staff import client_as
from transactions.documents.publishing import withdraw
from users import claims
from users.decisions.compliance import add_note
from users.models import AccessKind, AccessRecord, User
from users.requirements import close_requirement
from users.retention import place_hold

# In every column that only staff may see.
HIDDEN = "Xylostaff"


def make_user(by: Staff) -> User:
    """A user with something of everything, and the word in what only staff may see."""
    other = factories.StaffFactory.create(username=f"{HIDDEN}-two")
    made: User = factories.UserFactory.create(first_name="Adaline")
    User.objects.filter(pk=made.pk).update(city="Ottawatown")
    asked = factories.RequirementFactory.create(user=made, by=by, message="The postal code is unclear.")
    factories.answer(asked, "My own words.")
    close_requirement(requirement_id=asked.pk, by=other, note=f"{HIDDEN} closing")
    claims.claim(user=made, staff=by)
    add_note(user=made, by=by, text=f"{HIDDEN} note")
    factories.AccessRecordFactory.create(user=made, staff=by, detail=f"{HIDDEN} access")
    reason = {"reason": f"{HIDDEN} reason", "by": by}
    factories.StatusChangeFactory.create(user=made, to_status="active", reason_code="verified", **reason)
    factories.StatusChangeFactory.create(user=made, to_status="suspended", reason_code="fraudSuspected", **reason)
    place_hold(user=made, by=by, reason=f"{HIDDEN} hold")
    factories.ConversionFactory.create(user=made, conversion_id="cv-person")
    add_document(made, title="Shown statement")
    withdrawn = add_document(made, content=b"%PDF-1.7 another person %%EOF", title=f"{HIDDEN} withdrawn")
    withdraw(document=withdrawn, by=by, reason=f"{HIDDEN} withdrawal")
    return made


@dataclass(frozen=True)
class Copies:
    """What was sent of a user, by language: in English by the command, in French by the back office."""

    parts: dict[str, dict[str, bytes]]
    auditor: Staff
    access: AccessRecord
    entry: AuditEntry
    form: str


@pytest.fixture(scope="module")
def copies(django_db_setup: None, django_db_blocker: Any, tmp_path_factory: pytest.TempPathFactory) -> Copies:
    folder = tmp_path_factory.mktemp("copies")
    storages = stored_at((folder / "documents").as_uri())
    with django_db_blocker.unblock(), undone(), override_settings(STORAGES=storages, STAFF_MFA_REQUIRED=False):
        user = make_user(factories.StaffFactory.create(username=f"{HIDDEN}-one"))
        auditor = factories.StaffFactory.create(username="copy-auditor", role="auditor")
        path = folder / "copy.zip"
        export(user, auditor, path, "--language", "en")
        access = AccessRecord.objects.filter(user=user, kind=AccessKind.EXPORTED).latest("id")
        entry = AuditEntry.objects.filter(action="user.exported", object=str(user.pk)).latest("id")
        client, page = client_as("auditor"), f"/admin/cases/{user.pk}/copy/"
        form = client.get(page).content.decode()
        response: Any = client.post(page, {"language": "fr"})
        sent = {"en": path.read_bytes(), "fr": b"".join(response.streaming_content)}
        parts = {}
        for language, content in sent.items():
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                parts[language] = {name: archive.read(name) for name in archive.namelist()}
        return Copies(parts, auditor, access, entry, form)


def export(user: User, by: Staff, path: Path, *options: str) -> None:
    arguments = ("--output", str(path), "--by", by.username, *options)
    outcome("export_person", user.partner.slug, user.external_id, *arguments)


def test_nothing_of_staff_is_in_it(copies: Copies) -> None:
    hidden = (HIDDEN, copies.auditor.username, "fraudSuspected", "fraud", "riskFlags", "another person")
    found = [
        (language, name, text)
        for language, parts in copies.parts.items()
        for name, content in parts.items()
        for text in hidden
        if text.encode().lower() in content.lower()
    ]
    assert found == []


def test_what_the_person_may_see_is_in_it(copies: Copies) -> None:
    parts = copies.parts["en"]
    data = json.loads(parts["data.json"])
    assert data["user"]["firstName"] == "Adaline"
    assert (data["user"]["status"], data["user"]["statusReason"]) == ("suspended", "underReview")
    assert [(one["status"], one["statusReason"]) for one in data["statuses"]] == [
        ("pendingCompliance", None),
        ("active", "verified"),
        ("suspended", "underReview"),
    ]
    assert [(one["change"], one["city"]) for one in data["profileChanges"]] == [
        ("created", "Toronto"),
        ("changed", "Ottawatown"),
    ]
    assert data["requirements"][0]["message"] == "The postal code is unclear."
    assert data["requirementResponses"][0]["note"] == "My own words."
    assert [one["conversionId"] for one in data["conversions"]] == ["cv-person"]
    [document] = data["documents"]
    assert document["title"] == "Shown statement"
    assert document["file"] in parts
    assert set(data) == {"exportedAt", "user", *(part.key for part in person_copy.parts({}))}
    assert "Adaline" in parts["index.html"].decode()


def test_it_is_in_the_language_that_was_asked_for(copies: Copies) -> None:
    english, french = (copies.parts[language]["index.html"].decode() for language in ("en", "fr"))
    assert "Copy of your personal data" in english
    assert '<html lang="en">' in english
    assert "Copy in French" in copies.form
    assert "Copie de vos renseignements personnels" in french
    assert '<html lang="fr">' in french


def test_it_leaves_a_trail(copies: Copies) -> None:
    assert (copies.access.staff_id, copies.access.detail) == (copies.auditor.pk, person_copy.DETAIL)
    assert copies.entry.detail["export"] == person_copy.DETAIL


def test_who_may_not_export_gets_none(db: None, tmp_path: Path) -> None:
    user, reviewer = factories.UserFactory.create(), factories.StaffFactory.create(role="reviewer")
    path = tmp_path / "copy.zip"
    arguments = ("--output", str(path), "--by", reviewer.username)
    assert "may not export" in refusal("export_person", user.partner.slug, user.external_id, *arguments)
    assert not path.exists()


def test_a_file_that_is_there_stays(db: None, tmp_path: Path) -> None:
    user, auditor = factories.UserFactory.create(), factories.StaffFactory.create(role="auditor")
    path = tmp_path / "copy.zip"
    path.write_text("kept")
    arguments = ("--output", str(path), "--by", auditor.username)
    assert "File exists" in refusal("export_person", user.partner.slug, user.external_id, *arguments)
    assert path.read_text() == "kept"
