"""The person's copy: docs/operations.md, "Records". Nobody is tipped off."""

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from backoffice.exports import person_copy
from core.models import AuditEntry
from partners.models import Partner
from staff.models import Staff
from tests import factories
from tests.support.commands import outcome, refusal
from tests.support.documents import add_document, folder
from tests.support.staff import client_as
from transactions.documents.publishing import withdraw
from users import claims
from users.decisions.compliance import add_note
from users.models import AccessKind, AccessRecord, User
from users.requirements import close_requirement
from users.retention import place_hold

__all__ = ("folder",)
pytestmark = pytest.mark.django_db
# In every column that only staff may see.
HIDDEN = "Xylostaff"


@pytest.fixture
def user(partner: Partner, folder: Path) -> User:
    """A user with something of everything, and the word in what only staff may see."""
    by = factories.StaffFactory.create(username=f"{HIDDEN}-one")
    other = factories.StaffFactory.create(username=f"{HIDDEN}-two")
    made: User = factories.UserFactory.create(partner=partner, first_name="Adaline")
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


@pytest.fixture
def auditor(db: None) -> Staff:
    staff: Staff = factories.StaffFactory.create(username="copy-auditor", role="auditor")
    return staff


def exported(user: User, by: Staff, path: Path, language: str = "en") -> dict[str, bytes]:
    arguments = ("--output", str(path), "--by", by.username, "--language", language)
    outcome("export_person", user.partner.slug, user.external_id, *arguments)
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.mark.parametrize("language", ["en", "fr"])
def test_nothing_of_staff_is_in_it(language: str, user: User, auditor: Staff, tmp_path: Path) -> None:
    parts = exported(user, auditor, tmp_path / "copy.zip", language)
    for name, content in parts.items():
        for hidden in (HIDDEN, auditor.username, "fraudSuspected", "fraud", "riskFlags", "another person"):
            assert hidden.encode().lower() not in content.lower(), (name, hidden)


def test_what_the_person_may_see_is_in_it(user: User, auditor: Staff, tmp_path: Path) -> None:
    parts = exported(user, auditor, tmp_path / "copy.zip")
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


def test_it_is_in_the_language_that_was_asked_for(user: User, auditor: Staff, tmp_path: Path) -> None:
    english = exported(user, auditor, tmp_path / "en.zip", "en")["index.html"].decode()
    french = exported(user, auditor, tmp_path / "fr.zip", "fr")["index.html"].decode()
    assert "Copy of your personal data" in english
    assert '<html lang="en">' in english
    assert "Copie de vos renseignements personnels" in french
    assert '<html lang="fr">' in french


def test_it_leaves_a_trail(user: User, auditor: Staff, tmp_path: Path) -> None:
    exported(user, auditor, tmp_path / "copy.zip")
    access = AccessRecord.objects.filter(user=user, kind=AccessKind.EXPORTED).latest("id")
    assert (access.staff, access.detail) == (auditor, person_copy.DETAIL)
    entry = AuditEntry.objects.filter(action="user.exported", object=str(user.pk)).latest("id")
    assert entry.detail["export"] == person_copy.DETAIL


def test_who_may_not_export_gets_none(user: User, tmp_path: Path) -> None:
    reviewer = factories.StaffFactory.create(username="copy-reviewer")
    path = tmp_path / "copy.zip"
    arguments = ("--output", str(path), "--by", reviewer.username)
    assert "may not export" in refusal("export_person", user.partner.slug, user.external_id, *arguments)
    assert not path.exists()


def test_a_file_that_is_there_stays(user: User, auditor: Staff, tmp_path: Path) -> None:
    path = tmp_path / "copy.zip"
    path.write_text("kept")
    arguments = ("--output", str(path), "--by", auditor.username)
    assert "File exists" in refusal("export_person", user.partner.slug, user.external_id, *arguments)
    assert path.read_text() == "kept"


def test_the_back_office_sends_it(user: User, settings: Any) -> None:
    settings.STAFF_MFA_REQUIRED = False
    client, path = client_as("auditor"), f"/admin/cases/{user.pk}/copy/"
    assert "Copy in French" in client.get(path).content.decode()
    response: Any = client.post(path, {"language": "fr"})
    with zipfile.ZipFile(io.BytesIO(b"".join(response.streaming_content))) as archive:
        page = archive.read("index.html").decode()
    assert "Copie de vos renseignements personnels" in page
    assert HIDDEN not in page
